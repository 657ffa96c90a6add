//! A value and who said it: the file that is being read, or somebody before it.

use crate::source::Span;
use crate::tree::Spot;

/// A value with its place, when it stands in the file that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it stands; `None`: in the user's configuration, or built in.
    pub(crate) span: Option<Span>,
}

impl<T> Said<T> {
    /// A value of another file, or a built-in one.
    pub(crate) fn elsewhere(value: T) -> Self {
        Self { value, span: None }
    }
}

impl<T> From<Spot<T>> for Said<T> {
    fn from(spot: Spot<T>) -> Self {
        Self {
            value: spot.value,
            span: Some(spot.span),
        }
    }
}
