//! What a person asks of a run that has begun: records for what can be done, a reason for what cannot.
//! The same whether a manager is at work on the run or not.

use crate::record::{EndState, Record, TaskEnded, TaskRetried, TaskTold};
use crate::state::{FleetState, Phase, Task, TaskIx, listens};
use crate::view::{Manager, state_word};
use engine_core::content::INLINE_MAX_BYTES;
use engine_core::ids::TaskId;
use std::collections::BTreeSet;

/// Longest text that a person says at once, in bytes. It stands in the ledger's line itself.
pub const TEXT_MAX_BYTES: usize = INLINE_MAX_BYTES;

/// What a person asks of a run that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// End a task for good.
    Cancel {
        /// Which.
        task: TaskId,
    },
    /// End everything for good that is not over.
    CancelAll,
    /// Try a task again that ended without success, and what it needs where that is why.
    Retry {
        /// Which.
        task: TaskId,
        /// What the person adds to what was asked for.
        instructions: Option<String>,
    },
    /// Try everything again that failed, was in conflict, or ran into a cap.
    RetryFailed,
    /// Say something to whoever works on a task.
    Tell {
        /// Which.
        task: TaskId,
        /// What.
        text: String,
    },
}

/// Why a wish is not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Decline {
    /// No such task.
    #[error("no task is called `{0}`")]
    NoTask(TaskId),
    /// The task is over.
    #[error("the task `{task}` has ended as {state}")]
    Ended {
        /// Which.
        task: TaskId,
        /// How.
        state: &'static str,
    },
    /// The task is not over.
    #[error("the task `{task}` has not ended: it is {state}")]
    NotEnded {
        /// Which.
        task: TaskId,
        /// How it stands.
        state: &'static str,
    },
    /// Its agent is done, and its work is being judged.
    #[error("the agent of `{0}` is done, and its work is being judged")]
    Judged(TaskId),
    /// Its work is being put on the integration branch at this moment.
    #[error("the work of `{0}` is landing at this moment")]
    Landing(TaskId),
    /// The task is a review.
    #[error("`{task}` is the review of `{of}`: retry that")]
    Review {
        /// Which.
        task: TaskId,
        /// Of which task.
        of: TaskId,
    },
    /// Nothing is left to be cancelled.
    #[error("every task of the run is over")]
    NothingLeft,
    /// Nothing is there to be tried again.
    #[error("no task of the run failed")]
    NothingFailed,
    /// A text that says nothing.
    #[error("the text is empty")]
    Blank,
    /// A text that is too long.
    #[error("the text has {0} bytes, and {TEXT_MAX_BYTES} are allowed: name a file that holds it")]
    TooLong(usize),
    /// The run came to its end at this moment: said by a manager that is about to let go of it.
    #[error("the run has just ended")]
    RunEnded,
}

/// What to record so that a wish comes true.
pub(super) fn grant(state: &FleetState, wish: Wish) -> Result<Vec<Record>, Decline> {
    match wish {
        Wish::Cancel { task } => cancel(state, &task),
        Wish::CancelAll => {
            let tasks = state.tasks().map(|(_, task)| task);
            let left = tasks.filter(|task| may_cancel(task).is_ok());
            some(left.map(cancelled).collect(), Decline::NothingLeft)
        }
        Wish::Retry { task, instructions } => retry(state, task, instructions),
        Wish::RetryFailed => {
            let tasks = state.tasks().map(|(_, task)| task);
            let failed = tasks.filter(|task| task.review_of.is_none() && failed(task));
            some(
                failed.map(|task| retried(task, None)).collect(),
                Decline::NothingFailed,
            )
        }
        Wish::Tell { task, text } => {
            says_something(&text)?;
            let (_, found) = find(state, &task)?;
            may_tell(found)?;
            Ok(vec![Record::from(TaskTold { task, text })])
        }
    }
}

fn some(records: Vec<Record>, none: Decline) -> Result<Vec<Record>, Decline> {
    if records.is_empty() {
        Err(none)
    } else {
        Ok(records)
    }
}

fn find<'a>(state: &'a FleetState, task: &TaskId) -> Result<(TaskIx, &'a Task), Decline> {
    state
        .find(task)
        .ok_or_else(|| Decline::NoTask(task.clone()))
}

fn says_something(text: &str) -> Result<(), Decline> {
    if text.trim().is_empty() {
        Err(Decline::Blank)
    } else if text.len() > TEXT_MAX_BYTES {
        Err(Decline::TooLong(text.len()))
    } else {
        Ok(())
    }
}

fn ended(task: &Task) -> Decline {
    Decline::Ended {
        task: task.spec.id.clone(),
        state: state_word(task, Manager::Gone),
    }
}

fn cancel(state: &FleetState, task: &TaskId) -> Result<Vec<Record>, Decline> {
    let (_, found) = find(state, task)?;
    may_cancel(found)?;
    let review = match found.phase {
        Phase::InReview { review } => Some(state.task(review)),
        _ => None,
    };
    Ok(std::iter::once(found)
        .chain(review)
        .map(cancelled)
        .collect())
}

/// A decided end stays as it was decided, and a branch that is being moved cannot be called back.
fn may_cancel(task: &Task) -> Result<(), Decline> {
    match &task.phase {
        Phase::Ended(_) | Phase::Closing(_) => Err(ended(task)),
        Phase::Moving => Err(Decline::Landing(task.spec.id.clone())),
        _ => Ok(()),
    }
}

fn cancelled(task: &Task) -> Record {
    Record::from(TaskEnded {
        task: task.spec.id.clone(),
        state: EndState::Cancelled,
        reason: None,
        blocked_by: None,
    })
}

/// The task, and of what it needs all that ended without success: what was only skipped comes back with
/// that.
fn retry(
    state: &FleetState,
    task: TaskId,
    instructions: Option<String>,
) -> Result<Vec<Record>, Decline> {
    instructions.as_deref().map_or(Ok(()), says_something)?;
    let (ix, found) = find(state, &task)?;
    if let Some(of) = &found.review_of {
        let of = of.task.clone();
        return Err(Decline::Review { task, of });
    }
    match &found.phase {
        Phase::Ended(end) if end.is_success() => return Err(ended(found)),
        Phase::Ended(_) => {}
        _ => {
            let state = state_word(found, Manager::Alive);
            return Err(Decline::NotEnded { task, state });
        }
    }
    let mut records = vec![retried(found, instructions)];
    for needed in needed_by(state, ix) {
        let needed = state.task(needed);
        let skipped = matches!(needed.phase, Phase::Ended(EndState::Skipped));
        if needed.is_ended() && !needed.succeeded() && !skipped {
            records.push(retried(needed, None));
        }
    }
    Ok(records)
}

/// Everything that a task needs, directly or not.
fn needed_by(state: &FleetState, ix: TaskIx) -> BTreeSet<TaskIx> {
    let mut found = BTreeSet::new();
    let mut next = vec![ix];
    while let Some(task) = next.pop() {
        for need in &state.task(task).spec.needs {
            if let Some((needed, _)) = state.find(need)
                && found.insert(needed)
            {
                next.push(needed);
            }
        }
    }
    found
}

fn failed(task: &Task) -> bool {
    matches!(
        task.phase,
        Phase::Ended(EndState::Failed | EndState::Conflict | EndState::Budget)
    )
}

fn retried(task: &Task, instructions: Option<String>) -> Record {
    Record::from(TaskRetried {
        task: task.spec.id.clone(),
        instructions,
    })
}

/// Until its agent is done: what nobody hears is not taken.
fn may_tell(task: &Task) -> Result<(), Decline> {
    match &task.phase {
        Phase::Ended(_) | Phase::Closing(_) => Err(ended(task)),
        _ if listens(task) => Ok(()),
        _ => Err(Decline::Judged(task.spec.id.clone())),
    }
}
