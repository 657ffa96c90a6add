//! How a model request can fail, as far as it matters for what happens next. Never holds an error
//! of a transport: `engine-llm` sorts those into these classes.

use crate::record::Billed;
use std::time::Duration;

/// What a failed request means for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// The conversation does not fit into the model's window. The same request would fail again.
    Overflow,
    /// The provider refused the request for good: the same request would be refused again.
    Fatal,
    /// What was asked does not exist, as a model that the provider does not have: whatever is said to
    /// it, the request would be refused again.
    NotThere,
    /// The provider refused the key, or there is none.
    KeyRefused,
    /// The provider cannot be reached.
    Unavailable,
    /// A passing fault: overloaded, rate limited, an internal error.
    Retry {
        /// The wait the provider asked for, counted from now.
        after: Option<Duration>,
    },
    /// The answer broke off: closed early, stalled, or not readable.
    StreamBroken {
        /// Whether any content had arrived before.
        content: ContentSeen,
    },
}

/// Whether a broken answer had begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentSeen {
    /// Nothing had arrived: asking again shows nothing twice.
    No,
    /// Something had been shown.
    Yes,
}

/// A request that ended without a usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFailure {
    /// What it means for the next request.
    pub class: FailureClass,
    /// Short stable name for the record: `rate-limited`, `stream-cut` …
    pub kind: String,
    /// One sentence, with the provider's own words where there are any.
    pub message: String,
    /// What it may have cost.
    pub billed: Billed,
}
