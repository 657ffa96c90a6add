//! Admission of one model request against every cap it stands under. Never sends it.

use super::{Decision, Reply};
use crate::budget::{Fit, input_bound};
use crate::record::{ModelRequested, Record};
use crate::state::FleetState;
use engine_core::content::Content;
use engine_core::ids::{AgentId, StepNo, Tokens};
use engine_core::request::Purpose;

/// A model request that wants to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Whose.
    pub agent: AgentId,
    /// Which request of the attempt.
    pub step: StepNo,
    /// What it is for.
    pub purpose: Purpose,
    /// SHA-256 over its body without the output limit, 64 hex digits.
    pub hash: String,
    /// Size of its body in bytes.
    pub bytes: u64,
    /// What the agent was told since its request before.
    pub told: Vec<Content>,
    /// Most output tokens it would like to allow.
    pub max_output: Tokens,
}

pub(super) fn admit(state: &FleetState, ask: Ask) -> Decision {
    let mut record = ModelRequested {
        task: ask.agent.task,
        attempt: ask.agent.attempt,
        step: ask.step,
        purpose: ask.purpose,
        hash: ask.hash,
        bytes: ask.bytes,
        told: ask.told,
        max_output: ask.max_output,
        reserved: Tokens(0),
    };
    if let Err(misfit) = state.check(&Record::from(record.clone())) {
        return Decision::reply(Reply::Late(misfit));
    }
    let Some((_, task)) = state.find(&record.task) else {
        return Decision::reply(Reply::Late(crate::state::Misfit::NoTask));
    };
    let observed = task.attempt.as_ref().and_then(|attempt| attempt.observed);
    let input = input_bound(record.bytes, observed);
    let of_run = state.account().fit(input, record.max_output);
    let of_task = task.account.fit(input, record.max_output);
    match of_run.and(of_task) {
        Fit::Yes(max_output) => {
            record.max_output = max_output;
            record.reserved = input.plus(max_output);
            Decision {
                records: vec![Record::from(record)],
                reply: Reply::Granted { max_output },
            }
        }
        Fit::Later => Decision::reply(Reply::Wait),
        Fit::No => {
            let (whose, account) = if of_run == Fit::No {
                ("the run", state.account())
            } else {
                ("the task", &task.account)
            };
            let cap = account.cap.unwrap_or_default();
            Decision::reply(Reply::Refused {
                message: format!(
                    "the next request needs up to {} tokens, and {} of the {cap} tokens of {whose} are used",
                    input.plus(record.max_output.min(crate::budget::MIN_OUTPUT)),
                    account.spent.total(),
                ),
            })
        }
    }
}
