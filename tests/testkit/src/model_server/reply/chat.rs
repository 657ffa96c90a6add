//! A whole answer as a stream of chat completions.

use super::{Answer, End, Thought, halves, sse};
use crate::model_server::request::RequestView;
use serde_json::{Value, json};

pub(super) fn events(answer: &Answer, request: &RequestView) -> Vec<String> {
    let mut events = vec![chunk(&json!({"role": "assistant", "content": null}))];
    for thought in &answer.thoughts {
        if let Thought::Signed(text, _) = thought {
            events.push(chunk(&json!({"reasoning_content": text})));
        }
    }
    let words = answer.text.split_inclusive(' ');
    events.extend(words.map(|word| chunk(&json!({"content": word}))));
    for (index, (name, arguments)) in answer.calls.iter().enumerate() {
        let id = answer.call_id(request, index);
        let function = json!({"name": name, "arguments": ""});
        let opening = json!({"index": index, "id": id, "type": "function",
                             "function": function});
        events.push(chunk(&json!({"tool_calls": [opening]})));
        for piece in halves(arguments) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(&json!({"tool_calls": [more]})));
        }
    }
    if answer.end != End::Missing {
        let reason = answer.reason();
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        if let Some((input, output)) = answer.tokens(request) {
            let usage = json!({"prompt_tokens": input, "completion_tokens": output,
                               "total_tokens": input + output});
            events.push(json!({"choices": [], "usage": usage}));
        }
    }
    let mut events: Vec<String> = events.iter().map(sse).collect();
    if answer.end == End::Whole {
        events.push(sse("[DONE]"));
    }
    events
}

fn chunk(delta: &Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
}
