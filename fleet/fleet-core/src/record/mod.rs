//! The vocabulary of the ledger: every fact a run can state, with its `type` text. Never progress:
//! token deltas, heartbeats and frames have no record.

mod large;
mod outcome;
mod run;
mod wish;
mod work;

pub use engine_core::record::{
    ContextCompacted, ModelFailed, ModelRequested, ModelResponded, ToolFinished, ToolStarted,
    VerdictGiven, WorkspaceSnapshotted,
};
pub(crate) use large::move_text;
pub use run::{RunEnded, RunLanded, RunOpened, RunOutcome, RunRejected, RunResumed};
pub use wish::{TaskRetried, TaskTold};
pub use work::{
    AttemptEnd, AttemptFinished, AttemptResumed, AttemptStarted, CheckFinished, CheckStage,
    EndState, LandingConflicted, LandingPrepared, ReturnedWork, ReviewOf, TaskEnded, TaskQueued,
    WorkCommitted, WorkLanded, WorkUnchanged, WorkspaceReady,
};

use engine_core::ids::TaskId;
use engine_core::record::AgentRecord;

/// Why a record's text could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// This version does not know the type.
    #[error("unknown record type `{0}`")]
    UnknownType(String),
    /// The type is known, its fields are not as they must be.
    #[error("record `{kind}`: {source}")]
    Malformed {
        /// The type.
        kind: &'static str,
        /// What is wrong, with its position.
        source: serde_json::Error,
    },
}

/// Builds the enum of all records, their type texts, and both directions of their JSON.
macro_rules! records {
    ($($kind:literal => $variant:ident($ty:ty)),* $(,)?) => {
        /// A fact of a run.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Record {
            $(
                #[doc = concat!("`", $kind, "`")]
                $variant($ty),
            )*
        }

        /// Every record type that this version knows.
        pub const KINDS: &[&str] = &[$($kind),*];

        impl Record {
            /// Its `type` text.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind,)* }
            }

            /// Reads a record whose `type` is `kind`. Unknown extra fields are passed over.
            ///
            /// # Errors
            /// When the type is unknown or the fields do not fit it.
            pub fn decode(kind: &str, json: &str) -> Result<Self, DecodeError> {
                match kind {
                    $($kind => serde_json::from_str(json)
                        .map(Self::$variant)
                        .map_err(|source| DecodeError::Malformed { kind: $kind, source }),)*
                    _ => Err(DecodeError::UnknownType(kind.to_owned())),
                }
            }

            fn fields(&self) -> Result<Vec<u8>, serde_json::Error> {
                match self { $(Self::$variant(fields) => serde_json::to_vec(fields),)* }
            }
        }

        $(
            impl From<$ty> for Record {
                fn from(fields: $ty) -> Self { Self::$variant(fields) }
            }
        )*
    };
}

records! {
    "run.opened" => RunOpened(Box<RunOpened>),
    "run.resumed" => RunResumed(RunResumed),
    "run.ended" => RunEnded(RunEnded),
    "run.landed" => RunLanded(RunLanded),
    "run.rejected" => RunRejected(RunRejected),
    "task.queued" => TaskQueued(Box<TaskQueued>),
    "task.ended" => TaskEnded(TaskEnded),
    "task.retried" => TaskRetried(TaskRetried),
    "task.told" => TaskTold(TaskTold),
    "attempt.started" => AttemptStarted(AttemptStarted),
    "attempt.resumed" => AttemptResumed(AttemptResumed),
    "attempt.finished" => AttemptFinished(AttemptFinished),
    "workspace.ready" => WorkspaceReady(WorkspaceReady),
    "workspace.snapshotted" => WorkspaceSnapshotted(WorkspaceSnapshotted),
    "model.requested" => ModelRequested(ModelRequested),
    "model.responded" => ModelResponded(ModelResponded),
    "model.failed" => ModelFailed(ModelFailed),
    "context.compacted" => ContextCompacted(ContextCompacted),
    "tool.started" => ToolStarted(ToolStarted),
    "tool.finished" => ToolFinished(ToolFinished),
    "review.given" => ReviewGiven(VerdictGiven),
    "work.committed" => WorkCommitted(WorkCommitted),
    "work.unchanged" => WorkUnchanged(WorkUnchanged),
    "check.finished" => CheckFinished(CheckFinished),
    "landing.prepared" => LandingPrepared(LandingPrepared),
    "landing.conflicted" => LandingConflicted(LandingConflicted),
    "work.landed" => WorkLanded(WorkLanded),
}

impl Record {
    /// Appends its JSON object, `type` first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let fields = self
            .fields()
            .expect("records hold only texts, numbers, lists and maps with text keys");
        out.extend_from_slice(br#"{"type":""#);
        out.extend_from_slice(self.kind().as_bytes());
        out.push(b'"');
        if fields.len() > 2 {
            out.push(b',');
        }
        out.extend_from_slice(&fields[1..]);
    }

    /// The task it speaks of, when it speaks of one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::RunOpened(_)
            | Self::RunResumed(_)
            | Self::RunEnded(_)
            | Self::RunLanded(_)
            | Self::RunRejected(_) => None,
            Self::TaskQueued(r) => Some(&r.spec.id),
            Self::TaskEnded(r) => Some(&r.task),
            Self::TaskRetried(r) => Some(&r.task),
            Self::TaskTold(r) => Some(&r.task),
            Self::AttemptStarted(r) => Some(&r.task),
            Self::AttemptResumed(r) => Some(&r.task),
            Self::AttemptFinished(r) => Some(&r.task),
            Self::WorkspaceReady(r) => Some(&r.task),
            Self::WorkspaceSnapshotted(r) => Some(&r.task),
            Self::ModelRequested(r) => Some(&r.task),
            Self::ModelResponded(r) => Some(&r.task),
            Self::ModelFailed(r) => Some(&r.task),
            Self::ContextCompacted(r) => Some(&r.task),
            Self::ToolStarted(r) => Some(&r.task),
            Self::ToolFinished(r) => Some(&r.task),
            Self::ReviewGiven(r) => Some(&r.task),
            Self::WorkCommitted(r) => Some(&r.task),
            Self::WorkUnchanged(r) => Some(&r.task),
            Self::CheckFinished(r) => Some(&r.task),
            Self::LandingPrepared(r) => Some(&r.task),
            Self::LandingConflicted(r) => Some(&r.task),
            Self::WorkLanded(r) => Some(&r.task),
        }
    }

    /// The same fact as one of an agent, when it is one.
    #[must_use]
    pub fn into_agent(self) -> Option<AgentRecord> {
        Some(match self {
            Self::ModelRequested(r) => AgentRecord::ModelRequested(r),
            Self::ModelResponded(r) => AgentRecord::ModelResponded(r),
            Self::ModelFailed(r) => AgentRecord::ModelFailed(r),
            Self::ContextCompacted(r) => AgentRecord::ContextCompacted(r),
            Self::ToolStarted(r) => AgentRecord::ToolStarted(r),
            Self::ToolFinished(r) => AgentRecord::ToolFinished(r),
            Self::WorkspaceSnapshotted(r) => AgentRecord::WorkspaceSnapshotted(r),
            Self::ReviewGiven(r) => AgentRecord::VerdictGiven(r),
            _ => return None,
        })
    }
}

impl From<AgentRecord> for Record {
    fn from(record: AgentRecord) -> Self {
        match record {
            AgentRecord::ModelRequested(r) => Self::ModelRequested(r),
            AgentRecord::ModelResponded(r) => Self::ModelResponded(r),
            AgentRecord::ModelFailed(r) => Self::ModelFailed(r),
            AgentRecord::ContextCompacted(r) => Self::ContextCompacted(r),
            AgentRecord::ToolStarted(r) => Self::ToolStarted(r),
            AgentRecord::ToolFinished(r) => Self::ToolFinished(r),
            AgentRecord::WorkspaceSnapshotted(r) => Self::WorkspaceSnapshotted(r),
            AgentRecord::VerdictGiven(r) => Self::ReviewGiven(r),
        }
    }
}

#[cfg(test)]
mod tests;
