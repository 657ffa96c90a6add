//! What is recorded of one agent: facts in the past tense, each bound to its attempt. Never progress,
//! never a decision: the fleet decides, the agent reports.

use crate::content::{BlobRef, Content, INLINE_MAX_BYTES};
use crate::ids::{AgentId, AttemptNo, CallId, StepNo, TaskId, Tokens};
use crate::message::{ToolStatus, Usage};
use crate::request::Purpose;
use crate::tool::EffectClass;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value kept as its text: replay skips over it, whoever needs it parses it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

impl Json {
    /// The JSON text of a value.
    ///
    /// # Errors
    /// When the value cannot be written as JSON (a map with keys that are no texts).
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads it as a `T`.
    ///
    /// # Errors
    /// When the text is not a `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }

    /// The reference, when this value was moved into a blob.
    #[must_use]
    pub fn as_blob(&self) -> Option<BlobRef> {
        self.read().ok()
    }

    /// True when it must become a blob before it is recorded.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.text().len() > INLINE_MAX_BYTES
    }
}

/// A request was admitted and is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRequested {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Which request of the attempt.
    pub step: StepNo,
    /// What it is for; absent: the task itself.
    #[serde(default, skip_serializing_if = "Purpose::is_work")]
    pub purpose: Purpose,
    /// SHA-256 over the request's body, 64 hex digits.
    pub hash: String,
    /// Size of the request's body in bytes.
    pub bytes: u64,
    /// What the agent was told since the request before. Results of calls are in their own records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Content>,
    /// Most output tokens that the answer may have.
    pub max_output: Tokens,
    /// Tokens set aside for it: never less than it can use. Set by the fleet on admission.
    pub reserved: Tokens,
}

/// A complete answer arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelResponded {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Which request it answers.
    pub step: StepNo,
    /// The [`crate::message::Answer`], or a [`BlobRef`] to its JSON.
    pub answer: Json,
    /// What the provider reported. Absent: it reported nothing, and the reservation is booked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A request ended without a usable answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailed {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Which request.
    pub step: StepNo,
    /// Short name of what went wrong, stable, for filters: `rate-limited`, `stream-cut` …
    pub kind: String,
    /// The provider's own words where there are any.
    pub message: String,
    /// What it may have cost.
    pub billed: Billed,
}

/// What a request that failed may have cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Billed {
    /// It was refused before any work: nothing is booked.
    Nothing,
    /// It may have been worked on: the whole reservation is booked.
    Reservation,
}

/// A tool call is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Which call of the attempt.
    pub call: CallId,
    /// Name of the tool.
    pub tool: String,
    /// What it may touch.
    pub effect: EffectClass,
    /// One line for people: the path, the command, the pattern. At most 200 bytes.
    pub summary: String,
}

/// A tool call ended; also recorded, without a start, for a call that was refused or never run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFinished {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Which call.
    pub call: CallId,
    /// Name of the tool as the model wrote it.
    pub tool: String,
    /// Whether it succeeded.
    pub status: ToolStatus,
    /// What the model reads.
    pub text: Content,
}

/// The workspace was kept after a step that may have changed it. The objects were durable before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSnapshotted {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// The snapshot commit, hex.
    pub commit: String,
    /// Its tree, hex.
    pub tree: String,
}

/// The conversation was made smaller, so that it fits the model. What it reads from now on follows
/// from this record and the ones before it. The first message always stays word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextCompacted {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// Messages at its end that stay.
    pub kept: u32,
    /// Results and arguments in those are cut to this many bytes; absent: they stay whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_max: Option<u32>,
    /// What became of the messages before them.
    pub older: Older,
    /// Bytes of the conversation before.
    pub before: u64,
    /// Bytes of the conversation after.
    pub after: u64,
}

/// What became of the older messages of a conversation that was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Older {
    /// Their results and arguments were cut.
    Cut {
        /// To this many bytes each.
        max: u32,
    },
    /// They are gone. What a person or the fleet had said in them stays word for word.
    Replaced {
        /// Stands in their place.
        summary: Content,
        /// Who wrote it.
        by: SummaryBy,
    },
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryBy {
    /// The agent's own model.
    Model,
    /// The fleet: a list of the calls, where the model gave no summary.
    Fleet,
}

/// A verdict given by the reviewer's own tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictGiven {
    /// The reviewing task.
    pub task: TaskId,
    /// Its attempt.
    pub attempt: AttemptNo,
    /// The verdict.
    pub verdict: Verdict,
    /// What must change, or why it is good.
    pub findings: Content,
}

/// What a reviewer decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The exact tree is good.
    Approve,
    /// It needs the changes named in the findings.
    Reject,
}

/// Any record of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRecord {
    /// See [`ModelRequested`].
    ModelRequested(ModelRequested),
    /// See [`ModelResponded`].
    ModelResponded(ModelResponded),
    /// See [`ModelFailed`].
    ModelFailed(ModelFailed),
    /// See [`ToolStarted`].
    ToolStarted(ToolStarted),
    /// See [`ToolFinished`].
    ToolFinished(ToolFinished),
    /// See [`WorkspaceSnapshotted`].
    WorkspaceSnapshotted(WorkspaceSnapshotted),
    /// See [`ContextCompacted`].
    ContextCompacted(ContextCompacted),
    /// See [`VerdictGiven`].
    VerdictGiven(VerdictGiven),
}

impl AgentRecord {
    /// Bytes of its contents as far as they are inline.
    #[must_use]
    pub fn inline_bytes(&self) -> usize {
        match self {
            Self::ModelRequested(r) => r.told.iter().map(Content::inline_bytes).sum(),
            Self::ModelResponded(r) => r.answer.text().len(),
            Self::ToolFinished(r) => r.text.inline_bytes(),
            Self::ContextCompacted(r) => match &r.older {
                Older::Cut { .. } => 0,
                Older::Replaced { summary, .. } => summary.inline_bytes(),
            },
            Self::VerdictGiven(r) => r.findings.inline_bytes(),
            Self::ModelFailed(_) | Self::ToolStarted(_) | Self::WorkspaceSnapshotted(_) => 0,
        }
    }

    /// Whose record it is.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        let (task, attempt) = match self {
            Self::ModelRequested(r) => (&r.task, r.attempt),
            Self::ModelResponded(r) => (&r.task, r.attempt),
            Self::ModelFailed(r) => (&r.task, r.attempt),
            Self::ToolStarted(r) => (&r.task, r.attempt),
            Self::ToolFinished(r) => (&r.task, r.attempt),
            Self::WorkspaceSnapshotted(r) => (&r.task, r.attempt),
            Self::ContextCompacted(r) => (&r.task, r.attempt),
            Self::VerdictGiven(r) => (&r.task, r.attempt),
        };
        AgentId {
            task: task.clone(),
            attempt,
        }
    }
}
