//! What is said between an agent and its model. Never knows a wire format: `engine-llm` translates.

use crate::ids::{CallId, Tokens};
use serde::{Deserialize, Serialize};

/// One entry of a conversation, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Message {
    /// From the person, or from the fleet on their behalf. Never blank.
    User {
        /// What was said.
        text: String,
    },
    /// From the model.
    Model(Answer),
    /// Results of the calls of the answer right before it: one for each call, in the order asked.
    Results {
        /// The results.
        results: Vec<ToolResult>,
    },
}

/// What a model answered to one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its parts, in order.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: Stop,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning. Shown dimmed, sent back only as the wire demands.
    Reasoning {
        /// The readable part; may be empty.
        text: String,
        /// What the provider signed, byte for byte as it came, when it must be sent back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed: Option<String>,
    },
    /// A tool call.
    Call(ToolCall),
}

/// A tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// As the provider sent it, until the turn machine has made it unique.
    pub id: CallId,
    /// Name of the tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// Arguments of a call: a JSON object, or what came instead of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// A JSON object, as its text. An empty argument text counts as `{}`.
    Object(String),
    /// Not a JSON object. The tool is not run, and `{}` stands in its place in later requests.
    Invalid {
        /// What the model sent.
        raw: String,
        /// What is wrong, with its position.
        error: String,
    },
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had finished.
    End,
    /// It waits for results of its calls.
    Calls,
    /// The output limit cut it: its last call may be incomplete and none of its calls is run.
    OutputLimit,
    /// The provider withheld the rest.
    Filtered,
    /// The provider paused it: asked again, the model goes on.
    Paused,
}

/// What a call led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which call.
    pub call: CallId,
    /// What the model reads. Never blank: a placeholder says that there was no output.
    pub text: String,
    /// Whether it succeeded.
    pub status: ToolStatus,
}

/// Whether a call succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It did what was asked.
    Ok,
    /// It failed, was refused, denied, stopped or not run; the text says which.
    Error,
}

/// What one answer used, as the provider reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: Tokens,
    /// Output tokens, reasoning included.
    pub output: Tokens,
    /// Input tokens that were read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: Tokens,
}

fn is_zero(tokens: &Tokens) -> bool {
    tokens.0 == 0
}

impl Usage {
    /// Input and output together.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.input.plus(self.output)
    }
}

impl Answer {
    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text { .. } | Block::Reasoning { .. } => None,
        })
    }

    /// All its text blocks, joined by an empty line.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                Block::Reasoning { .. } | Block::Call(_) => None,
            })
            .collect();
        texts.join("\n\n")
    }
}
