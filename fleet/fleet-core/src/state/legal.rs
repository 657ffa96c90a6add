//! Which record may follow which state: one exhaustive table. Never changes anything.

use super::FleetState;
use super::run::{Run, RunStatus};
use super::task::{Phase, Task};
use crate::record::{CheckFinished, EndState, Record, RunLanded, TaskEnded, TaskQueued};
use engine_core::ids::{AttemptNo, StepNo, TaskId};

/// A record that does not fit what is the case: the ledger is damaged or of another version, or an
/// outcome came too late.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {seq}: `{kind}`{} does not fit: {misfit}", of_task(.task.as_ref()))]
pub struct IllegalRecord {
    /// Line of the ledger.
    pub seq: u64,
    /// Its type.
    pub kind: &'static str,
    /// The task it speaks of.
    pub task: Option<TaskId>,
    /// Why it does not fit.
    pub misfit: Misfit,
}

fn of_task(task: Option<&TaskId>) -> String {
    task.map_or_else(String::new, |task| format!(" of task `{task}`"))
}

/// Why a record does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// Nothing may precede `run.opened`, and nothing may open a run twice.
    #[error("the run was {0}")]
    Run(&'static str),
    /// No such task.
    #[error("no such task")]
    NoTask,
    /// The id is taken.
    #[error("the id is taken")]
    IdTaken,
    /// It names a task or role that is not known.
    #[error("`{0}` is not known")]
    Unknown(String),
    /// It speaks of another attempt than the newest.
    #[error("attempt {found} instead of {expected}")]
    Attempt {
        /// The newest or next.
        expected: AttemptNo,
        /// What the record says.
        found: AttemptNo,
    },
    /// The task is not in a phase in which this can happen.
    #[error("the task is {0}")]
    Phase(&'static str),
    /// It answers another request than the one under way.
    #[error("request {0:?} is not under way")]
    Request(StepNo),
}

impl FleetState {
    /// Whether a record fits what is the case.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self, record: &Record) -> Result<(), Misfit> {
        match (record, &self.run) {
            (Record::RunOpened(_), None) => return Ok(()),
            (Record::RunOpened(_), Some(_)) => return Err(Misfit::Run("opened before")),
            (_, None) => return Err(Misfit::Run("not opened")),
            (Record::RunResumed(_), Some(_)) => return Ok(()),
            (Record::RunLanded(r), Some(_)) => return self.check_landed(r),
            (Record::RunRejected(_), Some(_)) => return self.check_rejected(),
            (_, Some(run)) => {
                if let RunStatus::Ended(_) = &run.status
                    && !self.may_follow_end(record)
                {
                    return Err(Misfit::Run("ended"));
                }
            }
        }
        match record {
            Record::TaskQueued(r) => self.check_queued(r),
            Record::RunOpened(_)
            | Record::RunResumed(_)
            | Record::RunEnded(_)
            | Record::RunLanded(_)
            | Record::RunRejected(_) => Ok(()),
            other => {
                let id = other.task().ok_or(Misfit::NoTask)?;
                let (_, task) = self.find(id).ok_or(Misfit::NoTask)?;
                check_task(task, other)
            }
        }
    }

    /// What may be stated behind the end of a run while nobody manages it: what a person asked for, what
    /// follows from it, and that nothing is left. Of a run that is over only that a task is retried.
    fn may_follow_end(&self, record: &Record) -> bool {
        match record {
            Record::TaskRetried(_) => true,
            Record::TaskTold(_) => self.is_unfinished(),
            Record::TaskEnded(r) => {
                let task = self.find(&r.task).map(|(_, task)| task);
                let is_decided = task.is_some_and(|task| matches!(task.phase, Phase::Closing(_)));
                self.is_unfinished() && (is_decided || r.state == EndState::Cancelled)
            }
            Record::RunEnded(_) => self.is_unfinished() && self.unended() == 0,
            _ => false,
        }
    }

    /// Work of a run that ended can be taken, once for each head it came to.
    fn check_landed(&self, record: &RunLanded) -> Result<(), Misfit> {
        let run = self.over()?;
        if run.head.as_ref() != Some(&record.head) || run.head == run.base {
            return Err(Misfit::Unknown(record.head.to_string()));
        }
        match &run.taken {
            Some(taken) if taken.head == record.head && taken.branch == record.branch => {
                Err(Misfit::Run("landed before"))
            }
            _ => Ok(()),
        }
    }

    fn check_rejected(&self) -> Result<(), Misfit> {
        let run = self.over()?;
        match (&run.taken, &run.rejected) {
            (Some(taken), _) if run.head.as_ref() == Some(&taken.head) => {
                Err(Misfit::Run("landed"))
            }
            (_, Some(_)) => Err(Misfit::Run("rejected before")),
            _ => Ok(()),
        }
    }

    /// The run, when nothing of it is left to do.
    fn over(&self) -> Result<&Run, Misfit> {
        self.run
            .as_ref()
            .filter(|_| !self.is_unfinished())
            .ok_or(Misfit::Run("not finished"))
    }

    fn check_queued(&self, record: &TaskQueued) -> Result<(), Misfit> {
        let spec = &record.spec;
        if self.find(&spec.id).is_some() {
            return Err(Misfit::IdTaken);
        }
        let roles = self.run.as_ref().map(|run| &run.plan.roles);
        if roles.is_some_and(|roles| !roles.contains_key(&spec.role)) {
            return Err(Misfit::Unknown(spec.role.to_string()));
        }
        for need in &spec.needs {
            self.find(need)
                .ok_or_else(|| Misfit::Unknown(need.to_string()))?;
        }
        if let Some(review) = &record.review_of {
            let (_, reviewed) = self.find(&review.task).ok_or(Misfit::NoTask)?;
            wants(reviewed, matches!(reviewed.phase, Phase::WantsReview))?;
        }
        Ok(())
    }
}

fn check_task(task: &Task, record: &Record) -> Result<(), Misfit> {
    use Phase as P;
    if let Record::AttemptStarted(r) = record {
        same_attempt(AttemptNo(task.attempt_no().0 + 1), r.attempt)?;
        return wants(task, matches!(task.phase, P::Ready));
    }
    match record {
        Record::TaskEnded(r) => return wants(task, may_end(task, r)),
        Record::TaskRetried(_) => return wants(task, may_be_retried(task)),
        Record::TaskTold(_) => return wants(task, listens(task)),
        _ => {}
    }
    let attempt = task
        .attempt
        .as_ref()
        .ok_or(Misfit::Phase(phase_word(&task.phase)))?;
    if let Some(no) = attempt_of(record) {
        same_attempt(attempt.no, no)?;
    }
    let fits = match record {
        Record::AttemptResumed(_) => matches!(task.phase, P::Interrupted),
        Record::WorkspaceReady(_) => matches!(task.phase, P::Preparing),
        Record::AttemptFinished(_) => task.is_live(),
        Record::ModelFailed(_) => matches!(task.phase, P::Working | P::Interrupted),
        Record::ModelRequested(_)
        | Record::ModelResponded(_)
        | Record::ContextCompacted(_)
        | Record::ToolStarted(_)
        | Record::ToolFinished(_)
        | Record::WorkspaceSnapshotted(_)
        | Record::ReviewGiven(_) => matches!(task.phase, P::Working),
        Record::WorkCommitted(_) | Record::WorkUnchanged(_) => {
            matches!(task.phase, P::Committing)
        }
        Record::CheckFinished(r) => is_running_check(&task.phase, r),
        Record::LandingPrepared(_) | Record::LandingConflicted(_) => {
            matches!(task.phase, P::Landing)
        }
        Record::WorkLanded(_) => matches!(task.phase, P::Moving),
        Record::RunOpened(_)
        | Record::RunResumed(_)
        | Record::RunEnded(_)
        | Record::RunLanded(_)
        | Record::RunRejected(_)
        | Record::TaskQueued(_)
        | Record::TaskEnded(_)
        | Record::TaskRetried(_)
        | Record::TaskTold(_)
        | Record::AttemptStarted(_) => false,
    };
    wants(task, fits)?;
    let open = attempt.open_request.map(|open| open.step);
    match record {
        Record::ModelRequested(r) if open.is_some() => Err(Misfit::Request(r.step)),
        Record::ModelResponded(r) if open != Some(r.step) => Err(Misfit::Request(r.step)),
        Record::ModelFailed(r) if open != Some(r.step) => Err(Misfit::Request(r.step)),
        _ => Ok(()),
    }
}

fn is_running_check(phase: &Phase, record: &CheckFinished) -> bool {
    matches!(phase, Phase::Checking { stage, index }
        if *stage == record.stage && *index == record.index)
}

/// A decided end may be stated; a failure or a cancellation ends a task in any phase.
fn may_end(task: &Task, record: &TaskEnded) -> bool {
    match &task.phase {
        Phase::Ended(_) => false,
        Phase::Closing(closing) if closing.state == record.state => true,
        _ => matches!(record.state, EndState::Failed | EndState::Cancelled),
    }
}

/// Only what ended without success is tried again, and a review only with the work it is about.
fn may_be_retried(task: &Task) -> bool {
    task.review_of.is_none() && matches!(&task.phase, Phase::Ended(end) if !end.is_success())
}

/// Something can be said to a task until its agent is done.
pub(crate) fn listens(task: &Task) -> bool {
    matches!(
        task.phase,
        Phase::Waiting { .. }
            | Phase::Ready
            | Phase::Preparing
            | Phase::Working
            | Phase::Interrupted
    )
}

fn wants(task: &Task, fits: bool) -> Result<(), Misfit> {
    if fits {
        Ok(())
    } else {
        Err(Misfit::Phase(phase_word(&task.phase)))
    }
}

fn same_attempt(expected: AttemptNo, found: AttemptNo) -> Result<(), Misfit> {
    if expected == found {
        Ok(())
    } else {
        Err(Misfit::Attempt { expected, found })
    }
}

fn attempt_of(record: &Record) -> Option<AttemptNo> {
    match record {
        Record::AttemptResumed(r) => Some(r.attempt),
        Record::AttemptFinished(r) => Some(r.attempt),
        Record::WorkspaceReady(r) => Some(r.attempt),
        Record::WorkspaceSnapshotted(r) => Some(r.attempt),
        Record::ModelRequested(r) => Some(r.attempt),
        Record::ModelResponded(r) => Some(r.attempt),
        Record::ModelFailed(r) => Some(r.attempt),
        Record::ContextCompacted(r) => Some(r.attempt),
        Record::ToolStarted(r) => Some(r.attempt),
        Record::ToolFinished(r) => Some(r.attempt),
        Record::ReviewGiven(r) => Some(r.attempt),
        Record::WorkCommitted(r) => Some(r.attempt),
        Record::WorkUnchanged(r) => Some(r.attempt),
        Record::CheckFinished(r) => Some(r.attempt),
        Record::LandingPrepared(r) => Some(r.attempt),
        Record::LandingConflicted(r) => Some(r.attempt),
        Record::WorkLanded(r) => Some(r.attempt),
        Record::RunOpened(_)
        | Record::RunResumed(_)
        | Record::RunEnded(_)
        | Record::RunLanded(_)
        | Record::RunRejected(_)
        | Record::TaskQueued(_)
        | Record::TaskEnded(_)
        | Record::TaskRetried(_)
        | Record::TaskTold(_)
        | Record::AttemptStarted(_) => None,
    }
}

/// One word for a phase, for messages.
pub(crate) fn phase_word(phase: &Phase) -> &'static str {
    match phase {
        Phase::Waiting { .. } => "waiting",
        Phase::Ready => "ready",
        Phase::Preparing => "preparing",
        Phase::Working => "working",
        Phase::Interrupted => "interrupted",
        Phase::Committing => "committing",
        Phase::Checking { .. } => "checking",
        Phase::WantsReview | Phase::InReview { .. } => "in review",
        Phase::Landing | Phase::Moving => "landing",
        Phase::Closing(_) => "closing",
        Phase::Ended(_) => "ended",
    }
}
