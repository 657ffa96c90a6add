//! Cuts results and arguments of calls. What was cut stays valid: texts end at characters, arguments
//! stay JSON objects. Never touches what a person or a model said, nor what a provider signed.

use crate::message::{Arguments, Block, Message};
use serde_json::Value;

/// Least size anything is cut to, in bytes: the note of what is missing must fit.
pub(super) const LEAST_BYTES: usize = 256;

/// Cuts all results and arguments of a message to at most `max` bytes each.
pub(super) fn shorten(message: &Message, max: usize) -> Message {
    match message {
        Message::User { .. } => message.clone(),
        Message::Results { results } => {
            let mut results = results.clone();
            for result in &mut results {
                result.text = shorten_text(&result.text, max);
            }
            Message::Results { results }
        }
        Message::Model(answer) => {
            let mut answer = answer.clone();
            for block in &mut answer.blocks {
                if let Block::Call(call) = block
                    && let Arguments::Object(text) = &call.arguments
                {
                    call.arguments = Arguments::Object(shorten_object(text, max));
                }
            }
            Message::Model(answer)
        }
    }
}

/// The beginning and the end of a text, at most `max` bytes with a note between them.
pub(crate) fn shorten_text(text: &str, max: usize) -> String {
    let max = max.max(LEAST_BYTES);
    if text.len() <= max {
        return text.to_owned();
    }
    // The longest note there can be, so that the whole stays below the limit.
    let room = max - note(text.len()).len();
    let head = text.floor_char_boundary(room / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - room / 3);
    format!("{}{}{}", &text[..head], note(tail - head), &text[tail..])
}

fn note(bytes: usize) -> String {
    format!(
        "\n[{bytes} bytes were left out here to make room; ask for them again where they matter]\n"
    )
}

/// A JSON object of at most `max` bytes: long texts inside are cut, or all of it is replaced.
fn shorten_object(text: &str, max: usize) -> String {
    let max = max.max(LEAST_BYTES);
    if text.len() <= max {
        return text.to_owned();
    }
    let replaced = || serde_json::json!({ "left_out": note(text.len()).trim() }).to_string();
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return replaced();
    };
    let mut each = max / 2;
    while each >= LEAST_BYTES {
        shorten_strings(&mut value, each);
        let shorter = value.to_string();
        if shorter.len() <= max {
            return shorter;
        }
        each /= 2;
    }
    replaced()
}

/// Parsing has bounded how deep it nests.
fn shorten_strings(value: &mut Value, max: usize) {
    match value {
        Value::String(text) => *text = shorten_text(text, max),
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| shorten_strings(value, max)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| shorten_strings(value, max)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
