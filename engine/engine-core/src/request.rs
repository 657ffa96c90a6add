//! One question to a model, independent of its wire. Never sent from here.

use crate::ids::{AgentId, StepNo, Tokens};
use crate::message::{Answer, Message, Usage};
use crate::tool::ToolSpec;

/// What is asked of a model. Borrowed: a request is formed from a transcript for the time of one call.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// Whose request it is; the scripted provider picks its turn by it.
    pub agent: &'a AgentId,
    /// Which request of this attempt.
    pub step: StepNo,
    /// Which turn of the conversation it asks for, from 1: the answers that stood in it so far and
    /// one more. The same after a resume and after a compaction, unlike a count of requests.
    pub turn: u32,
    /// What it is for.
    pub purpose: Purpose,
    /// The provider's own name of the model.
    pub model: &'a str,
    /// Standing instructions.
    pub system: &'a str,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The catalog.
    pub tools: &'a [ToolSpec],
    /// Most output tokens the answer may have.
    pub max_output: Tokens,
    /// How hard a reasoning model should think.
    pub effort: Option<Effort>,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The task itself.
    #[default]
    Work,
    /// A summary that replaces older messages, so that the conversation fits the model.
    Compaction,
}

impl Purpose {
    /// True for the usual one, which records leave out.
    #[must_use]
    pub fn is_work(&self) -> bool {
        *self == Self::Work
    }
}

/// How hard a reasoning model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
}

/// A complete answer with what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelResponse {
    /// The answer.
    pub answer: Answer,
    /// What the provider reported; `None` when it reported nothing, never a made-up zero.
    pub usage: Option<Usage>,
}
