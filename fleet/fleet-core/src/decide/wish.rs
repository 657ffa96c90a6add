//! What a person asks of a run that has begun: records for what can be done, a reason for what cannot.
//! The same whether a manager is at work on the run or not.

use crate::record::{EndState, Record, TaskEnded};
use crate::state::{FleetState, Phase, Task};
use crate::view::{Manager, state_word};
use engine_core::ids::TaskId;

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
    /// Its work is being put on the integration branch at this moment.
    #[error("the work of `{0}` is landing at this moment")]
    Landing(TaskId),
    /// Nothing is left to be cancelled.
    #[error("every task of the run is over")]
    NothingLeft,
    /// The run came to its end at this moment: said by a manager that is about to let go of it.
    #[error("the run has just ended")]
    RunEnded,
}

/// What to record so that a wish comes true.
pub(super) fn grant(state: &FleetState, wish: Wish) -> Result<Vec<Record>, Decline> {
    match wish {
        Wish::Cancel { task } => {
            let (_, found) = state.find(&task).ok_or(Decline::NoTask(task))?;
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
        Wish::CancelAll => {
            let records: Vec<Record> = state
                .tasks()
                .map(|(_, task)| task)
                .filter(|task| may_cancel(task).is_ok())
                .map(cancelled)
                .collect();
            if records.is_empty() {
                return Err(Decline::NothingLeft);
            }
            Ok(records)
        }
    }
}

/// A decided end stays as it was decided, and a branch that is being moved cannot be called back.
fn may_cancel(task: &Task) -> Result<(), Decline> {
    let id = task.spec.id.clone();
    match &task.phase {
        Phase::Ended(_) | Phase::Closing(_) => Err(Decline::Ended {
            task: id,
            state: state_word(task, Manager::Gone),
        }),
        Phase::Moving => Err(Decline::Landing(id)),
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
