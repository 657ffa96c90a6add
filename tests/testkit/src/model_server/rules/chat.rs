//! The rules of chat completions.

use super::{Check, ensure, is_said};
use serde_json::Value;
use std::collections::HashSet;

pub(super) fn check_body(body: &Value) -> Check {
    ensure(body.is_object(), || "the body is no JSON object".to_owned())?;
    ensure(is_said(&body["model"]), || "no model is named".to_owned())?;
    ensure(body["stream"] == true, || {
        "no stream is asked for".to_owned()
    })?;
    let limits = ["max_tokens", "max_completion_tokens"].map(|name| body[name].as_u64());
    let limited = matches!(limits, [Some(1..), None] | [None, Some(1..)]);
    ensure(limited, || {
        "there is not exactly one positive output limit".to_owned()
    })?;
    check_tools(&body["tools"])?;
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    check_messages(messages)
}

fn check_tools(tools: &Value) -> Check {
    if tools.is_null() {
        return Ok(());
    }
    let tools = tools.as_array().filter(|tools| !tools.is_empty());
    let tools = tools.ok_or("`tools` is no list or an empty one")?;
    let mut names = HashSet::new();
    for tool in tools {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or("");
        ensure(names.insert(name) && !name.is_empty(), || {
            format!("the tool name `{name}` is empty or doubled")
        })?;
        ensure(function["parameters"].is_object(), || {
            format!("the parameters of the tool `{name}` are no JSON Schema")
        })?;
    }
    Ok(())
}

/// Walks the messages with the calls that still wait for their results.
fn check_messages(messages: &[Value]) -> Check {
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("");
        let wrong = |rule: &str| format!("message {at} ({role}): {rule}");
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or("");
            ensure(open.first() == Some(&id), || {
                wrong("it does not answer the next open call")
            })?;
            open.remove(0);
        } else {
            ensure(open.is_empty(), || {
                wrong("calls before it have no result right after them")
            })?;
            let in_order = matches!(
                (before, role),
                ("", "system" | "user")
                    | ("system", "user")
                    | ("user", "assistant")
                    | ("assistant" | "tool", "user")
                    | ("tool", "assistant")
            );
            ensure(in_order, || wrong(&format!("it may not follow `{before}`")))?;
        }
        let calls = &message["tool_calls"];
        if role == "assistant" && !calls.is_null() {
            open = check_calls(calls, &mut ids).map_err(|rule| wrong(&rule))?;
        }
        let content = &message["content"];
        let silent = role == "assistant" && !open.is_empty() && content.is_null();
        ensure(silent || is_said(content), || wrong("it is empty or blank"))?;
        before = role;
    }
    ensure(open.is_empty(), || {
        "the last calls have no result".to_owned()
    })?;
    ensure(matches!(before, "user" | "tool"), || {
        "there is nothing to answer at the end".to_owned()
    })
}

/// The ids of the calls, which now wait for their results.
fn check_calls<'a>(calls: &'a Value, ids: &mut HashSet<&'a str>) -> Result<Vec<&'a str>, String> {
    let calls = calls.as_array().filter(|calls| !calls.is_empty());
    let calls = calls.ok_or("`tool_calls` is no list or an empty one")?;
    let mut open = Vec::with_capacity(calls.len());
    for call in calls {
        let id = call["id"].as_str().unwrap_or("");
        ensure(!id.trim().is_empty(), || "a call has no id".to_owned())?;
        ensure(ids.insert(id), || format!("the call id `{id}` is doubled"))?;
        let function = &call["function"];
        ensure(is_said(&function["name"]), || {
            format!("the call `{id}` has no name")
        })?;
        let arguments = function["arguments"].as_str().unwrap_or("");
        let parsed: Result<Value, _> = serde_json::from_str(arguments);
        ensure(parsed.is_ok_and(|value| value.is_object()), || {
            format!("the arguments of the call `{id}` are no JSON object")
        })?;
        open.push(id);
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use crate::model_server::{Wire, broken_rule};
    use serde_json::{Value, json};

    const NO_RULE: Option<&str> = None;

    fn check(messages: &Value, expected: Option<&str>) {
        let body = json!({"model": "m", "stream": true, "max_tokens": 9, "messages": messages});
        assert_eq!(
            broken_rule(Wire::Chat, &body).as_deref(),
            expected,
            "{messages}"
        );
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    fn calls(calls: &[(&str, &str)]) -> Value {
        let calls: Vec<Value> = calls
            .iter()
            .map(|(id, arguments)| {
                json!({"id": id, "type": "function",
                       "function": {"name": "read", "arguments": arguments}})
            })
            .collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": text})
    }

    #[test]
    fn a_good_conversation_breaks_no_rule() {
        let system = json!({"role": "system", "content": "s"});
        check(&json!([system, user("go")]), NO_RULE);
        let two = calls(&[("a", "{}"), ("b", r#"{"p":1}"#)]);
        check(
            &json!([user("go"), two, result("a", "1"), result("b", "2")]),
            NO_RULE,
        );
        let said = json!({"role": "assistant", "content": "done"});
        check(&json!([user("go"), said, user("more")]), NO_RULE);
    }

    #[test]
    fn every_call_is_answered_right_after_and_in_order() {
        let two = calls(&[("a", "{}"), ("b", "{}")]);
        check(
            &json!([user("go"), two]),
            Some("the last calls have no result"),
        );
        check(
            &json!([user("go"), two, result("b", "2"), result("a", "1")]),
            Some("message 2 (tool): it does not answer the next open call"),
        );
        check(
            &json!([user("go"), two, result("a", "1"), user("and?")]),
            Some("message 3 (user): calls before it have no result right after them"),
        );
        check(
            &json!([user("go"), result("a", "1")]),
            Some("message 1 (tool): it does not answer the next open call"),
        );
    }

    #[test]
    fn ids_are_there_and_unique_and_arguments_are_objects() {
        for (bad, rule) in [
            (calls(&[("", "{}")]), "a call has no id"),
            (
                calls(&[("a", "{}"), ("a", "{}")]),
                "the call id `a` is doubled",
            ),
            (
                calls(&[("a", r#"{"p":"#)]),
                "the arguments of the call `a` are no JSON object",
            ),
            (
                calls(&[("a", "[]")]),
                "the arguments of the call `a` are no JSON object",
            ),
            (calls(&[]), "`tool_calls` is no list or an empty one"),
        ] {
            check(
                &json!([user("go"), bad]),
                Some(&format!("message 1 (assistant): {rule}")),
            );
        }
    }

    #[test]
    fn nothing_is_blank_and_roles_alternate() {
        let empty = json!({"role": "assistant", "content": null});
        for (messages, rule) in [
            (json!([]), "there is nothing to answer at the end"),
            (
                json!([user(" \n")]),
                "message 0 (user): it is empty or blank",
            ),
            (
                json!([user("a"), user("b")]),
                "message 1 (user): it may not follow `user`",
            ),
            (
                json!([user("a"), empty]),
                "message 1 (assistant): it is empty or blank",
            ),
            (
                json!([user("a"), calls(&[("a", "{}")]), result("a", "")]),
                "message 2 (tool): it is empty or blank",
            ),
            (
                json!([empty]),
                "message 0 (assistant): it may not follow ``",
            ),
        ] {
            check(&messages, Some(rule));
        }
    }

    #[test]
    fn the_frame_of_a_request_is_looked_at_too() {
        let good = json!({"model": "m", "stream": true, "max_tokens": 9,
                          "messages": [user("go")]});
        for (field, value, rule) in [
            ("model", json!(""), "no model is named"),
            ("stream", json!(false), "no stream is asked for"),
            (
                "max_tokens",
                json!(0),
                "there is not exactly one positive output limit",
            ),
            ("tools", json!([]), "`tools` is no list or an empty one"),
            (
                "tools",
                json!([{"function": {"name": "a"}}]),
                "the parameters of the tool `a` are no JSON Schema",
            ),
        ] {
            let mut body = good.clone();
            body[field] = value;
            assert_eq!(broken_rule(Wire::Chat, &body).as_deref(), Some(rule));
        }
        assert_eq!(
            broken_rule(Wire::Chat, &json!([])).as_deref(),
            Some("the body is no JSON object")
        );
    }
}
