//! A whole answer as a stream of messages.

use super::{Answer, End, Thought, halves, named_sse};
use crate::model_server::request::RequestView;
use serde_json::{Value, json};

pub(super) fn events(answer: &Answer, request: &RequestView) -> Vec<String> {
    let tokens = answer.tokens(request);
    let usage = tokens.map(|(input, _)| json!({"input_tokens": input, "output_tokens": 1}));
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                         "stop_reason": null, "usage": usage});
    let mut events = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "ping"}),
    ];
    let blocks = thoughts(answer)
        .chain(text(answer))
        .chain(calls(answer, request));
    for (index, (opened, deltas)) in blocks.enumerate() {
        events.push(json!({"type": "content_block_start", "index": index,
                           "content_block": opened}));
        let deltas = deltas.into_iter();
        events.extend(
            deltas.map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    match answer.end {
        End::Missing => {
            events.pop();
        }
        End::NoMark => events.push(closing(answer, tokens)),
        End::Whole => {
            events.push(closing(answer, tokens));
            events.push(json!({"type": "message_stop"}));
        }
    }
    let name = |event: &Value| event["type"].as_str().unwrap_or("").to_owned();
    events
        .iter()
        .map(|event| named_sse(&name(event), event))
        .collect()
}

/// A block as it is opened, and what is added to it.
type Block = (Value, Vec<Value>);

fn thoughts(answer: &Answer) -> impl Iterator<Item = Block> {
    answer.thoughts.iter().map(|thought| match thought {
        Thought::Redacted(data) => (
            json!({"type": "redacted_thinking", "data": data}),
            Vec::new(),
        ),
        Thought::Signed(text, signature) => {
            let opened = json!({"type": "thinking", "thinking": "", "signature": ""});
            let pieces = halves(text).into_iter().filter(|piece| !piece.is_empty());
            let mut deltas: Vec<Value> = pieces
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (opened, deltas)
        }
    })
}

fn text(answer: &Answer) -> impl Iterator<Item = Block> {
    let words = answer.text.split_inclusive(' ');
    let deltas: Vec<Value> = words
        .map(|word| json!({"type": "text_delta", "text": word}))
        .collect();
    let block = (json!({"type": "text", "text": ""}), deltas);
    (!answer.text.is_empty()).then_some(block).into_iter()
}

fn calls(answer: &Answer, request: &RequestView) -> impl Iterator<Item = Block> {
    answer
        .calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            let id = answer.call_id(request, index);
            let opened = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            let deltas = halves(arguments)
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            (opened, deltas.to_vec())
        })
}

fn closing(answer: &Answer, tokens: Option<(u64, u64)>) -> Value {
    let reason = match answer.reason() {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    };
    let usage = tokens.map(|(_, output)| json!({"output_tokens": output}));
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    json!({"type": "message_delta", "delta": delta, "usage": usage})
}
