//! What the fleet records of its own accord: ends that are decided, reviews that are wanted, attempts
//! that may start, and the end of the run. Never waits for anything.

use crate::record::{
    AttemptResumed, AttemptStarted, EndState, Record, ReviewOf, RunEnded, RunOutcome, TaskEnded,
    TaskQueued,
};
use crate::spec::{Budget, TaskSpec};
use crate::state::{FleetState, Phase, RunStatus, Task, TaskIx};
use engine_core::ids::{AttemptNo, TASK_ID_MAX_BYTES, TaskId};

/// Most records of its own accord in one line.
const BATCH_MAX: usize = 256;

impl FleetState {
    /// The next records of the fleet's own accord, as one line; `None` when there is nothing to state.
    /// Apply them and ask again.
    #[must_use]
    pub fn advance(&self) -> Option<Vec<Record>> {
        let run = self.run()?;
        if run.status != RunStatus::Open || self.ordered() < run.task_count {
            return None;
        }
        if !self.attention.is_empty() {
            return Some(self.attend());
        }
        let starts = self.start();
        if !starts.is_empty() {
            return Some(starts);
        }
        self.end().map(|ended| vec![Record::from(ended)])
    }

    /// What is stated while nobody manages the run: ends that follow from what a person asked for, and
    /// the end of the run once nothing is left of it. Apply them and ask again.
    #[must_use]
    pub fn conclude(&self) -> Option<Vec<Record>> {
        let run = self.run()?;
        if !self.is_unfinished() || self.ordered() < run.task_count {
            return None;
        }
        let mut ends = self.attend();
        ends.retain(|record| matches!(record, Record::TaskEnded(_)));
        if !ends.is_empty() {
            return Some(ends);
        }
        let ended = (self.unended() == 0).then(|| self.end()).flatten();
        ended.map(|ended| vec![Record::from(ended)])
    }

    /// Ends and reviews that are owed.
    fn attend(&self) -> Vec<Record> {
        let mut taken: Vec<TaskId> = Vec::new();
        self.attention
            .iter()
            .take(BATCH_MAX)
            .filter_map(|ix| {
                let task = self.task(*ix);
                match &task.phase {
                    Phase::Closing(closing) => Some(Record::from(TaskEnded {
                        task: task.spec.id.clone(),
                        state: closing.state,
                        reason: closing.reason.clone(),
                        blocked_by: closing.blocked_by.clone(),
                    })),
                    Phase::WantsReview => {
                        let queued = self.review_of(task, &taken)?;
                        taken.push(queued.spec.id.clone());
                        Some(Record::from(Box::new(queued)))
                    }
                    _ => None,
                }
            })
            .collect()
    }

    fn review_of(&self, task: &Task, taken: &[TaskId]) -> Option<TaskQueued> {
        let attempt = task.attempt.as_ref()?;
        let (commit, _) = attempt.commit.clone()?;
        let base = attempt.base.clone()?;
        let id = review_id(&task.spec.id, attempt.no, |id| {
            self.find(id).is_some() || taken.contains(id)
        });
        Some(TaskQueued {
            spec: TaskSpec {
                id,
                role: task.spec.review.clone()?,
                prompt: format!(
                    "Review the work on task `{}`. What was asked:\n\n{}",
                    task.spec.id,
                    task.asked()
                ),
                needs: Vec::new(),
                check: Vec::new(),
                review: None,
                budget: Budget::default(),
                timeout_secs: task.spec.timeout_secs,
            },
            review_of: Some(ReviewOf {
                task: task.spec.id.clone(),
                attempt: attempt.no,
                commit,
                base,
            }),
        })
    }

    /// Attempts for which a slot is free.
    fn start(&self) -> Vec<Record> {
        let Some(run) = self.run() else {
            return Vec::new();
        };
        let cap = |role: &_| {
            let role = run.plan.roles.get(role)?;
            let is_down = run.providers_down.contains_key(&role.model.provider);
            if is_down { Some(0) } else { role.agents }
        };
        let slots = run.plan.limits.agents;
        self.ready
            .startable(slots, cap)
            .into_iter()
            .take(BATCH_MAX)
            .map(|ix| self.start_of(ix))
            .collect()
    }

    fn start_of(&self, ix: TaskIx) -> Record {
        let task = self.task(ix);
        if task.phase == Phase::Interrupted {
            return Record::from(AttemptResumed {
                task: task.spec.id.clone(),
                attempt: task.attempt_no(),
            });
        }
        let head = match &task.review_of {
            Some(review) => Some(review.commit.clone()),
            None => self.integration_head().cloned(),
        };
        let (base, start) = match &task.next_from {
            Some((base, start)) => (Some(base.clone()), Some(start.clone())),
            None => (head.clone(), head),
        };
        Record::from(AttemptStarted {
            task: task.spec.id.clone(),
            attempt: AttemptNo(task.attempt_no().0 + 1),
            base,
            start,
        })
    }

    /// The end of the run, once nothing is left or nothing can go on.
    fn end(&self) -> Option<RunEnded> {
        let run = self.run()?;
        if self.unended() == 0 {
            return Some(self.end_of_all());
        }
        // Nothing could be started, so what is left waits for a provider, or for what does.
        let down = run.providers_down.values().next()?.clone();
        let idle = self.live() == 0 && self.active.is_empty();
        idle.then(|| RunEnded {
            outcome: RunOutcome::Provider,
            exit: exit_of(RunOutcome::Provider),
            reason: Some(down),
        })
    }

    /// The end of a run whose tasks have all ended.
    pub(super) fn end_of_all(&self) -> RunEnded {
        let (outcome, reason) = self.outcome();
        RunEnded {
            outcome,
            exit: exit_of(outcome),
            reason,
        }
    }

    /// The exit code of a run that is stopped by its own limit: 3 when an ordered task succeeded, else 1.
    #[must_use]
    pub fn exit_at_limit(&self) -> u8 {
        let succeeded = |task: &Task| task.review_of.is_none() && task.succeeded();
        let any = self.tasks().any(|(_, task)| succeeded(task));
        exit_of(if any {
            RunOutcome::Partial
        } else {
            RunOutcome::Failed
        })
    }

    /// What the ends of the ordered tasks add up to. Reviews do not count by themselves.
    fn outcome(&self) -> (RunOutcome, Option<String>) {
        let ends: Vec<EndState> = self
            .tasks()
            .filter(|(_, task)| task.review_of.is_none())
            .filter_map(|(_, task)| match task.phase {
                Phase::Ended(end) => Some(end),
                _ => None,
            })
            .collect();
        let succeeded = ends.iter().filter(|end| end.is_success()).count();
        let reason = format!("{succeeded} of {} tasks succeeded", ends.len());
        if ends.contains(&EndState::Budget) {
            (RunOutcome::Budget, Some(reason))
        } else if succeeded == ends.len() {
            (RunOutcome::Done, None)
        } else if succeeded > 0 {
            (RunOutcome::Partial, Some(reason))
        } else {
            (RunOutcome::Failed, Some(reason))
        }
    }
}

/// The exit code that goes with an outcome. A stopped run has the code of what stopped it instead.
#[must_use]
pub fn exit_of(outcome: RunOutcome) -> u8 {
    match outcome {
        RunOutcome::Done => 0,
        RunOutcome::Failed => 1,
        RunOutcome::Partial => 3,
        RunOutcome::Budget => 4,
        RunOutcome::Provider => 6,
        RunOutcome::Stopped => 130,
    }
}

/// `<task>-review-<attempt>`, shortened to fit and made different from what exists.
fn review_id(task: &TaskId, attempt: AttemptNo, taken: impl Fn(&TaskId) -> bool) -> TaskId {
    let mut tail = format!("-review-{attempt}");
    let mut next = 2;
    loop {
        let room = TASK_ID_MAX_BYTES - tail.len();
        let head = &task.as_str()[..task.as_str().len().min(room)];
        let id = TaskId::try_from(format!("{head}{tail}"))
            .expect("a task id with a shorter end of the same letters is a task id");
        if !taken(&id) {
            return id;
        }
        tail = format!("-review-{attempt}-{next}");
        next += 1;
    }
}
