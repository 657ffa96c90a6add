//! How many bytes a conversation has, without the escapes of any wire. Never counts tokens.

use crate::message::{Answer, Arguments, Block, Message, ToolCall, ToolResult};

/// Bytes that a message, a call or a result takes beside its texts, in round numbers.
const FRAME_BYTES: usize = 16;

/// Bytes of the texts of a conversation, with a little for what holds them.
#[must_use]
pub fn bytes_of(messages: &[Message]) -> u64 {
    messages.iter().map(|message| bytes(message) as u64).sum()
}

fn bytes(message: &Message) -> usize {
    FRAME_BYTES
        + match message {
            Message::User { text } => text.len(),
            Message::Model(Answer { blocks, .. }) => blocks.iter().map(of_block).sum(),
            Message::Results { results } => results.iter().map(of_result).sum(),
        }
}

fn of_block(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::Reasoning { text, signed } => text.len() + signed.as_ref().map_or(0, String::len),
        Block::Call(call) => of_call(call),
    }
}

fn of_call(call: &ToolCall) -> usize {
    let (Arguments::Object(arguments) | Arguments::Invalid { raw: arguments, .. }) =
        &call.arguments;
    FRAME_BYTES + call.id.0.len() + call.name.len() + arguments.len()
}

fn of_result(result: &ToolResult) -> usize {
    FRAME_BYTES + result.call.0.len() + result.text.len()
}
