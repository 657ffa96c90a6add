//! Conversations as bodies of messages: nothing that a server would refuse ever leaves.

use crate::support::{agent, answer, call, object, request, results, text, user};
use engine_core::ids::Tokens;
use engine_core::message::{Arguments, Block, Message};
use engine_core::request::Effort;
use engine_core::tool::{EffectClass, ToolSpec};
use engine_llm::messages;
use serde_json::Value;
use testkit::model_server::{Wire, broken_rule};

/// The body with its limit, found good by the rules of real servers.
fn body(messages: &[Message]) -> Value {
    let agent = agent("t", 1);
    let body = messages::body(&request(&agent, messages));
    let body = messages::with_output_limit(&body, Tokens(1_024), None);
    let body = serde_json::from_str(&body).expect("a body is JSON");
    assert_eq!(broken_rule(Wire::Messages, &body), None, "{body:#}");
    body
}

/// What is sent for a conversation, one message a line, without its markers.
fn check(messages: &[Message], expected: &[&str]) {
    let body = body(messages);
    let sent = body["messages"].as_array().expect("a list of messages");
    let marker = r#""cache_control":{"type":"ephemeral"},"#;
    let sent: Vec<String> = sent
        .iter()
        .map(|one| one.to_string().replace(marker, ""))
        .collect();
    assert_eq!(sent, expected);
}

fn signed(text: &str, kept: &str) -> Block {
    Block::Reasoning {
        text: text.to_owned(),
        signed: Some(kept.to_owned()),
    }
}

#[test]
fn calls_and_results_are_paired_in_order_and_words_follow_them() {
    check(
        &[
            user("go"),
            answer(vec![
                text("I look."),
                call("a", object(r#"{"p":"x"}"#)),
                call("b", object("{}")),
            ]),
            results(&[("a", "one"), ("b", " \n")]),
            user("and be quick"),
            answer(vec![text("done")]),
            user("more"),
        ],
        &[
            r#"{"content":[{"text":"go","type":"text"}],"role":"user"}"#,
            r#"{"content":[{"text":"I look.","type":"text"},{"id":"a","input":{"p":"x"},"name":"read","type":"tool_use"},{"id":"b","input":{},"name":"read","type":"tool_use"}],"role":"assistant"}"#,
            r#"{"content":[{"content":"one","tool_use_id":"a","type":"tool_result"},{"content":"(no output)","tool_use_id":"b","type":"tool_result"},{"text":"and be quick","type":"text"}],"role":"user"}"#,
            r#"{"content":[{"text":"done","type":"text"}],"role":"assistant"}"#,
            r#"{"content":[{"text":"more","type":"text"}],"role":"user"}"#,
        ],
    );
}

#[test]
fn signed_reasoning_goes_back_as_it_came_and_other_reasoning_does_not() {
    let thought = signed(
        "n\u{e9}\u{2192}",
        r#"{"signature":"EqQB/8+=","type":"thinking"}"#,
    );
    let hidden = signed("", r#"{"data":"Emw=","type":"redacted_thinking"}"#);
    let unsigned = Block::Reasoning {
        text: "hm".to_owned(),
        signed: None,
    };
    let foreign = signed("x", "of another wire");
    let blocks = vec![
        thought.clone(),
        hidden,
        unsigned,
        foreign,
        call("a", object("{}")),
    ];
    let last = vec![text("done"), thought];
    check(
        &[
            user("go"),
            answer(blocks),
            results(&[("a", "1")]),
            answer(last),
            user("more"),
        ],
        &[
            r#"{"content":[{"text":"go","type":"text"}],"role":"user"}"#,
            "{\"content\":[{\"signature\":\"EqQB/8+=\",\"thinking\":\"n\u{e9}\u{2192}\",\"type\":\"thinking\"},{\"data\":\"Emw=\",\"type\":\"redacted_thinking\"},{\"id\":\"a\",\"input\":{},\"name\":\"read\",\"type\":\"tool_use\"}],\"role\":\"assistant\"}",
            r#"{"content":[{"content":"1","tool_use_id":"a","type":"tool_result"}],"role":"user"}"#,
            r#"{"content":[{"text":"done","type":"text"}],"role":"assistant"}"#,
            r#"{"content":[{"text":"more","type":"text"}],"role":"user"}"#,
        ],
    );
}

#[test]
fn an_answer_without_text_and_call_is_not_sent_and_blank_words_are_no_message() {
    let joined = &[
        r#"{"content":[{"text":"go","type":"text"},{"text":"well?","type":"text"}],"role":"user"}"#,
    ];
    let silent = signed("hm", r#"{"signature":"s","type":"thinking"}"#);
    for blocks in [vec![], vec![text("  \n")], vec![silent]] {
        check(
            &[user("go"), answer(blocks), user("  "), user("well?")],
            joined,
        );
    }
}

#[test]
fn invalid_arguments_and_odd_ids_do_not_poison_the_conversation() {
    let invalid = Arguments::Invalid {
        raw: r#"{"path":"a.txt","content":"un"#.to_owned(),
        error: "EOF".to_owned(),
    };
    let calls = vec![call("shell:0", invalid), call("shell_0", object("{}"))];
    check(
        &[
            user("go"),
            answer(calls),
            results(&[("shell:0", "no"), ("shell_0", "yes")]),
        ],
        &[
            r#"{"content":[{"text":"go","type":"text"}],"role":"user"}"#,
            r#"{"content":[{"id":"shell_3a_0","input":{},"name":"read","type":"tool_use"},{"id":"shell_0","input":{},"name":"read","type":"tool_use"}],"role":"assistant"}"#,
            r#"{"content":[{"content":"no","tool_use_id":"shell_3a_0","type":"tool_result"},{"content":"yes","tool_use_id":"shell_0","type":"tool_result"}],"role":"user"}"#,
        ],
    );
}

#[test]
fn markers_stand_at_tools_instructions_and_the_last_two_words_of_the_person() {
    let agent = agent("t", 1);
    let turn = |id: &str| [answer(vec![call(id, object("{}"))]), results(&[(id, "1")])];
    let messages: Vec<Message> = [user("go")]
        .into_iter()
        .chain(["a", "b", "c"].into_iter().flat_map(turn))
        .collect();
    let tools = ["read", "grep"].map(|name| ToolSpec {
        name: name.to_owned(),
        description: "Reads.".to_owned(),
        parameters: r#"{"type": "object"}"#.to_owned(),
        effect: EffectClass::Reads,
    });
    let mut request = request(&agent, &messages);
    request.tools = &tools;
    let body = messages::body(&request);
    let body = messages::with_output_limit(&body, Tokens(7), None);
    insta::assert_snapshot!(body, @r#"{"model":"m","tools":[{"name":"read","description":"Reads.","input_schema":{"type": "object"}},{"name":"grep","description":"Reads.","input_schema":{"type": "object"},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]},{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"1","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1","cache_control":{"type":"ephemeral"}}]}],"stream":true,"max_tokens":7}"#);
    let value: Value = serde_json::from_str(&body).expect("a body is JSON");
    assert_eq!(broken_rule(Wire::Messages, &value), None);
}

/// The thinking of a request to this model, and the effort beside it.
fn thinking(model: &str, messages: &[Message], limit: u64) -> String {
    let agent = agent("t", 1);
    let mut request = request(&agent, messages);
    request.model = model;
    request.effort = Some(Effort::Medium);
    let body = messages::body(&request);
    let body = messages::with_output_limit(&body, Tokens(limit), messages::budgeted(&request));
    let body: Value = serde_json::from_str(&body).expect("a body is JSON");
    assert_eq!(broken_rule(Wire::Messages, &body), None, "{body:#}");
    format!("{} {}", body["thinking"], body["output_config"])
}

#[test]
fn effort_is_said_as_the_model_knows_it() {
    let go = [user("go")];
    assert_eq!(
        thinking("claude-opus-5-5", &go, 8_192),
        r#"{"type":"adaptive"} {"effort":"medium"}"#
    );
    assert_eq!(
        thinking("claude-haiku-4-5", &go, 8_192),
        r#"{"budget_tokens":2048,"type":"enabled"} null"#
    );
    assert_eq!(thinking("claude-haiku-4-5", &go, 1_024), "null null");
    assert_eq!(thinking("claude-3-5-haiku-latest", &go, 8_192), "null null");
}

#[test]
fn thinking_does_not_begin_between_a_call_and_its_result() {
    let enabled = r#"{"budget_tokens":2048,"type":"enabled"} null"#;
    let thought = signed("hm", r#"{"signature":"s","type":"thinking"}"#);
    let bare = answer(vec![call("a", object("{}"))]);
    let open = [user("go"), bare.clone(), results(&[("a", "1")])];
    assert_eq!(thinking("m", &open, 8_192), "null null");
    let thoughtful = answer(vec![thought, call("a", object("{}"))]);
    let open = [user("go"), thoughtful, results(&[("a", "1")])];
    assert_eq!(thinking("m", &open, 8_192), enabled);
    let over = [user("go"), bare, results(&[("a", "1")]), user("now think")];
    assert_eq!(thinking("m", &over, 8_192), enabled);
}
