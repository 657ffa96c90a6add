//! What an agent needs from whoever runs it: a model, tools, a journal to report to and a keeper of
//! its workspace. Never implements one.

use engine_core::ids::{AgentId, StepNo, Tokens};
use engine_core::message::ToolCall;
use engine_core::record::AgentRecord;
use engine_core::request::Purpose;
use engine_core::tool::{EffectClass, ToolSpec};
pub use engine_core::turn::Snapshot;
use engine_core::turn::ToolEnd;
use engine_llm::{Model, StreamEvent};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// All that an agent reaches the world through.
pub struct Ports {
    /// Where it asks.
    pub model: Arc<dyn Model>,
    /// What it may call.
    pub tools: Arc<dyn Tools>,
    /// Where it reports.
    pub journal: Arc<dyn Journal>,
    /// What keeps its workspace.
    pub snapshots: Arc<dyn Snapshots>,
    /// What a person says to it while it works. Whoever sends may drop its end at any time. A text
    /// counts as delivered when it is in a recorded request, not before.
    pub inbox: mpsc::UnboundedReceiver<String>,
    /// Who watches its answers come in.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Watches answers come in. For display only: what it hears may belong to an answer that fails.
pub trait Observer: Send + Sync {
    /// A piece has come. Must not wait.
    fn heard(&self, agent: &AgentId, event: StreamEvent);
}

/// The tools of one agent.
pub trait Tools: Send + Sync {
    /// What it may call.
    fn catalog(&self) -> &[ToolSpec];

    /// Looks at a call without doing anything. Quick: it neither waits nor asks anybody.
    ///
    /// # Errors
    /// When the call is refused or denied.
    fn prepare(self: Arc<Self>, call: &ToolCall) -> Result<ReadyCall, Refusal>;
}

/// A call that can run.
pub struct ReadyCall {
    /// What it may touch. A call of a tool that [`EffectClass::Reads`] may not touch more.
    pub effect: EffectClass,
    /// One line for people: the path, the command, the pattern.
    pub summary: String,
    /// Runs it. When the token is cancelled it ends what it began, then says how far it came.
    pub run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ToolEnd> + Send>,
}

/// Why a call is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// For the model.
    pub text: String,
}

/// Where an agent reports. Implemented by whoever writes the ledger. An agent makes one call at a
/// time, and never drops one that is under way unless it is dropped itself.
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
    /// What it is for.
    pub purpose: Purpose,
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

/// The workspace could not be kept or put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SnapshotError {
    /// What failed, in one sentence.
    pub message: String,
}
