//! What goes into the turn machine and what comes out of it, as data. Never carries a handle.

use crate::failure::ModelFailure;
use crate::ids::{CallId, StepNo, Tokens};
use crate::message::{ToolCall, ToolStatus};
use crate::outcome::AgentOutcome;
use crate::record::AgentRecord;
use crate::request::{ModelResponse, Purpose};
use crate::tool::EffectClass;
use std::time::Duration;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnInput {
    /// The attempt begins, or goes on after a crash or a stop.
    Start,
    /// The request asked for by [`TurnEffect::Admit`] was admitted and is recorded.
    Admitted {
        /// Most output tokens its answer may have.
        max_output: Tokens,
    },
    /// A budget refused it.
    Refused {
        /// Which budget, in one sentence.
        reason: String,
    },
    /// The model answered.
    Answered(ModelResponse),
    /// The request failed.
    ModelFailed(ModelFailure),
    /// The wait is over.
    Waited,
    /// The calls of [`TurnEffect::Prepare`] were looked at: one entry for each, in their order.
    Prepared(Vec<Preparation>),
    /// A call of [`TurnEffect::Run`] ended.
    ToolFinished {
        /// Which.
        call: CallId,
        /// How.
        end: ToolEnd,
    },
    /// The workspace was kept; `None`: it had not changed.
    Snapshotted(Result<Option<Snapshot>, String>),
    /// The workspace was put back.
    Restored(Result<(), String>),
    /// A person, or the fleet for them, says something. Legal at any time; blank texts are dropped.
    Told(String),
    /// The agent is to stop, and the admitted request was not sent: it cost nothing.
    Unsent,
    /// The agent is to stop. Given in place of the result of the effect that is owed, which is
    /// then not carried out or was cut off; calls that run, and work on the workspace, still report
    /// their end. Legal at any time.
    Cancelled,
}

/// What looking at a call gave, before anything was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preparation {
    /// It can run.
    Ready {
        /// What it may touch.
        effect: EffectClass,
        /// One line for people.
        summary: String,
    },
    /// It is refused or denied.
    Refused {
        /// Why, for the model.
        text: String,
    },
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEnd {
    /// By itself.
    Done {
        /// Whether it succeeded.
        status: ToolStatus,
        /// What the model reads.
        text: String,
    },
    /// It was stopped while it ran.
    Stopped {
        /// What it had put out.
        output: String,
    },
}

/// Where the workspace was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The snapshot commit, hex.
    pub commit: String,
    /// Its tree, hex.
    pub tree: String,
}

/// What is to be done now, in this order. All but [`Self::Record`] come last in their list and
/// are answered by inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEffect {
    /// Record these facts as one line. What follows waits until it is durable.
    Record(Vec<AgentRecord>),
    /// Ask for admission of a request over the conversation as it stands now.
    Admit {
        /// Which request.
        step: StepNo,
        /// What the agent was told since the request before.
        told: Vec<String>,
        /// What it is for.
        purpose: Purpose,
        /// Most output tokens its answer should have.
        max_output: Tokens,
    },
    /// Send the admitted request.
    Ask {
        /// Most output tokens of its answer.
        max_output: Tokens,
    },
    /// Wait before the next request.
    Wait(Duration),
    /// Look at these calls without doing anything.
    Prepare(Vec<ToolCall>),
    /// Run these prepared calls beside each other.
    Run(Vec<CallId>),
    /// Keep the workspace.
    Snapshot,
    /// Put the workspace back to the last recorded snapshot.
    Restore,
    /// The attempt is over.
    Finish(AgentOutcome),
}

impl TurnInput {
    /// Its name, for messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Admitted { .. } => "admitted",
            Self::Refused { .. } => "refused",
            Self::Answered(_) => "answered",
            Self::ModelFailed(_) => "model failed",
            Self::Waited => "waited",
            Self::Prepared(_) => "prepared",
            Self::ToolFinished { .. } => "tool finished",
            Self::Snapshotted(_) => "snapshotted",
            Self::Restored(_) => "restored",
            Self::Told(_) => "told",
            Self::Unsent => "unsent",
            Self::Cancelled => "cancelled",
        }
    }
}
