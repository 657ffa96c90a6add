//! What is said over the control socket, and its lines. Pure: never reads or writes.

use engine_core::ids::TaskId;
use fleet_core::decide::{Decline, Reply, Wish};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these lines. A change that an older side would misread raises it.
pub const VERSION: u64 = 1;
/// Longest line, its line feed included.
pub const LINE_MAX_BYTES: usize = 128 * 1024;

/// What another process asks of a run at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Stop the run so that it can be resumed.
    Stop {},
    /// End a task for good.
    Cancel {
        /// Which.
        task: TaskId,
    },
    /// End everything for good that is not over.
    CancelAll {},
    /// Try a task again that ended without success.
    Retry {
        /// Which.
        task: TaskId,
        /// What the person adds to what was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Try everything again that failed, was in conflict, or ran into a cap.
    RetryFailed {},
    /// Say something to whoever works on a task.
    Tell {
        /// Which.
        task: TaskId,
        /// What.
        text: String,
    },
}

/// Why a request was not carried out, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The line is no request.
    Malformed,
    /// The line is too long.
    TooLong,
    /// The line is of another version.
    Version,
    /// Too many others are connected.
    Busy,
    /// The run is at its end: it takes nothing any more.
    Ending,
    /// There is no such task.
    NoTask,
    /// It cannot be done as things stand.
    Declined,
    /// Of a version that is not known here.
    #[serde(other)]
    Other,
}

/// A request that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people.
    pub message: String,
}

impl Refusal {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// An answer as it stands in its line.
#[derive(Debug, Serialize, Deserialize)]
struct AnswerLine {
    v: u64,
    ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Request {
    /// The request as a wish; none for what concerns the manager itself.
    pub(super) fn into_wish(self) -> Option<Wish> {
        match self {
            Self::Stop {} => None,
            Self::Cancel { task } => Some(Wish::Cancel { task }),
            Self::CancelAll {} => Some(Wish::CancelAll),
            Self::Retry { task, instructions } => Some(Wish::Retry { task, instructions }),
            Self::RetryFailed {} => Some(Wish::RetryFailed),
            Self::Tell { task, text } => Some(Wish::Tell { task, text }),
        }
    }

    /// Its line.
    pub(super) fn line(&self) -> String {
        let mut value = serde_json::to_value(self).expect("texts are JSON");
        if let Value::Object(fields) = &mut value {
            fields.insert("v".to_owned(), VERSION.into());
        }
        format!("{value}\n")
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of_line(line: &[u8]) -> Result<Self, Refusal> {
        let malformed = |error: serde_json::Error| Refusal::new(Code::Malformed, error.to_string());
        let mut fields: serde_json::Map<String, Value> =
            serde_json::from_slice(line).map_err(malformed)?;
        match fields.remove("v") {
            Some(found) if found.as_u64() == Some(VERSION) => {}
            found => {
                let found = found.unwrap_or_default();
                let message = format!("version {found} was asked for; this is version {VERSION}");
                return Err(Refusal::new(Code::Version, message));
            }
        }
        serde_json::from_value(Value::Object(fields)).map_err(malformed)
    }
}

impl From<Wish> for Request {
    fn from(wish: Wish) -> Self {
        match wish {
            Wish::Cancel { task } => Self::Cancel { task },
            Wish::CancelAll => Self::CancelAll {},
            Wish::Retry { task, instructions } => Self::Retry { task, instructions },
            Wish::RetryFailed => Self::RetryFailed {},
            Wish::Tell { task, text } => Self::Tell { task, text },
        }
    }
}

impl From<Decline> for Refusal {
    fn from(decline: Decline) -> Self {
        let code = match decline {
            Decline::NoTask(_) => Code::NoTask,
            Decline::RunEnded => Code::Ending,
            _ => Code::Declined,
        };
        Self::new(code, decline.to_string())
    }
}

/// What the manager's reply means to whoever asked.
pub(super) fn answer_of(reply: Reply) -> Result<(), Refusal> {
    match reply {
        Reply::Accepted => Ok(()),
        Reply::Declined(decline) => Err(decline.into()),
        Reply::Late(misfit) => Err(Refusal::new(Code::Declined, misfit.to_string())),
        Reply::Granted { .. } | Reply::Wait | Reply::Refused { .. } => Err(Refusal::new(
            Code::Declined,
            "that is no request of a person",
        )),
    }
}

/// The line of an answer.
pub(super) fn answer_line(answer: &Result<(), Refusal>) -> String {
    let refusal = answer.as_ref().err();
    let line = AnswerLine {
        v: VERSION,
        ok: answer.is_ok(),
        code: refusal.map(|refusal| refusal.code),
        message: refusal.map(|refusal| refusal.message.clone()),
    };
    let mut text = serde_json::to_string(&line).expect("texts are JSON");
    text.push('\n');
    text
}

/// Reads the line of an answer; `None` when it is none.
pub(super) fn answer_of_line(line: &[u8]) -> Option<Result<(), Refusal>> {
    let line: AnswerLine = serde_json::from_slice(line).ok()?;
    if line.ok {
        return Some(Ok(()));
    }
    let code = line.code.unwrap_or(Code::Other);
    Some(Err(Refusal::new(code, line.message.unwrap_or_default())))
}
