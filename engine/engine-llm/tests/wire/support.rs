//! Values that several of these tests need, and answers as one line of text.

use engine_core::ids::{AgentId, AttemptNo, CallId, StepNo, Tokens};
use engine_core::message::{
    Answer, Arguments, Block, Message, Stop, ToolCall, ToolResult, ToolStatus,
};
use engine_core::request::{ModelRequest, ModelResponse, Purpose};

/// The agent whose requests these are.
pub(crate) fn agent(task: &str, attempt: u32) -> AgentId {
    AgentId {
        task: task.parse().expect("a task id"),
        attempt: AttemptNo(attempt),
    }
}

/// A plain request with these messages.
pub(crate) fn request<'a>(agent: &'a AgentId, messages: &'a [Message]) -> ModelRequest<'a> {
    let answers = messages.iter().filter(|m| matches!(m, Message::Model(_)));
    ModelRequest {
        agent,
        step: StepNo(1),
        turn: 1 + u32::try_from(answers.count()).expect("few"),
        purpose: Purpose::Work,
        model: "m",
        system: "Be brief.",
        messages,
        tools: &[],
        max_output: Tokens(1_024),
        effort: None,
    }
}

/// What the person says.
pub(crate) fn user(text: &str) -> Message {
    Message::User {
        text: text.to_owned(),
    }
}

/// What the model says.
pub(crate) fn answer(blocks: Vec<Block>) -> Message {
    Message::Model(Answer {
        blocks,
        stop: Stop::End,
    })
}

/// A text.
pub(crate) fn text(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
    }
}

/// A call of the tool `read`.
pub(crate) fn call(id: &str, arguments: Arguments) -> Block {
    Block::Call(ToolCall {
        id: CallId(id.to_owned()),
        name: "read".to_owned(),
        arguments,
    })
}

/// Arguments that are a JSON object.
pub(crate) fn object(text: &str) -> Arguments {
    Arguments::Object(text.to_owned())
}

/// What became of calls: id and text.
pub(crate) fn results(results: &[(&str, &str)]) -> Message {
    let result = |(call, text): &(&str, &str)| ToolResult {
        call: CallId((*call).to_owned()),
        text: (*text).to_owned(),
        status: ToolStatus::Ok,
    };
    Message::Results {
        results: results.iter().map(result).collect(),
    }
}

/// A response as one line: its parts, why it stopped, what it used.
pub(crate) fn shown(response: &ModelResponse) -> String {
    let mut parts: Vec<String> = response.answer.blocks.iter().map(block).collect();
    parts.push(format!("{:?}", response.answer.stop));
    parts.extend(response.usage.map(|usage| {
        let cached = match usage.cached.0 {
            0 => String::new(),
            cached => format!(" ({cached} cached)"),
        };
        format!("{}+{}{cached}", usage.input, usage.output)
    }));
    parts.join(" | ")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => format!("{text:?}"),
        Block::Reasoning { text, .. } => format!("reasoning {text:?}"),
        Block::Call(call) => {
            let arguments = match &call.arguments {
                Arguments::Object(text) => text.clone(),
                Arguments::Invalid { raw, error } => format!("INVALID {raw} ({error})"),
            };
            format!("{} {} {arguments}", call.id, call.name)
        }
    }
}
