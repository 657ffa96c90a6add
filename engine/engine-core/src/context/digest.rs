//! A list of what an agent did, for when its model gives no summary. Never longer than it may be, and
//! the newest entries count most.

use super::shorten::{LEAST_BYTES, shorten_text};
use crate::message::{Answer, Arguments, Block, Message, ToolCall, ToolResult, ToolStatus};
use std::collections::VecDeque;

/// Most bytes of arguments, of a result and of a text that are shown.
const SHOWN_BYTES: usize = 160;

/// The summary before, then one line for each call and each text of these messages, at most `max` bytes.
pub(crate) fn digest(before: Option<&str>, messages: &[Message], max: usize) -> String {
    let max = max.max(2 * LEAST_BYTES);
    let earlier = before.map(|text| shorten_text(text, max / 2));
    let mut room = max - earlier.as_ref().map_or(0, String::len) - LEAST_BYTES / 2;
    let lines = lines_of(messages);
    let all = lines.len();
    let mut shown = VecDeque::new();
    for line in lines.into_iter().rev() {
        if line.len() + 1 > room {
            break;
        }
        room -= line.len() + 1;
        shown.push_front(line);
    }
    let mut parts: Vec<String> = earlier.into_iter().collect();
    parts.push(match all - shown.len() {
        0 => "What was done, in order:".to_owned(),
        left_out => format!("What was done, in order, without the first {left_out} entries:"),
    });
    parts.extend(shown);
    parts.join("\n")
}

fn lines_of(messages: &[Message]) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let Message::Model(Answer { blocks, .. }) = message else {
            continue;
        };
        let results: &[ToolResult] = match messages.get(at + 1) {
            Some(Message::Results { results }) => results,
            _ => &[],
        };
        for block in blocks {
            match block {
                Block::Text { text } => lines.push(format!("- said: {}", shown(text))),
                Block::Reasoning { .. } => {}
                Block::Call(call) => lines.push(line_of(call, results)),
            }
        }
    }
    lines
}

fn line_of(call: &ToolCall, results: &[ToolResult]) -> String {
    let (Arguments::Object(arguments) | Arguments::Invalid { raw: arguments, .. }) =
        &call.arguments;
    let result = results.iter().find(|result| result.call == call.id);
    let end = match result {
        Some(result) if result.status == ToolStatus::Error => {
            format!("failed: {}", shown(&result.text))
        }
        Some(result) => format!("{} bytes", result.text.len()),
        None => "no result".to_owned(),
    };
    format!("- {} {}: {end}", call.name, shown(arguments))
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.floor_char_boundary(SHOWN_BYTES);
    if end < line.len() {
        format!("{}…", &line[..end])
    } else {
        line
    }
}
