//! The future: what to record for an input, and what to record next of the fleet's own accord. Pure:
//! reads a state, returns records; never changes the state and never acts.

mod admit;
mod advance;
mod large;
mod wish;

use crate::record::{
    AttemptEnd, AttemptFinished, EndState, ModelFailed, Record, RunEnded, RunOpened, RunOutcome,
    RunResumed, TaskEnded, TaskQueued,
};
use crate::spec::TaskSpec;
use crate::state::{FleetState, Misfit};
pub use admit::Ask;
pub use advance::exit_of;
use engine_core::ids::{AgentId, TaskId, Tokens};
use engine_core::record::{AgentRecord, Billed};
pub use wish::{Decline, TEXT_MAX_BYTES, Wish};

/// What reaches the manager.
#[derive(Debug, Clone)]
pub enum Input {
    /// The first input of a new run.
    Open(Box<RunOpened>),
    /// Ordered tasks, each after what it needs. May come in several parts.
    Queue(Vec<TaskSpec>),
    /// The first input of a manager that takes a run over.
    Resume {
        /// Its version.
        version: String,
        /// Its process id.
        pid: u32,
    },
    /// An agent wants to ask its model.
    Admit(Ask),
    /// An agent states what happened; all of it or none is recorded.
    Report(Vec<AgentRecord>),
    /// An agent is done.
    AttemptEnded {
        /// Whose.
        agent: AgentId,
        /// How.
        end: AttemptEnd,
    },
    /// An effect has an outcome.
    Outcome(Record),
    /// An effect could not be performed, and repeating it would not help.
    EffectFailed {
        /// For which task.
        task: TaskId,
        /// What went wrong.
        message: String,
    },
    /// A person asks something of the run.
    Wish(Wish),
    /// Nothing is under way any more, and the run is to stop so that it can be resumed.
    Stop {
        /// Why.
        reason: String,
        /// Exit code of the manager.
        exit: u8,
    },
}

/// What an input leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// To be recorded as one line; empty: nothing is recorded.
    pub records: Vec<Record>,
    /// For whoever asked.
    pub reply: Reply,
}

/// An answer to whoever sent an input. Valid once the records are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Recorded.
    Accepted,
    /// The request may be sent.
    Granted {
        /// With this output limit.
        max_output: Tokens,
    },
    /// Ask again when something was settled.
    Wait,
    /// A cap is reached.
    Refused {
        /// Which.
        message: String,
    },
    /// It came too late or does not fit; nothing is recorded.
    Late(Misfit),
    /// What a person asked for cannot be done; nothing is recorded.
    Declined(Decline),
}

impl Decision {
    fn record(records: Vec<Record>) -> Self {
        Self {
            records,
            reply: Reply::Accepted,
        }
    }

    fn reply(reply: Reply) -> Self {
        Self {
            records: Vec::new(),
            reply,
        }
    }
}

/// What to record for an input.
#[must_use]
pub fn decide(state: &FleetState, input: Input) -> Decision {
    let records = match input {
        Input::Open(opened) => vec![Record::RunOpened(opened)],
        Input::Queue(specs) => specs
            .into_iter()
            .map(|spec| {
                Record::from(Box::new(TaskQueued {
                    spec,
                    review_of: None,
                }))
            })
            .collect(),
        Input::Resume { version, pid } => resume(state, RunResumed { version, pid }),
        Input::Admit(ask) => return admit::admit(state, ask),
        Input::Wish(wish) => match wish::grant(state, wish) {
            Ok(records) => records,
            Err(decline) => return Decision::reply(Reply::Declined(decline)),
        },
        Input::Report(records) => records.into_iter().map(Record::from).collect(),
        Input::AttemptEnded { agent, end } => vec![Record::from(AttemptFinished {
            task: agent.task,
            attempt: agent.attempt,
            end,
        })],
        Input::Outcome(record) => vec![record],
        Input::EffectFailed { task, message } => vec![Record::from(TaskEnded {
            task,
            state: EndState::Failed,
            reason: Some(message),
            blocked_by: None,
        })],
        Input::Stop { reason, exit } => vec![Record::from(stop(state, reason, exit))],
    };
    // A part of a plan refers to tasks of the same part, so only the fold can judge it.
    let refers_to_itself = matches!(
        records.first(),
        Some(Record::TaskQueued(_) | Record::RunResumed(_))
    );
    if !refers_to_itself && let Some(misfit) = records.iter().find_map(|r| state.check(r).err()) {
        return Decision::reply(Reply::Late(misfit));
    }
    Decision::record(records)
}

/// A stop that finds nothing left to stop is the end of the run: there would be nothing to resume.
fn stop(state: &FleetState, reason: String, exit: u8) -> RunEnded {
    let all_ordered = state
        .run()
        .is_some_and(|run| state.ordered() == run.task_count);
    if all_ordered && state.unended() == 0 {
        return state.end_of_all();
    }
    RunEnded {
        outcome: RunOutcome::Stopped,
        exit,
        reason: Some(reason),
    }
}

/// A new manager states itself, and that requests without an answer are lost: they may have been paid.
fn resume(state: &FleetState, resumed: RunResumed) -> Vec<Record> {
    let mut records = vec![Record::from(resumed)];
    for (_, task) in state.tasks() {
        let Some(attempt) = &task.attempt else {
            continue;
        };
        if let Some(open) = attempt.open_request {
            records.push(Record::from(ModelFailed {
                task: task.spec.id.clone(),
                attempt: attempt.no,
                step: open.step,
                kind: "lost".to_owned(),
                message: "the manager ended before an answer was recorded".to_owned(),
                billed: Billed::Reservation,
            }));
        }
    }
    records
}

#[cfg(test)]
mod tests;
