//! Facts of the run as a whole. Never of a single task.

use crate::ids::{BranchName, CommitId, RunId};
use crate::spec::RunSpec;
use engine_core::content::Content;
use engine_core::record::Json;
use serde::{Deserialize, Serialize};

/// The first record: who this run is and what was ordered of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOpened {
    /// Its id.
    pub run: RunId,
    /// Version of the product that opened it.
    pub version: String,
    /// Top folder of the repository it works on, or the folder itself where there is no repository.
    pub repository: String,
    /// The commit it starts from; `None` where there is no repository.
    pub base: Option<CommitId>,
    /// The branch of the person's that stood there; `None` for a commit or a tag, and in ledgers of
    /// older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<BranchName>,
    /// Where results are landed; `None` when nothing is.
    pub integration: Option<BranchName>,
    /// Seed of all randomness of the run.
    pub seed: u64,
    /// What was ordered, without its tasks.
    pub plan: RunSpec,
    /// The ordered tasks: a list of [`crate::spec::TaskSpec`] in an order in which each stands after
    /// what it needs, or a reference to a blob with it.
    pub tasks: Json,
    /// How many they are.
    pub task_count: u32,
    /// The roster's exact text, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roster: Option<Content>,
}

/// A new manager took the run over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    /// Version of the product.
    pub version: String,
    /// Process id of the manager.
    pub pid: u32,
}

/// The run came to an end; a `stopped`, `provider` or `waiting` one can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How.
    pub outcome: RunOutcome,
    /// Exit code of the manager.
    pub exit: u8,
    /// What led to it, where the outcome alone does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A person has the run's work on a branch of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLanded {
    /// Their branch.
    pub branch: BranchName,
    /// Where it stood; `None` when the work was found on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CommitId>,
    /// The commit that brought the work: the merge, or the head of the work itself.
    pub commit: CommitId,
    /// The head of the work.
    pub head: CommitId,
}

/// A person does not want the run's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRejected {
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every task succeeded.
    Done,
    /// Some tasks succeeded, some did not.
    Partial,
    /// No task succeeded.
    Failed,
    /// A cap was reached.
    Budget,
    /// A provider was unreachable or refused the key.
    Provider,
    /// A person or a signal stopped it.
    Stopped,
}

impl RunOutcome {
    /// The word in records and views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Budget => "budget",
            Self::Provider => "provider",
            Self::Stopped => "stopped",
        }
    }

    /// True when `fleet resume` can go on from here.
    #[must_use]
    pub fn is_resumable(self) -> bool {
        matches!(self, Self::Provider | Self::Stopped)
    }
}
