//! What the models of the simulation answer: the same turn of the same attempt always the same, so
//! that a run which was killed can be compared with one that was not. Never knows a budget.

use crate::random::Random;
use crate::world::World;
use engine_core::ids::{AgentId, CallId, Tokens};
use engine_core::message::{Answer, Arguments, Block, Stop, ToolCall};
use engine_core::record::Verdict;
use engine_core::tool::{Access, EffectClass, ToolSpec};

/// A tool of each class, named after what it does.
const TOOLS: [(&str, EffectClass); 4] = [
    ("look", EffectClass::Reads),
    ("edit", EffectClass::Edits),
    ("run", EffectClass::Runs),
    ("post", EffectClass::Reaches),
];

/// Bytes of each message of a conversation.
pub(crate) const MESSAGE_BYTES: u64 = 200;

/// Tokens of a conversation of that many messages: each has fewer than bytes.
pub(crate) fn tokens_of(agent: &AgentId, messages: usize, seed: u64) -> Tokens {
    let all = (0..u32::try_from(messages).unwrap_or(u32::MAX))
        .map(|at| World::whim(agent, at, !seed).draw() % (MESSAGE_BYTES + 1));
    Tokens(all.sum())
}

/// The tools of an access.
pub(crate) fn catalog(access: Access) -> Vec<ToolSpec> {
    let allowed = if access == Access::Read {
        1
    } else {
        TOOLS.len()
    };
    TOOLS[..allowed]
        .iter()
        .map(|(name, effect)| ToolSpec {
            name: (*name).to_owned(),
            description: "works".to_owned(),
            parameters: "{}".to_owned(),
            effect: *effect,
        })
        .collect()
}

/// The class of a tool.
pub(crate) fn effect_of(name: &str) -> Option<EffectClass> {
    TOOLS.iter().find(|tool| tool.0 == name).map(|tool| tool.1)
}

/// The mark that a call leaves where it works.
pub(crate) fn mark_of(call: &ToolCall) -> String {
    match &call.arguments {
        Arguments::Object(text) => text.clone(),
        Arguments::Invalid { raw, .. } => raw.clone(),
    }
}

/// What a model makes of its own conversation.
pub(crate) fn summary() -> Answer {
    Answer {
        blocks: vec![Block::Text {
            text: "some of it is done".into(),
        }],
        stop: Stop::End,
    }
}

/// Who asks what.
pub(crate) struct Question<'a> {
    pub(crate) agent: &'a AgentId,
    pub(crate) turn: u32,
    pub(crate) access: Access,
    pub(crate) wants_verdict: bool,
    pub(crate) seed: u64,
}

impl Question<'_> {
    pub(crate) fn answer(&self) -> Answer {
        if self.turn < World::turns(self.agent, self.seed) {
            return self.work();
        }
        let text = Block::Text { text: "ok".into() };
        if World::attempt_fails(self.agent, self.seed) {
            return Answer {
                blocks: vec![text],
                stop: Stop::Filtered,
            };
        }
        if !self.wants_verdict {
            return Answer {
                blocks: vec![text],
                stop: Stop::End,
            };
        }
        let verdict = match World::verdict(self.agent, self.seed) {
            Verdict::Approve => "approve",
            Verdict::Reject => "reject",
        };
        let arguments = format!("{{\"verdict\":\"{verdict}\",\"findings\":\"because\"}}");
        Answer {
            blocks: vec![Block::Call(ToolCall {
                id: CallId("v".into()),
                name: "verdict".into(),
                arguments: Arguments::Object(arguments),
            })],
            stop: Stop::Calls,
        }
    }

    /// One to three calls; now and then one of a tool that does not exist.
    fn work(&self) -> Answer {
        let mut whim = World::whim(self.agent, self.turn, self.seed);
        let count = 1 + whim.below(3);
        let calls = (0..count).map(|at| self.call(at, &mut whim)).collect();
        Answer {
            blocks: calls,
            stop: Stop::Calls,
        }
    }

    fn call(&self, at: usize, whim: &mut Random) -> Block {
        let name = match (self.access, whim.below(10)) {
            (_, 0) => "dance",
            (Access::Read, _) | (_, 1..=3) => "look",
            (_, 4..=6) => "edit",
            (_, 7 | 8) => "run",
            _ => "post",
        };
        Block::Call(ToolCall {
            id: CallId(format!("c{at}")),
            name: name.to_owned(),
            arguments: Arguments::Object(format!(
                "{{\"at\":\"{}.{}.{at}\"}}",
                self.agent, self.turn
            )),
        })
    }
}
