//! Read models: a run and its tasks as people and programs see them. Derived, never stored; the words
//! here are the words of every screen and every `--json`.

use crate::budget::Account;
use crate::ids::{BranchName, CommitId, RunId};
use crate::state::{ChangeSize, FleetState, Phase, RunStatus, Taken, Task};
use crate::time::Timestamp;
use engine_core::ids::{AttemptNo, ModelName, RoleName, TaskId};

/// Whether a manager is at work on the run. The ledger cannot say it; the lock can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// One lives.
    Alive,
    /// None does.
    Gone,
}

/// A run as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    /// Its id.
    pub run: RunId,
    /// running, done, partial, failed, budget, provider, stopped.
    pub state: &'static str,
    /// Why it ended, where the state alone does not say.
    pub reason: Option<String>,
    /// Exit code of the manager that ended it.
    pub exit: Option<u8>,
    /// The folder it works on.
    pub repository: String,
    /// The commit it started from.
    pub base: Option<CommitId>,
    /// Where results are landed.
    pub integration: Option<BranchName>,
    /// Head of what has landed.
    pub head: Option<CommitId>,
    /// The person's branch that the run started from.
    pub base_branch: Option<BranchName>,
    /// Where the person last took its work.
    pub taken: Option<Taken>,
    /// Set when the person does not want its work: why, or an empty text.
    pub rejected: Option<String>,
    /// Its tokens.
    pub account: Account,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When its newest entry was formed.
    pub last_at: Timestamp,
    /// Its tasks, in the order queued.
    pub tasks: Vec<TaskView>,
}

/// A task as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// Its id.
    pub task: TaskId,
    /// Who does it.
    pub role: RoleName,
    /// With which model.
    pub model: Option<ModelName>,
    /// queued, running, waiting, settled, verified, landed, failed, skipped, conflict, cancelled,
    /// interrupted, budget.
    pub state: &'static str,
    /// What it is doing or why it ended.
    pub note: Option<String>,
    /// Number of its newest attempt; 0 before the first.
    pub attempt: AttemptNo,
    /// Model requests of that attempt.
    pub steps: u32,
    /// Its tokens, all attempts.
    pub account: Account,
    /// When its first attempt started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What kept it from running.
    pub blocked_by: Option<TaskId>,
    /// For a review: whose work.
    pub review_of: Option<TaskId>,
    /// Size of its change.
    pub change: Option<ChangeSize>,
}

impl RunView {
    /// True when there is work that the person has neither taken nor rejected, and nothing of the run is
    /// left to do.
    #[must_use]
    pub fn is_on_offer(&self) -> bool {
        let is_over = !matches!(self.state, "running" | "stopped" | "provider");
        let is_new = self.taken.as_ref().map(|taken| &taken.head) != self.head.as_ref();
        is_over && self.head != self.base && is_new && self.rejected.is_none()
    }
}

impl FleetState {
    /// The run as it is shown; `None` before it was opened.
    #[must_use]
    pub fn view(&self, manager: Manager) -> Option<RunView> {
        let run = self.run()?;
        let (state, reason, exit) = match &run.status {
            RunStatus::Open if manager == Manager::Alive => ("running", None, None),
            RunStatus::Open => {
                let reason = "its manager is gone; `fleet resume` goes on".to_owned();
                ("stopped", Some(reason), None)
            }
            RunStatus::Ended(end) if self.unended() > 0 && !end.outcome.is_resumable() => {
                let reason = "tasks are to be retried; `fleet resume` goes on".to_owned();
                ("stopped", Some(reason), None)
            }
            RunStatus::Ended(end) => (end.outcome.word(), end.reason.clone(), Some(end.exit)),
        };
        let at_work = match run.status {
            RunStatus::Open => manager,
            RunStatus::Ended(_) => Manager::Gone,
        };
        Some(RunView {
            run: run.id.clone(),
            state,
            reason,
            exit,
            repository: run.repository.clone(),
            base: run.base.clone(),
            integration: run.integration.clone(),
            head: run.head.clone(),
            base_branch: run.base_branch.clone(),
            taken: run.taken.clone(),
            rejected: run.rejected.clone(),
            account: *self.account(),
            opened_at: run.opened_at,
            last_at: self.last().at,
            tasks: self
                .tasks()
                .map(|(_, task)| self.view_of(task, at_work))
                .collect(),
        })
    }

    fn view_of(&self, task: &Task, manager: Manager) -> TaskView {
        let role = self
            .run()
            .and_then(|run| run.plan.roles.get(&task.spec.role));
        TaskView {
            task: task.spec.id.clone(),
            role: task.spec.role.clone(),
            model: role.map(|role| role.model.clone()),
            state: state_word(task, manager),
            note: note_of(task),
            attempt: task.attempt_no(),
            steps: task.attempt.as_ref().map_or(0, |attempt| attempt.steps),
            account: task.account,
            started_at: task.started_at,
            ended_at: task.ended_at,
            blocked_by: task.blocked_by.clone(),
            review_of: task.review_of.as_ref().map(|review| review.task.clone()),
            change: task.attempt.as_ref().and_then(|attempt| attempt.change),
        }
    }
}

/// The word for where a task stands.
#[must_use]
pub fn state_word(task: &Task, manager: Manager) -> &'static str {
    match &task.phase {
        Phase::Ended(end) => end.word(),
        Phase::Closing(closing) => closing.state.word(),
        Phase::Waiting { .. } | Phase::Ready => "queued",
        Phase::Interrupted => "interrupted",
        _ if manager == Manager::Gone => "interrupted",
        Phase::Preparing | Phase::Working | Phase::Committing | Phase::Checking { .. } => "running",
        Phase::WantsReview | Phase::InReview { .. } => "waiting",
        Phase::Landing | Phase::Moving
            if task.spec.check.is_empty() && task.spec.review.is_none() =>
        {
            "settled"
        }
        Phase::Landing | Phase::Moving => "verified",
    }
}

fn note_of(task: &Task) -> Option<String> {
    match &task.phase {
        Phase::Preparing => Some("making its workspace".to_owned()),
        Phase::Committing => Some("committing".to_owned()),
        Phase::Checking { index, .. } => task
            .spec
            .check
            .get(*index as usize)
            .map(|command| format!("check: {command}")),
        Phase::WantsReview | Phase::InReview { .. } => Some("in review".to_owned()),
        Phase::Landing | Phase::Moving => Some("landing".to_owned()),
        Phase::Working => task
            .attempt
            .as_ref()
            .and_then(|attempt| attempt.activity.clone()),
        Phase::Ended(_) => {
            let blocked = task
                .blocked_by
                .as_ref()
                .map(|by| format!("blocked by {by}"));
            blocked.or_else(|| task.reason.clone())
        }
        _ => None,
    }
}
