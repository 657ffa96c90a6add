//! Conversations as bodies: nothing that a server would refuse ever leaves.

use crate::support::{agent, answer, call, object, request, results, text, user};
use engine_core::ids::Tokens;
use engine_core::message::{Arguments, Block, Message};
use engine_core::request::Effort;
use engine_core::tool::{EffectClass, ToolSpec};
use engine_llm::chat::{self, Dialect, LimitField, ReasoningBack, UsageReport};
use serde_json::Value;
use testkit::model_server::{Wire, broken_rule};

/// The body with its limit, found good by the rules of real servers.
fn body(messages: &[Message], dialect: Dialect) -> Value {
    let agent = agent("t", 1);
    let body = chat::body(&request(&agent, messages), dialect);
    let body = chat::with_output_limit(&body, Tokens(1_024), dialect.limit);
    let body = serde_json::from_str(&body).expect("a body is JSON");
    assert_eq!(broken_rule(Wire::Chat, &body), None, "{body:#}");
    body
}

/// What is sent for a conversation, one message a line, without the instructions.
fn check(messages: &[Message], expected: &[&str]) {
    let body = body(messages, Dialect::default());
    let sent = body["messages"].as_array().expect("a list of messages");
    let sent: Vec<String> = sent.iter().skip(1).map(Value::to_string).collect();
    assert_eq!(sent, expected);
}

#[test]
fn calls_and_results_are_paired_in_order() {
    check(
        &[
            user("go"),
            answer(vec![
                text("I look."),
                call("a", object(r#"{"p":"x"}"#)),
                call("b", object("{}")),
            ]),
            results(&[("a", "one"), ("b", "two")]),
            answer(vec![text("done")]),
            user("more"),
        ],
        &[
            r#"{"content":"go","role":"user"}"#,
            r#"{"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"p\":\"x\"}","name":"read"},"id":"a","type":"function"},{"function":{"arguments":"{}","name":"read"},"id":"b","type":"function"}]}"#,
            r#"{"content":"one","role":"tool","tool_call_id":"a"}"#,
            r#"{"content":"two","role":"tool","tool_call_id":"b"}"#,
            r#"{"content":"done","role":"assistant"}"#,
            r#"{"content":"more","role":"user"}"#,
        ],
    );
}

#[test]
fn an_answer_without_text_and_call_is_not_sent() {
    let silent = Block::Reasoning {
        text: "hm".to_owned(),
        signed: None,
    };
    for blocks in [vec![], vec![text("  \n")], vec![silent]] {
        check(
            &[user("go"), answer(blocks), user("well?")],
            &[r#"{"content":"go\n\nwell?","role":"user"}"#],
        );
    }
}

#[test]
fn blank_text_beside_a_call_and_blank_results_are_never_sent() {
    let calls = vec![text("  \n"), call("a", object("")), call("b", object("{}"))];
    check(
        &[
            user("go"),
            answer(calls),
            results(&[("a", ""), ("b", " \n\t")]),
        ],
        &[
            r#"{"content":"go","role":"user"}"#,
            r#"{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"},{"function":{"arguments":"{}","name":"read"},"id":"b","type":"function"}]}"#,
            r#"{"content":"(no output)","role":"tool","tool_call_id":"a"}"#,
            r#"{"content":"(no output)","role":"tool","tool_call_id":"b"}"#,
        ],
    );
}

#[test]
fn blank_words_of_the_person_are_no_message() {
    check(
        &[user("go"), user("   "), user("on")],
        &[r#"{"content":"go\n\non","role":"user"}"#],
    );
}

#[test]
fn invalid_arguments_do_not_poison_the_conversation() {
    let invalid = Arguments::Invalid {
        raw: r#"{"path":"a.txt","content":"un"#.to_owned(),
        error: "EOF".to_owned(),
    };
    check(
        &[
            user("go"),
            answer(vec![call("a", invalid)]),
            results(&[("a", "the arguments are no JSON object")]),
        ],
        &[
            r#"{"content":"go","role":"user"}"#,
            r#"{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"a","type":"function"}]}"#,
            r#"{"content":"the arguments are no JSON object","role":"tool","tool_call_id":"a"}"#,
        ],
    );
}

#[test]
fn reasoning_goes_back_only_beside_calls_and_only_where_it_is_wanted() {
    let thought = |text: &str| Block::Reasoning {
        text: text.to_owned(),
        signed: None,
    };
    let messages = [
        user("go"),
        answer(vec![thought("hm"), call("a", object("{}"))]),
        results(&[("a", "one")]),
        answer(vec![thought("thus"), text("done")]),
        user("more"),
    ];
    let wanted = Dialect {
        reasoning: ReasoningBack::WithCalls,
        ..Dialect::default()
    };
    let sent = body(&messages, wanted).to_string();
    assert!(sent.contains(r#""reasoning_content":"hm""#), "{sent}");
    assert!(!sent.contains("thus"), "{sent}");
    let sent = body(&messages, Dialect::default()).to_string();
    assert!(!sent.contains("reasoning"), "{sent}");
}

#[test]
fn a_dialect_names_the_limit_and_asks_for_usage() {
    let plain = body(&[user("go")], Dialect::default());
    assert_eq!(plain["max_tokens"], 1_024);
    assert_eq!(plain["stream_options"]["include_usage"], true);
    let other = Dialect {
        limit: LimitField::MaxCompletionTokens,
        usage: UsageReport::Unasked,
        ..Dialect::default()
    };
    let other = body(&[user("go")], other);
    assert_eq!(other["max_completion_tokens"], 1_024);
    assert_eq!(other["max_tokens"], Value::Null);
    assert_eq!(other["stream_options"], Value::Null);
}

#[test]
fn tools_and_effort_are_in_the_body_and_the_limit_is_last() {
    let agent = agent("t", 1);
    let messages = [user("go")];
    let tool = |name: &str, parameters: &str| ToolSpec {
        name: name.to_owned(),
        description: "Reads.".to_owned(),
        parameters: parameters.to_owned(),
        effect: EffectClass::Reads,
    };
    let tools = [tool("read", r#"{"type": "object"}"#), tool("odd", "{")];
    let mut request = request(&agent, &messages);
    request.tools = &tools;
    request.effort = Some(Effort::High);
    let body = chat::body(&request, Dialect::default());
    let whole = chat::with_output_limit(&body, Tokens(7), LimitField::MaxTokens);
    insta::assert_snapshot!(whole, @r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type": "object"}}},{"type":"function","function":{"name":"odd","description":"Reads.","parameters":{"type":"object"}}}],"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"high","max_tokens":7}"#);
    let value: Value = serde_json::from_str(&whole).expect("a body is JSON");
    assert_eq!(broken_rule(Wire::Chat, &value), None);
}
