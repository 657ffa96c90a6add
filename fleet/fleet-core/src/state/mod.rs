//! The fold: what the ledger says is the case. The only way it changes is [`FleetState::apply`], live
//! and at replay alike; a record that does not fit is refused. Never decides and never acts.

mod agent;
mod attempt;
mod legal;
mod queue;
mod returned;
mod run;
mod task;
mod wish;

pub(crate) use legal::listens;
pub use legal::{IllegalRecord, Misfit};
pub use run::{Run, RunStatus, Taken};
pub use task::{
    Attempt, ChangeSize, Closing, Finding, FindingSource, Landing, OpenRequest, Phase, Task, TaskIx,
};

use crate::budget::Account;
use crate::ids::CommitId;
use crate::record::{EndState, Record, TaskEnded, TaskQueued};
use crate::time::Stamp;
use engine_core::ids::TaskId;
use engine_core::record::Verdict;
use engine_core::tool::Access;
pub(crate) use queue::{ReadyQueue, Urgency};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Everything the ledger says of one run.
#[derive(Debug, Clone, Default)]
pub struct FleetState {
    pub(crate) run: Option<Run>,
    pub(crate) tasks: Vec<Task>,
    by_id: BTreeMap<TaskId, TaskIx>,
    pub(crate) ready: ReadyQueue,
    /// Tasks whose work waits to land; only the first is merged.
    pub(crate) landing: VecDeque<TaskIx>,
    /// Tasks to which the fleet owes a record: a review to queue, an end to state.
    pub(crate) attention: BTreeSet<TaskIx>,
    /// Tasks to which an effect is owed.
    pub(crate) active: BTreeSet<TaskIx>,
    unended: usize,
    ordered: u32,
    account: Account,
    last: Stamp,
}

impl FleetState {
    /// A run of which nothing is recorded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The run, once it was opened.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Every task, in the order queued.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = (TaskIx, &Task)> {
        self.tasks
            .iter()
            .enumerate()
            .map(|(at, task)| (TaskIx(u32::try_from(at).unwrap_or(u32::MAX)), task))
    }

    /// The task at a position.
    #[must_use]
    pub fn task(&self, ix: TaskIx) -> &Task {
        &self.tasks[ix.at()]
    }

    /// The task of this id.
    #[must_use]
    pub fn find(&self, id: &TaskId) -> Option<(TaskIx, &Task)> {
        self.by_id.get(id).map(|ix| (*ix, self.task(*ix)))
    }

    /// The run's tokens.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Where the newest entry stands.
    #[must_use]
    pub fn last(&self) -> Stamp {
        self.last
    }

    /// Agents that occupy a slot now.
    #[must_use]
    pub fn live(&self) -> u32 {
        self.ready.live()
    }

    /// Tasks that are not over, reviews included.
    #[must_use]
    pub fn unended(&self) -> usize {
        self.unended
    }

    /// How many of the ordered tasks are queued so far.
    #[must_use]
    pub fn ordered(&self) -> u32 {
        self.ordered
    }

    /// Head of what has landed, or the run's base.
    #[must_use]
    pub fn integration_head(&self) -> Option<&CommitId> {
        self.run.as_ref().and_then(|run| run.head.as_ref())
    }

    /// Folds one record in.
    ///
    /// # Errors
    /// When the record does not fit what is the case; the state is unchanged then.
    pub fn apply(&mut self, stamp: Stamp, record: &Record) -> Result<(), IllegalRecord> {
        self.check(record).map_err(|misfit| IllegalRecord {
            seq: stamp.seq,
            kind: record.kind(),
            task: record.task().cloned(),
            misfit,
        })?;
        self.last = stamp;
        match record {
            Record::RunOpened(r) => self.on_opened(stamp, r),
            Record::RunResumed(_) => self.on_resumed(stamp),
            Record::RunEnded(r) => self.on_run_ended(stamp, r),
            Record::RunLanded(r) => self.on_run_landed(r),
            Record::RunRejected(r) => self.on_run_rejected(r),
            Record::TaskQueued(r) => self.on_queued(r),
            Record::TaskEnded(r) => self.on_task_ended(stamp, r),
            Record::TaskRetried(r) => self.on_retried(r),
            Record::TaskTold(r) => self.on_told(r),
            other => self.apply_to_attempt(stamp, other),
        }
        Ok(())
    }

    fn on_queued(&mut self, record: &TaskQueued) {
        let ix = TaskIx(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX));
        let spec = &record.spec;
        for need in &spec.needs {
            let needed = self.by_id[need];
            self.tasks[needed.at()].dependents.push(ix);
        }
        let access = self
            .run
            .as_ref()
            .and_then(|run| run.plan.roles.get(&spec.role))
            .map_or(Access::Read, |role| role.access);
        self.by_id.insert(spec.id.clone(), ix);
        self.tasks.push(Task {
            spec: spec.clone(),
            access,
            review_of: record.review_of.clone(),
            phase: Phase::Waiting { unmet: 0 },
            attempt: None,
            told: Vec::new(),
            attempts_before: 0,
            findings: Vec::new(),
            next_from: None,
            result: None,
            account: Account {
                cap: spec.budget.tokens,
                ..Account::default()
            },
            dependents: Vec::new(),
            started_at: None,
            ended_at: None,
            reason: None,
            blocked_by: None,
        });
        self.unended += 1;
        if let Some(review) = &record.review_of {
            let reviewed = self.by_id[&review.task];
            self.set_phase(reviewed, Phase::InReview { review: ix });
        } else {
            self.ordered += 1;
        }
        let urgency = match record.review_of {
            Some(_) => Urgency::Review,
            None => Urgency::First,
        };
        self.await_needs(ix, urgency);
    }

    /// A task waits for what it needs, or for a slot, or is in vain.
    fn await_needs(&mut self, ix: TaskIx, urgency: Urgency) {
        let mut unmet = 0;
        let mut blocked = None;
        for need in &self.tasks[ix.at()].spec.needs {
            let needed = self.by_id[need];
            match &self.tasks[needed.at()].phase {
                Phase::Ended(end) if end.is_success() => {}
                Phase::Ended(_) => blocked = Some(self.blocker(needed)),
                _ => unmet += 1,
            }
        }
        if let Some(blocker) = blocked {
            self.close(ix, EndState::Skipped, None, Some(blocker));
        } else if unmet == 0 {
            self.make_ready(ix, urgency);
        } else {
            self.set_phase(ix, Phase::Waiting { unmet });
        }
    }

    fn on_task_ended(&mut self, stamp: Stamp, record: &TaskEnded) {
        let ix = self.by_id[&record.task];
        let role = self.tasks[ix.at()].spec.role.clone();
        // Ended while a request was under way: it may have been paid.
        self.settle_request(ix, None);
        if self.tasks[ix.at()].is_live() {
            self.ready.free(&role);
        }
        self.ready.remove(&role, ix);
        self.landing.retain(|waiting| *waiting != ix);
        self.set_phase(ix, Phase::Ended(record.state));
        self.unended -= 1;
        let task = &mut self.tasks[ix.at()];
        task.ended_at = Some(stamp.at);
        task.reason.clone_from(&record.reason);
        task.blocked_by.clone_from(&record.blocked_by);
        for dependent in task.dependents.clone() {
            self.on_need_ended(dependent, ix, record.state);
        }
        if let Some(review) = self.tasks[ix.at()].review_of.clone() {
            self.on_review_ended(&review.task, ix, record.state);
        }
    }

    fn on_need_ended(&mut self, dependent: TaskIx, needed: TaskIx, end: EndState) {
        let Phase::Waiting { unmet } = self.tasks[dependent.at()].phase else {
            return;
        };
        if !end.is_success() {
            let blocker = self.blocker(needed);
            self.close(dependent, EndState::Skipped, None, Some(blocker));
        } else if unmet == 1 {
            self.make_ready(dependent, Urgency::First);
        } else {
            self.set_phase(dependent, Phase::Waiting { unmet: unmet - 1 });
        }
    }

    fn on_review_ended(&mut self, reviewed: &TaskId, review: TaskIx, end: EndState) {
        let ix = self.by_id[reviewed];
        if self.tasks[ix.at()].phase != (Phase::InReview { review }) {
            return;
        }
        let reviewer = &self.tasks[review.at()];
        let verdict = reviewer.attempt.as_ref().and_then(|a| a.verdict.clone());
        match (end, verdict) {
            (EndState::Settled, Some((Verdict::Approve, _))) => self.after_approval(ix),
            (EndState::Settled, Some((Verdict::Reject, findings))) => {
                self.fail_attempt(
                    ix,
                    FindingSource::Review,
                    findings,
                    "the reviewer rejected it",
                );
            }
            (EndState::Budget | EndState::Cancelled, _) => {
                let reason = format!("its review `{}` ended as {}", reviewer.spec.id, end.word());
                self.close(ix, end, Some(reason), None);
            }
            _ => {
                let reason = format!("its review `{}` gave no verdict", reviewer.spec.id);
                self.close(ix, EndState::Failed, Some(reason), None);
            }
        }
    }

    /// The task at the root of why this one did not succeed.
    fn blocker(&self, ix: TaskIx) -> TaskId {
        let task = &self.tasks[ix.at()];
        task.blocked_by
            .clone()
            .unwrap_or_else(|| task.spec.id.clone())
    }

    pub(crate) fn close(
        &mut self,
        ix: TaskIx,
        state: EndState,
        reason: Option<String>,
        blocked_by: Option<TaskId>,
    ) {
        self.set_phase(
            ix,
            Phase::Closing(Closing {
                state,
                reason,
                blocked_by,
            }),
        );
    }

    pub(crate) fn make_ready(&mut self, ix: TaskIx, urgency: Urgency) {
        let phase = if urgency == Urgency::Resume {
            Phase::Interrupted
        } else {
            Phase::Ready
        };
        self.set_phase(ix, phase);
        let role = self.tasks[ix.at()].spec.role.clone();
        self.ready.push(&role, urgency, ix);
    }

    pub(crate) fn enter_landing(&mut self, ix: TaskIx) {
        self.landing.push_back(ix);
        self.set_phase(ix, Phase::Landing);
    }

    /// Moves a task to a phase and keeps the sets of what is owed in step with it.
    pub(crate) fn set_phase(&mut self, ix: TaskIx, phase: Phase) {
        let owes_record = matches!(phase, Phase::WantsReview | Phase::Closing(_));
        let owes_effect = matches!(
            phase,
            Phase::Preparing
                | Phase::Working
                | Phase::Committing
                | Phase::Checking { .. }
                | Phase::Landing
                | Phase::Moving
        );
        self.tasks[ix.at()].phase = phase;
        keep(&mut self.attention, ix, owes_record);
        keep(&mut self.active, ix, owes_effect);
    }
}

fn keep(set: &mut BTreeSet<TaskIx>, ix: TaskIx, wanted: bool) {
    if wanted {
        set.insert(ix);
    } else {
        set.remove(&ix);
    }
}

#[cfg(test)]
mod tests;
