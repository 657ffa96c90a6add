//! Why a request brought no answer, and what may follow from it. Never decides to ask again.

pub(crate) mod told;

use engine_core::record::Billed;
use std::time::Duration;

/// A request that brought no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host}: {fault}")]
pub struct ModelError {
    /// Host that was asked, with its port where it is not the usual one; for the scripted provider
    /// the path of its file.
    pub host: String,
    /// What went wrong.
    pub fault: Fault,
    /// Whether a part of the answer had already come.
    pub seen: Seen,
}

/// How much of an answer had come when its request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: asking again repeats nothing for a reader.
    Nothing,
    /// Some text, reasoning or part of a call.
    Content,
}

/// What went wrong with a request. `words` are the provider's own, cleaned of control characters
/// and shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The input is larger than the model takes; the same request can never succeed.
    #[error("the request is larger than the model's context: {words}")]
    Overflow {
        /// The provider's words.
        words: String,
    },
    /// Wrong key, a key without this right, or an account without credit.
    #[error("the key was refused (status {status}): {words}")]
    KeyRefused {
        /// HTTP status, also when it was told inside a stream.
        status: u16,
        /// The provider's words.
        words: String,
    },
    /// The request itself was refused; the same request can never succeed.
    #[error("the request was refused (status {status}): {words}")]
    Refused {
        /// HTTP status, also when it was told inside a stream.
        status: u16,
        /// The provider's words.
        words: String,
    },
    /// Too many requests or tokens for now.
    #[error("rate limited{}: {words}", asked(*after))]
    RateLimited {
        /// Wait the provider asked for. May be far too long to sleep through.
        after: Option<Duration>,
        /// The provider's words.
        words: String,
    },
    /// A passing fault on the provider's side.
    #[error("temporarily unable to answer (status {status}){}: {words}", asked(*after))]
    Busy {
        /// HTTP status, also when it was told inside a stream.
        status: u16,
        /// Wait the provider asked for.
        after: Option<Duration>,
        /// The provider's words.
        words: String,
    },
    /// No connection came about.
    #[error("cannot be reached: {cause}")]
    Unreachable {
        /// What the connection failed at.
        cause: String,
    },
    /// The connection ended, or the stream ended without its end mark.
    #[error("the stream ended early: {cause}")]
    StreamCut {
        /// How it ended.
        cause: String,
    },
    /// A limit on time passed.
    #[error("no {what} within {} s", limit.as_secs_f32())]
    TooSlow {
        /// What did not come in time: `first event`, `further event`, `end of the answer`.
        what: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// What came is not what the wire promises.
    #[error("the answer is not valid: {detail}")]
    Protocol {
        /// What is wrong with it.
        detail: String,
    },
    /// The answer is larger than any answer may be.
    #[error("the answer is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// The script of the scripted provider has no such turn.
    #[error("no line for task `{task}`, attempt {attempt}, turn {turn}")]
    NoSuchTurn {
        /// The task asked for.
        task: String,
        /// The attempt asked for.
        attempt: u32,
        /// The turn asked for.
        turn: u32,
    },
}

/// What kind of reaction a failure calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Shrink the input; never send the same request again.
    Overflow,
    /// Asking again is pointless; the attempt fails.
    Fatal,
    /// There is no such model, address or turn: any other question would be refused alike.
    NotThere,
    /// No request with this key will succeed; a person must act.
    KeyRefused,
    /// The provider cannot be reached at all.
    Unavailable,
    /// Ask again after a wait, together with all others that use this key.
    RateLimited {
        /// Wait the provider asked for; zero or `None` leaves it to the caller.
        after: Option<Duration>,
    },
    /// Ask again after a wait.
    Busy {
        /// Wait the provider asked for; zero or `None` leaves it to the caller.
        after: Option<Duration>,
    },
    /// The answer broke off: ask again, silently only when nothing of it was seen.
    StreamCut {
        /// Whether a part of the answer had come.
        seen: Seen,
    },
    /// The provider does not keep to the wire: may be asked again a few times.
    Protocol,
}

impl ModelError {
    /// What kind of reaction it calls for.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match &self.fault {
            Fault::Overflow { .. } => ErrorClass::Overflow,
            Fault::KeyRefused { .. } => ErrorClass::KeyRefused,
            Fault::Refused { status: 404, .. } | Fault::NoSuchTurn { .. } => ErrorClass::NotThere,
            Fault::Refused { .. } => ErrorClass::Fatal,
            Fault::RateLimited { after, .. } => ErrorClass::RateLimited { after: *after },
            Fault::Busy { after, .. } => ErrorClass::Busy { after: *after },
            Fault::Unreachable { .. } => ErrorClass::Unavailable,
            Fault::StreamCut { .. } | Fault::TooSlow { .. } => {
                ErrorClass::StreamCut { seen: self.seen }
            }
            Fault::Protocol { .. } | Fault::TooLarge { .. } => ErrorClass::Protocol,
        }
    }

    /// Short stable name of what went wrong, for records and filters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.fault {
            Fault::Overflow { .. } => "context-too-large",
            Fault::KeyRefused { .. } => "key-refused",
            Fault::Refused { .. } => "refused",
            Fault::RateLimited { .. } => "rate-limited",
            Fault::Busy { .. } => "busy",
            Fault::Unreachable { .. } => "unreachable",
            Fault::StreamCut { .. } => "stream-cut",
            Fault::TooSlow { .. } => "too-slow",
            Fault::Protocol { .. } => "protocol",
            Fault::TooLarge { .. } => "answer-too-large",
            Fault::NoSuchTurn { .. } => "no-such-turn",
        }
    }

    /// What the failed request may have cost. Whatever may have been worked on counts in full: a
    /// gateway's 500, 502 or 504 can hide an answer that was made and billed behind it.
    #[must_use]
    pub fn billed(&self) -> Billed {
        if self.seen == Seen::Content {
            return Billed::Reservation;
        }
        match &self.fault {
            Fault::Overflow { .. }
            | Fault::KeyRefused { .. }
            | Fault::Refused { .. }
            | Fault::RateLimited { .. }
            | Fault::Unreachable { .. }
            | Fault::NoSuchTurn { .. }
            | Fault::Busy {
                status: 503 | 529, ..
            } => Billed::Nothing,
            Fault::Busy { .. }
            | Fault::StreamCut { .. }
            | Fault::TooSlow { .. }
            | Fault::Protocol { .. }
            | Fault::TooLarge { .. } => Billed::Reservation,
        }
    }
}

impl Fault {
    /// The part that came from outside, where there is one.
    pub(crate) fn words_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Overflow { words }
            | Self::KeyRefused { words, .. }
            | Self::Refused { words, .. }
            | Self::RateLimited { words, .. }
            | Self::Busy { words, .. } => Some(words),
            Self::Protocol { detail } => Some(detail),
            Self::Unreachable { .. }
            | Self::StreamCut { .. }
            | Self::TooSlow { .. }
            | Self::TooLarge { .. }
            | Self::NoSuchTurn { .. } => None,
        }
    }
}

fn asked(after: Option<Duration>) -> String {
    after.map_or_else(String::new, |wait| {
        format!(", asked to wait {} s", wait.as_secs_f32())
    })
}
