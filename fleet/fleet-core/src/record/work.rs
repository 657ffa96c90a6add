//! Facts of tasks, attempts, checks and landings. Never of the inside of an agent.

use crate::ids::{BranchName, CommitId, TreeId};
use crate::spec::TaskSpec;
use engine_core::content::Content;
use engine_core::ids::{AttemptNo, TaskId};
use engine_core::record::Verdict;
use serde::{Deserialize, Serialize};

/// A task was ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskQueued {
    /// What is to be done.
    pub spec: TaskSpec,
    /// Set when the fleet itself ordered this task as a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_of: Option<ReviewOf>,
}

/// The work that a review is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewOf {
    /// Whose work.
    pub task: TaskId,
    /// Of which attempt.
    pub attempt: AttemptNo,
    /// Its commit: the reviewer's worktree is a checkout of it.
    pub commit: CommitId,
    /// The commit it is compared with.
    pub base: CommitId,
}

/// A task came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnded {
    /// The task.
    pub task: TaskId,
    /// How.
    pub state: EndState,
    /// What led to it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For a skipped task: the task whose end kept it from running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<TaskId>,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndState {
    /// It has a result that nothing verified.
    Settled,
    /// Its checks and review passed; there was nothing to land.
    Verified,
    /// Its work is on the integration branch.
    Landed,
    /// Its attempts are used up.
    Failed,
    /// Something it needs did not succeed.
    Skipped,
    /// Its work does not merge with what landed before.
    Conflict,
    /// A person ended it for good.
    Cancelled,
    /// A cap was reached.
    Budget,
}

impl EndState {
    /// True for a state that lets dependents run.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Settled | Self::Verified | Self::Landed)
    }

    /// The word in records and views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Verified => "verified",
            Self::Landed => "landed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Conflict => "conflict",
            Self::Cancelled => "cancelled",
            Self::Budget => "budget",
        }
    }
}

/// An attempt was decided on; its workspace is made next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// The commit its work is compared with and committed onto.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// The commit its workspace starts at: the base, or what an earlier attempt left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommitId>,
}

/// An interrupted attempt goes on under a new manager, from its last durable step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptResumed {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
}

/// The workspace of an attempt exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceReady {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// Its folder.
    pub path: String,
    /// The branch really used; `None` for a detached or borrowed folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
}

/// The agent of an attempt is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFinished {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// How.
    pub end: AttemptEnd,
}

/// How the agent of an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum AttemptEnd {
    /// With a final message.
    Finished {
        /// The message: the task's result.
        text: Content,
    },
    /// With a verdict; its findings are in `review.given`.
    Verdict {
        /// The verdict.
        verdict: Verdict,
    },
    /// It failed; counts against the task's attempts.
    Failed {
        /// Short stable name of what went wrong.
        kind: String,
        /// For people, with the provider's or tool's own words.
        message: String,
    },
    /// Its provider refuses whatever the task asks: the task ends, whatever attempts are left.
    Refused {
        /// What was refused, in the provider's words.
        message: String,
    },
    /// It was stopped and can go on; does not count against the task's attempts.
    Interrupted,
    /// Its provider is unreachable or refused the key; it can go on, and does not count.
    Provider {
        /// Host or variable, and what was said.
        message: String,
    },
    /// A cap refused its next request.
    Budget {
        /// Which cap.
        message: String,
    },
}

/// The work of an attempt is a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkCommitted {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// The commit; equals the base when nothing was changed.
    pub commit: CommitId,
    /// Its tree.
    pub tree: TreeId,
    /// Files that differ from the base.
    pub files: u32,
    /// Lines added.
    pub insertions: u32,
    /// Lines removed.
    pub deletions: u32,
    /// Files in which marks of a conflict are left: the work is not done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<String>,
}

/// The work of an attempt leaves every file as its base has it: there is nothing to commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkUnchanged {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// The tree that stays as it is.
    pub tree: TreeId,
}

/// A check ran to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinished {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// On which tree it ran.
    pub stage: CheckStage,
    /// Position in the task's list, from 0.
    pub index: u32,
    /// The command.
    pub command: String,
    /// The commit it ran on, in a clean checkout.
    pub commit: CommitId,
    /// Exit code; `None` when it ran into its time limit or died by a signal.
    pub exit: Option<i32>,
    /// What it printed, bounded.
    pub output: Content,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// What of the sandbox the kernel did not hold; absent when all of it was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfined: Option<String>,
}

/// On which tree a check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStage {
    /// The attempt's own commit.
    Own,
    /// The commit merged with what landed before.
    Merged,
}

/// The commit that will be landed exists, and the integration branch will be moved to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingPrepared {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// Where the integration branch stood.
    pub onto: CommitId,
    /// Where it will stand.
    pub commit: CommitId,
    /// True when the landed tree is not the one that was checked before.
    pub merged: bool,
}

/// The work does not merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingConflicted {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// Where the integration branch stood.
    pub onto: CommitId,
    /// Paths in conflict.
    pub paths: Vec<String>,
    /// What goes back to a builder; absent where nothing does, as in ledgers of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnedWork>,
}

/// Work in conflict, made ready for the next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnedWork {
    /// The work that does not merge.
    pub commit: CommitId,
    /// The merge as far as it goes, with marks where both sides changed the same lines.
    pub marked: CommitId,
    /// Each conflict by its kind, what both sides did, and the marked text.
    pub report: Content,
}

/// The integration branch was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkLanded {
    /// The task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// Where the branch stands now.
    pub commit: CommitId,
}
