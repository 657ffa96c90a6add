//! The rules of messages.

use super::{Check, ensure, is_said};
use serde_json::Value;
use std::collections::HashSet;

/// Most markers up to which a provider shall remember.
const MARKERS_MAX: usize = 4;
/// The fewest tokens of thinking.
const THINKING_MIN: u64 = 1_024;

pub(super) fn check_body(body: &Value) -> Check {
    ensure(body.is_object(), || "the body is no JSON object".to_owned())?;
    ensure(is_said(&body["model"]), || "no model is named".to_owned())?;
    ensure(body["stream"] == true, || {
        "no stream is asked for".to_owned()
    })?;
    let limit = body["max_tokens"].as_u64().unwrap_or(0);
    ensure(limit > 0, || "there is no output limit".to_owned())?;
    if let Some(budget) = body["thinking"]["budget_tokens"].as_u64() {
        ensure((THINKING_MIN..limit).contains(&budget), || {
            format!("{budget} tokens of thinking do not fit into {limit}")
        })?;
    }
    let markers = markers(body);
    ensure(markers <= MARKERS_MAX, || {
        format!("{markers} parts are marked to be remembered")
    })?;
    check_system(&body["system"])?;
    check_tools(&body["tools"])?;
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    check_messages(messages)
}

fn markers(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let own = usize::from(fields.contains_key("cache_control"));
            own + fields.values().map(markers).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(markers).sum(),
        _ => 0,
    }
}

fn check_system(system: &Value) -> Check {
    let blocks = system.as_array().into_iter().flatten();
    let mut texts = blocks.map(|block| &block["text"]);
    let good = system.is_null() || is_said(system) || (system.is_array() && texts.all(is_said));
    ensure(good, || "the instructions are blank".to_owned())
}

fn check_tools(tools: &Value) -> Check {
    if tools.is_null() {
        return Ok(());
    }
    let tools = tools.as_array().filter(|tools| !tools.is_empty());
    let tools = tools.ok_or("`tools` is no list or an empty one")?;
    let mut names = HashSet::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or("");
        ensure(names.insert(name) && !name.is_empty(), || {
            format!("the tool name `{name}` is empty or doubled")
        })?;
        ensure(tool["input_schema"]["type"] == "object", || {
            format!("the parameters of the tool `{name}` are no JSON Schema of an object")
        })?;
    }
    Ok(())
}

/// Walks the messages with the calls that still wait for their results.
fn check_messages(messages: &[Value]) -> Check {
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut before = "assistant";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("");
        let wrong = |rule: &str| format!("message {at} ({role}): {rule}");
        let in_order = matches!(
            (before, role),
            ("assistant", "user") | ("user", "assistant")
        );
        ensure(in_order, || wrong(&format!("it may not follow `{before}`")))?;
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        ensure(!blocks.is_empty(), || wrong("it is empty"))?;
        if role == "user" {
            check_answers(blocks, &open).map_err(|rule| wrong(&rule))?;
            open.clear();
        } else {
            open = check_said(blocks, &mut ids).map_err(|rule| wrong(&rule))?;
        }
        before = role;
    }
    ensure(!messages.is_empty() && before == "user", || {
        "there is nothing to answer at the end".to_owned()
    })
}

/// The person's side: first the results of the open calls in their order, then texts.
fn check_answers(blocks: &[Value], open: &[&str]) -> Check {
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let results = blocks.iter().take_while(is_result);
    let answered: Vec<&str> = results
        .clone()
        .map(|block| block["tool_use_id"].as_str().unwrap_or(""))
        .collect();
    ensure(answered == open, || {
        "its results are not those of the open calls, in their order".to_owned()
    })?;
    for block in results {
        ensure(is_said(&block["content"]), || {
            "a result is blank".to_owned()
        })?;
    }
    for block in &blocks[answered.len()..] {
        ensure(block["type"] == "text" && is_said(&block["text"]), || {
            "after its results stands something that is no text, or a blank one".to_owned()
        })?;
    }
    Ok(())
}

/// The model's side; gives the ids of its calls, which now wait for their results.
fn check_said<'a>(blocks: &'a [Value], ids: &mut HashSet<&'a str>) -> Result<Vec<&'a str>, String> {
    let mut open = Vec::new();
    for block in blocks {
        match block["type"].as_str().unwrap_or("") {
            "text" => ensure(is_said(&block["text"]), || "a text is blank".to_owned())?,
            "tool_use" => {
                let id = block["id"].as_str().unwrap_or("");
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                ensure(!id.is_empty() && id.chars().all(plain), || {
                    format!("the call id `{id}` is not as ids are")
                })?;
                ensure(ids.insert(id), || format!("the call id `{id}` is doubled"))?;
                ensure(is_said(&block["name"]), || {
                    format!("the call `{id}` has no name")
                })?;
                ensure(block["input"].is_object(), || {
                    format!("the input of the call `{id}` is no JSON object")
                })?;
                open.push(id);
            }
            "thinking" => ensure(block["signature"].is_string(), || {
                "a thought has no signature".to_owned()
            })?,
            "redacted_thinking" => ensure(is_said(&block["data"]), || {
                "a hidden thought holds nothing".to_owned()
            })?,
            other => return Err(format!("there is no block of the kind `{other}`")),
        }
    }
    let last = blocks
        .last()
        .map_or("", |block| block["type"].as_str().unwrap_or(""));
    ensure(!last.ends_with("thinking"), || {
        "it ends with a thought".to_owned()
    })?;
    Ok(open)
}

#[cfg(test)]
mod tests {
    use crate::model_server::{Wire, broken_rule};
    use serde_json::{Value, json};

    fn check(messages: &Value, expected: Option<&str>) {
        let body = json!({"model": "m", "stream": true, "max_tokens": 9, "messages": messages});
        let found = broken_rule(Wire::Messages, &body);
        assert_eq!(found.as_deref(), expected, "{messages}");
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn said(blocks: &[Value]) -> Value {
        json!({"role": "assistant", "content": blocks})
    }

    fn call(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
    }

    fn results(ids: &[&str], then: &[Value]) -> Value {
        let results = ids
            .iter()
            .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "1"}));
        let content: Vec<Value> = results.chain(then.iter().cloned()).collect();
        json!({"role": "user", "content": content})
    }

    #[test]
    fn a_good_conversation_breaks_no_rule() {
        let text = json!({"type": "text", "text": "and?"});
        let thought = json!({"type": "thinking", "thinking": "", "signature": "s"});
        check(
            &json!([
                user("go"),
                said(&[thought, call("a"), call("b")]),
                results(&["a", "b"], &[text]),
                said(&[json!({"type": "text", "text": "done"})]),
                user("more")
            ]),
            None,
        );
    }

    #[test]
    fn every_call_is_answered_right_after_and_in_order() {
        let two = said(&[call("a"), call("b")]);
        let rule = "message 2 (user): its results are not those of the open calls, in their order";
        check(
            &json!([user("go"), two, results(&["b", "a"], &[])]),
            Some(rule),
        );
        check(&json!([user("go"), two, results(&["a"], &[])]), Some(rule));
        check(&json!([user("go"), two, user("and?")]), Some(rule));
        check(
            &json!([user("go"), two]),
            Some("there is nothing to answer at the end"),
        );
    }

    #[test]
    fn nothing_is_blank_doubled_or_out_of_turn() {
        for (messages, rule) in [
            (json!([]), "there is nothing to answer at the end"),
            (
                json!([user(" ")]),
                "message 0 (user): after its results stands something that is no text, or a blank one",
            ),
            (
                json!([user("a"), user("b")]),
                "message 1 (user): it may not follow `user`",
            ),
            (
                json!([user("a"), said(&[])]),
                "message 1 (assistant): it is empty",
            ),
            (
                json!([user("a"), said(&[call("x:1")])]),
                "message 1 (assistant): the call id `x:1` is not as ids are",
            ),
            (
                json!([user("a"), said(&[call("x"), call("x")])]),
                "message 1 (assistant): the call id `x` is doubled",
            ),
            (
                json!([
                    user("a"),
                    said(&[json!({"type": "thinking", "signature": "s"})])
                ]),
                "message 1 (assistant): it ends with a thought",
            ),
            (
                json!([user("a"), said(&[json!({"type": "thinking"}), call("x")])]),
                "message 1 (assistant): a thought has no signature",
            ),
        ] {
            check(&messages, Some(rule));
        }
    }

    #[test]
    fn the_frame_of_a_request_is_looked_at_too() {
        let good = json!({"model": "m", "stream": true, "max_tokens": 2048,
                          "messages": [user("go")]});
        let marked = json!([{"type": "text", "text": "s", "cache_control": {}}]);
        let five: Vec<Value> = (0..5).map(|_| marked[0].clone()).collect();
        for (field, value, rule) in [
            ("max_tokens", json!(0), "there is no output limit"),
            ("tools", json!([]), "`tools` is no list or an empty one"),
            (
                "system",
                json!([{"text": " "}]),
                "the instructions are blank",
            ),
            ("system", json!(five), "5 parts are marked to be remembered"),
            (
                "thinking",
                json!({"type": "enabled", "budget_tokens": 2048}),
                "2048 tokens of thinking do not fit into 2048",
            ),
        ] {
            let mut body = good.clone();
            body[field] = value;
            let found = broken_rule(Wire::Messages, &body);
            assert_eq!(found.as_deref(), Some(rule));
        }
    }
}
