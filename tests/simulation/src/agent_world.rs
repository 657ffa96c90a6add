//! Where agents of the simulation meet the world: models that are asked, calls that run, snapshots.
//! Never decides what an agent does next.

use crate::agent::Agent;
use crate::manager::Sim;
use crate::model::{Question, effect_of, summary, tokens_of};
use crate::world::World;
use engine_core::context::bytes_of;
use engine_core::failure::{ContentSeen, FailureClass, ModelFailure};
use engine_core::ids::{AgentId, StepNo, Tokens};
use engine_core::message::{Message, ToolCall, ToolStatus, Usage};
use engine_core::record::{AgentRecord, Billed};
use engine_core::request::ModelResponse;
use engine_core::tool::EffectClass;
use engine_core::turn::{Preparation, Snapshot, ToolEnd, TurnInput};
use fleet_core::ids::CommitId;

impl Agent {
    /// Looks at a call without doing anything.
    pub(crate) fn look_at(&mut self, call: ToolCall) -> Preparation {
        let Some(effect) = effect_of(&call.name) else {
            return Preparation::Refused {
                text: "no such tool".into(),
            };
        };
        self.calls.insert(call.id.clone(), (call, effect));
        Preparation::Ready {
            effect,
            summary: "works".into(),
        }
    }
}

impl Sim {
    /// A model is asked: what it uses is billed now, what it says comes in later.
    pub(crate) fn ask(
        &mut self,
        id: &AgentId,
        announced_by: u64,
        messages: usize,
        max_output: Tokens,
    ) -> Result<TurnInput, String> {
        let turn = self.answered(id) + 1;
        let (_, task) = self.state.find(&id.task).ok_or("no such task")?;
        let open = task.attempt.as_ref().and_then(|a| a.open_request);
        let reserved = open.ok_or("asked without a reservation")?.reserved;
        let question = Question {
            agent: id,
            turn,
            access: task.access,
            wants_verdict: task.review_of.is_some(),
            seed: self.seed,
        };
        let summing = self.is_summing(id);
        let answer = if summing {
            summary()
        } else {
            question.answer()
        };
        self.world
            .act(announced_by, format!("{id} asked turn {turn}"));
        if self.strikes(self.faults.broken_percent) {
            return Ok(self.break_off(reserved));
        }
        if !summing {
            *self.world.answered.entry((id.clone(), turn)).or_default() += 1;
        }
        let input = tokens_of(id, messages, self.seed);
        let usage = self.usage(input, max_output);
        self.world.billed = self.world.billed.plus(usage.total());
        let beyond = usage.total().minus(reserved);
        self.world.beyond = self.world.beyond.plus(beyond);
        let silent = beyond == Tokens(0) && self.strikes(self.faults.silent_percent);
        Ok(TurnInput::Answered(ModelResponse {
            answer,
            usage: (!silent).then_some(usage),
        }))
    }

    /// The model's refusal of a conversation that is too large for it. One that an agent knows to be
    /// too large must not come again.
    pub(crate) fn refuse(
        &mut self,
        id: &AgentId,
        messages: &[Message],
    ) -> Result<Option<TurnInput>, String> {
        if World::takes(self.seed).is_none_or(|most| bytes_of(messages) <= most) {
            return Ok(None);
        }
        let (_, task) = self.state.find(&id.task).ok_or("no such task")?;
        let open = task.attempt.as_ref().and_then(|a| a.open_request);
        let step = open.ok_or("asked without a reservation")?.step;
        let failed: Vec<StepNo> = self
            .history(id)
            .into_iter()
            .filter_map(|record| match record {
                AgentRecord::ModelFailed(r) => (r.kind == "context-too-large").then_some(r.step),
                _ => None,
            })
            .collect();
        let before = self.world.refused.iter().find(|(whose, step, refused)| {
            whose == id && failed.contains(step) && refused == messages
        });
        if let Some((_, before, _)) = before {
            return Err(format!(
                "{id} sends in step {step:?} what was too large in step {before:?}"
            ));
        }
        self.world
            .refused
            .push((id.clone(), step, messages.to_vec()));
        Ok(Some(TurnInput::ModelFailed(ModelFailure {
            class: FailureClass::Overflow,
            kind: "context-too-large".into(),
            message: "it is too large".into(),
            billed: Billed::Nothing,
        })))
    }

    /// What an answer uses: no more output than was allowed, but where that is the fault.
    fn usage(&mut self, input: Tokens, max_output: Tokens) -> Usage {
        let mut output = Tokens(self.random.draw() % (max_output.0 + 1));
        if self.strikes(self.faults.overrun_percent) {
            output = max_output.plus(Tokens(2_000));
        }
        Usage {
            input,
            output,
            cached: Tokens(0),
        }
    }

    fn break_off(&mut self, reserved: Tokens) -> TurnInput {
        let (class, billed) = match self.random.below(4) {
            0 => (FailureClass::Retry { after: None }, Billed::Nothing),
            1 => (FailureClass::Unavailable, Billed::Nothing),
            2 => (
                FailureClass::StreamBroken {
                    content: ContentSeen::No,
                },
                Billed::Reservation,
            ),
            _ => (
                FailureClass::StreamBroken {
                    content: ContentSeen::Yes,
                },
                Billed::Reservation,
            ),
        };
        if billed == Billed::Reservation {
            let used = Tokens(self.random.draw() % (reserved.0 + 1));
            self.world.billed = self.world.billed.plus(used);
        }
        TurnInput::ModelFailed(ModelFailure {
            class,
            kind: "broken".into(),
            message: "it broke".into(),
            billed,
        })
    }

    pub(crate) fn begin_call(
        &mut self,
        id: &AgentId,
        announced_by: u64,
        effect: EffectClass,
        mark: &str,
    ) {
        self.world.act(announced_by, format!("{id} ran {mark}"));
        match effect {
            EffectClass::Reads => {}
            EffectClass::Edits | EffectClass::Runs => self.world.begin_edit(id, mark),
            EffectClass::Reaches => {
                *self.world.reached.entry(mark.to_owned()).or_default() += 1;
            }
        }
    }

    /// A call ends by itself, or because of a stop: what it had begun may then stay half done.
    pub(crate) fn end_call(&mut self, id: &AgentId, effect: EffectClass, mark: &str) -> ToolEnd {
        if self.stopping && self.random.chance(50) {
            return ToolEnd::Stopped {
                output: String::new(),
            };
        }
        if matches!(effect, EffectClass::Edits | EffectClass::Runs) {
            self.world.finish_edit(id, mark);
        }
        ToolEnd::Done {
            status: ToolStatus::Ok,
            // Long enough that a few of them are too much for a model that takes in little.
            text: "done ".repeat(300),
        }
    }

    /// Keeps the folder of an attempt; `None` when it is as it was kept last.
    pub(crate) fn take_snapshot(&mut self, id: &AgentId) -> Result<Option<Snapshot>, String> {
        let content = self.world.folder(id);
        let name = CommitId(format!("s:{id}:{}", content.join("+")));
        let last = self
            .state
            .find(&id.task)
            .and_then(|(_, task)| task.attempt.as_ref()?.snapshot.clone());
        if last.is_some_and(|(commit, _)| commit == name) {
            return Ok(None);
        }
        self.world.keep(&name, &content)?;
        Ok(Some(Snapshot {
            commit: name.to_string(),
            tree: format!("tree-{name}"),
        }))
    }
}
