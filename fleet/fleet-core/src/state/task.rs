//! One task of a run: its phase, its attempt, its findings and its account. Never decides.

use crate::budget::{Account, Observed};
use crate::ids::{BranchName, CommitId, TreeId};
use crate::record::{CheckStage, EndState, ReviewOf};
use crate::spec::TaskSpec;
use crate::time::Timestamp;
use engine_core::content::Content;
use engine_core::ids::{AttemptNo, StepNo, TaskId, Tokens};
use engine_core::record::Verdict;
use engine_core::tool::Access;

/// Position of a task in its run, in the order in which tasks were queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskIx(pub(crate) u32);

impl TaskIx {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// Where a task stands. What is owed to it follows from this alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Some of what it needs has not succeeded yet.
    Waiting {
        /// How many.
        unmet: u32,
    },
    /// An attempt may start when a slot is free.
    Ready,
    /// The attempt's workspace is being made.
    Preparing,
    /// The attempt's agent is at work.
    Working,
    /// The attempt was interrupted and may go on when a slot is free.
    Interrupted,
    /// The attempt's work is being committed.
    Committing,
    /// A check is running.
    Checking {
        /// On which tree.
        stage: CheckStage,
        /// Which check, from 0.
        index: u32,
    },
    /// Its review has to be queued.
    WantsReview,
    /// Its review is a task of its own, under way.
    InReview {
        /// That task.
        review: TaskIx,
    },
    /// In the landing queue; its merge is being prepared when it is the first.
    Landing,
    /// The integration branch is being moved.
    Moving,
    /// Its end is decided and has to be recorded.
    Closing(Closing),
    /// Over.
    Ended(EndState),
}

/// The end that a task is about to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// How.
    pub state: EndState,
    /// Why, for people.
    pub reason: Option<String>,
    /// The task that kept it from running.
    pub blocked_by: Option<TaskId>,
}

/// What an attempt taught the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which attempt.
    pub attempt: AttemptNo,
    /// What found it.
    pub source: FindingSource,
    /// What was found.
    pub text: Content,
}

/// What found something wrong with an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingSource {
    /// A check that did not exit 0.
    Check {
        /// The command.
        command: String,
        /// Its exit code; `None`: time limit or signal.
        exit: Option<i32>,
        /// On which tree.
        stage: CheckStage,
    },
    /// A reviewer's rejection.
    Review,
    /// The attempt itself failed.
    Failure,
    /// The attempt changed nothing.
    Unchanged,
    /// The work does not merge with what landed meanwhile.
    Conflict {
        /// Where the integration branch stood: what the next attempt is compared with.
        onto: CommitId,
        /// The work that does not merge.
        commit: CommitId,
        /// Where the next attempt starts: both sides, with marks.
        marked: CommitId,
    },
}

/// A request that was admitted and has no outcome yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest {
    /// Which.
    pub step: StepNo,
    /// What is set aside for it.
    pub reserved: Tokens,
    /// Size of its body.
    pub bytes: u64,
}

/// The newest attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its number.
    pub no: AttemptNo,
    /// What its work is compared with.
    pub base: Option<CommitId>,
    /// Where its workspace starts.
    pub start: Option<CommitId>,
    /// Its folder, once made.
    pub path: Option<String>,
    /// Its branch, where it has one.
    pub branch: Option<BranchName>,
    /// The newest snapshot of its workspace.
    pub snapshot: Option<(CommitId, TreeId)>,
    /// The request under way.
    pub open_request: Option<OpenRequest>,
    /// What its last answered request measured.
    pub observed: Option<Observed>,
    /// Model requests so far.
    pub steps: u32,
    /// What it is doing, one line.
    pub activity: Option<String>,
    /// When its agent finished. Dates its commit, so that the commit's id is known beforehand.
    pub finished_at: Option<Timestamp>,
    /// How many of the things said to its task its first message holds.
    pub told_before: usize,
    /// How many of them it has heard.
    pub heard: usize,
    /// The verdict given, by a reviewer.
    pub verdict: Option<(Verdict, Content)>,
    /// The commit of its work.
    pub commit: Option<(CommitId, TreeId)>,
    /// True when its work left every file as the base has it.
    pub unchanged: bool,
    /// Size of its work.
    pub change: Option<ChangeSize>,
    /// What will be landed.
    pub landing: Option<Landing>,
}

/// Size of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeSize {
    /// Files that differ.
    pub files: u32,
    /// Lines added.
    pub insertions: u32,
    /// Lines removed.
    pub deletions: u32,
}

/// A prepared landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// Where the branch stood.
    pub onto: CommitId,
    /// Where it will stand.
    pub commit: CommitId,
}

/// A task and all that the fold knows of it.
#[derive(Debug, Clone)]
pub struct Task {
    /// What was ordered.
    pub spec: TaskSpec,
    /// What its role may do.
    pub access: Access,
    /// Set for a review.
    pub review_of: Option<ReviewOf>,
    /// Where it stands.
    pub phase: Phase,
    /// Its newest attempt.
    pub attempt: Option<Attempt>,
    /// What a person said to whoever works on it, in order.
    pub told: Vec<String>,
    /// Attempts before the newest retry, which do not count against the limit any more.
    pub(crate) attempts_before: u32,
    /// What earlier attempts taught.
    pub findings: Vec<Finding>,
    /// Where the next attempt starts, when not at the base: base and start.
    pub(crate) next_from: Option<(CommitId, CommitId)>,
    /// Its result, once its attempt finished.
    pub result: Option<Content>,
    /// Its tokens.
    pub account: Account,
    /// Who needs it.
    pub(crate) dependents: Vec<TaskIx>,
    /// When its first attempt started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it ended so.
    pub reason: Option<String>,
    /// What kept it from running.
    pub blocked_by: Option<TaskId>,
}

impl Task {
    /// True while an agent of it occupies a slot.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Preparing | Phase::Working)
    }

    /// True once it is over.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// True once it is over and lets dependents run.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self.phase, Phase::Ended(end) if end.is_success())
    }

    /// True when its work is a change that the fleet commits and lands.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.access != Access::Read
    }

    /// Number of its newest attempt; 0 before the first.
    #[must_use]
    pub fn attempt_no(&self) -> AttemptNo {
        self.attempt.as_ref().map_or(AttemptNo(0), |a| a.no)
    }

    /// Attempts that count against the limit: those since the newest retry.
    pub(crate) fn attempts_counted(&self) -> u32 {
        self.attempt_no().0 - self.attempts_before
    }
}
