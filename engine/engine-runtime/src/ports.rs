//! What an agent needs from whoever runs it: a journal to report to and a keeper of its workspace.
//! Never implements one: the fleet's manager does.

use engine_core::ids::{AgentId, StepNo, Tokens};
use engine_core::record::AgentRecord;
use futures_util::future::BoxFuture;

/// Where an agent reports. Implemented by whoever writes the ledger.
///
/// Calls of one agent take effect in the order in which their futures are first polled: the agent
/// may hand in the outcome of one step and the intent of the next without waiting in between.
pub trait Journal: Send + Sync {
    /// Asks to send a request. When it is granted, `model.requested` is durable, its reservation
    /// with it.
    ///
    /// # Errors
    /// [`JournalClosed`] when nothing can be recorded any more.
    fn admit(&self, intent: RequestIntent) -> BoxFuture<'_, Result<Admission, JournalClosed>>;

    /// Records facts as one line, all or none. Returns when they are durable.
    ///
    /// # Errors
    /// [`JournalClosed`] when nothing can be recorded any more; whether these facts are on disk
    /// is then unknown.
    fn record(&self, records: Vec<AgentRecord>) -> BoxFuture<'_, Result<(), JournalClosed>>;
}

/// A request that waits for admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestIntent {
    /// Whose.
    pub agent: AgentId,
    /// Which request of the attempt.
    pub step: StepNo,
    /// SHA-256 over the body, 64 hex digits.
    pub hash: String,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// What the agent was told since the request before.
    pub told: Vec<String>,
    /// Most output tokens the agent would like.
    pub max_output: Tokens,
}

/// What became of a [`RequestIntent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It may be sent.
    Granted {
        /// Most output tokens the answer may have; never more than was asked for.
        max_output: Tokens,
    },
    /// A budget has no room for it.
    Refused {
        /// Which budget, in one sentence.
        reason: String,
    },
}

/// Nothing can be recorded any more: the agent stops where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run's journal is closed")]
pub struct JournalClosed;

/// Keeps the agent's workspace between steps.
pub trait Snapshots: Send + Sync {
    /// Keeps the workspace as it is. The objects are durable when it returns. `None`: nothing has
    /// changed since the last one.
    fn take(&self) -> BoxFuture<'_, Result<Option<Snapshot>, SnapshotError>>;

    /// Puts the workspace back to the last recorded snapshot, or to its start when there is none.
    fn restore(&self) -> BoxFuture<'_, Result<(), SnapshotError>>;
}

/// A kept workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The snapshot commit, hex.
    pub commit: String,
    /// Its tree, hex.
    pub tree: String,
}

/// The workspace could not be kept or put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SnapshotError {
    /// What failed, in one sentence.
    pub message: String,
}
