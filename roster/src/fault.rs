//! What is wrong with one value, before it is known where the value stands.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A fault of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    code: Code,
    message: String,
    suggestion: Option<String>,
    hint: Option<String>,
    secrecy: Secrecy,
}

/// Whether the value may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    Open,
    Secret,
}

impl Fault {
    /// A fault of any sort.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            suggestion: None,
            hint: None,
            secrecy: Secrecy::Open,
        }
    }

    /// A value that is not accepted.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(Code::BadValue, message)
    }

    /// Adds what was probably meant.
    pub(crate) fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps the value out of every rendering.
    pub(crate) fn secret(mut self) -> Self {
        self.secrecy = Secrecy::Secret;
        self
    }

    /// The finding, once the place is known.
    pub(crate) fn found(self, key: &str, span: Span) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, span, self.message)
            .at(key)
            .suggest(self.suggestion);
        diagnostic.hint = self.hint;
        match self.secrecy {
            Secrecy::Open => diagnostic,
            Secrecy::Secret => diagnostic.conceal(span),
        }
    }

    /// The sentence, for tests of the parsers.
    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The suggestion, for tests of the parsers.
    #[cfg(test)]
    pub(crate) fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}
