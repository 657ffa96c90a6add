//! The loop over the chat-completions wire, to a server that refuses every invalid request.

use super::fakes::{Bench, finished};
use engine_core::outcome::{AgentOutcome, FailureKind};
use engine_core::provider::{ProviderSpec, Server};
use engine_llm::providers::build;
use engine_llm::{Model, PlainHttp};
use engine_runtime::JournalClosed;
use std::sync::Arc;
use testkit::model_server::{ModelServer, Reply, sse};

fn model(server: &ModelServer) -> Arc<dyn Model> {
    let spec = ProviderSpec::Openai(Server::new(&server.base_url(), None));
    build(&spec, &|_| None, PlainHttp::LoopbackOnly).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn run(bench: &Bench, server: &ModelServer, told: &[&str]) -> Result<AgentOutcome, JournalClosed> {
    block_on(async {
        let agent = bench.run_with(model(server), bench.tools.clone(), told);
        agent.await
    })
}

/// A stream whose chunks have these deltas.
fn stream(deltas: &[String], finish: &str) -> Reply {
    let chunk = |delta: &String| sse(format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#));
    let end = sse(format!(
        r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}"#
    ));
    let body = deltas.iter().map(chunk);
    let body = body.chain([end, sse("[DONE]")]);
    body.fold(Reply::bytes(), Reply::send)
}

/// A stream of pieces of tool calls.
fn pieces(lists: &[&str], finish: &str) -> Reply {
    let deltas = lists
        .iter()
        .map(|list| format!(r#"{{"tool_calls":{list}}}"#));
    stream(&deltas.collect::<Vec<_>>(), finish)
}

fn text(text: &str) -> Reply {
    stream(&[format!(r#"{{"content":"{text}"}}"#)], "stop")
}

/// Plays the replies, then `done`; gives the agent's bench and the server.
fn play(replies: Vec<Reply>) -> (Bench, ModelServer) {
    let turns = replies.len() + 1;
    let server = ModelServer::playing(replies.into_iter().chain([text("done")]));
    let bench = Bench::new([]);
    assert_eq!(run(&bench, &server, &[]), finished("done"));
    assert_eq!(server.seen().broken_rules, Vec::<String>::new());
    assert_eq!(server.requests().len(), turns);
    (bench, server)
}

/// Plays one answer with calls; what ran, and the arguments as they were sent back.
fn check(reply: Reply, ran: &[&str], sent_back: &[&str]) {
    let (bench, server) = play(vec![reply]);
    assert_eq!(bench.ran(), ran);
    let requests = server.requests();
    let answer = &requests[1].messages()[2]["tool_calls"];
    let arguments = answer.as_array().unwrap().iter();
    let arguments: Vec<&str> = arguments
        .map(|call| call["function"]["arguments"].as_str().unwrap())
        .collect();
    assert_eq!(arguments, sent_back);
}

#[test]
fn pieces_with_a_wrong_index_run_as_the_calls_they_are() {
    let reply = pieces(
        &[
            r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":\"a\"}"}}]"#,
            r#"[{"index":0,"id":"c2","function":{"name":"grep","arguments":"{\"q\":"}}]"#,
            r#"[{"index":1,"function":{"arguments":"\"b\"}"}}]"#,
        ],
        "tool_calls",
    );
    check(reply, &["c1", "c2"], &[r#"{"p":"a"}"#, r#"{"q":"b"}"#]);
}

#[test]
fn a_whole_call_that_ends_with_stop_runs() {
    let call = r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":{"p":"a"}}}]"#;
    check(pieces(&[call], "stop"), &["c1"], &[r#"{"p":"a"}"#]);
}

#[test]
fn blank_answers_and_texts_are_never_sent_back() {
    let blank_text = stream(
        &[
            r#"{"content":"  \n"}"#.to_owned(),
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"out\":\" \"}"}}]}"#
                .to_owned(),
        ],
        "tool_calls",
    );
    let (bench, server) = play(vec![stream(&[], "stop"), blank_text]);
    assert_eq!(bench.ran(), ["c1"]);
    assert_eq!(server.requests()[2].last_results(), ["(no output)"]);
}

#[test]
fn doubled_empty_and_missing_ids_pair_with_their_results() {
    let call = |id: &str| format!(r#"{{{id}"function":{{"name":"read","arguments":"{{}}"}}}}"#);
    let two = |a: &str, b: &str| {
        let (a, b) = (
            call(&format!("{a}\"index\":0,")),
            call(&format!("{b}\"index\":1,")),
        );
        pieces(&[&format!("[{a},{b}]")], "tool_calls")
    };
    let one = || {
        pieces(
            &[&format!("[{}]", call(r#""id":"shell:0","#))],
            "tool_calls",
        )
    };
    let replies = vec![two(r#""id":"","#, ""), one(), one()];
    let (bench, server) = play(replies);
    assert_eq!(bench.ran().len(), 4);
    let before = server.requests().last().unwrap().last_results().len();
    assert_eq!(before, 1);

    let server = ModelServer::playing([text("done")]);
    assert_eq!(run(&bench, &server, &["one more"]), finished("done"));
    assert_eq!(server.seen().broken_rules, Vec::<String>::new());
    assert_eq!(bench.ran().len(), 4);
}

#[test]
fn invalid_arguments_are_answered_and_replaced() {
    let call = r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a.txt\",\"content\":\"un"}}]"#;
    check(pieces(&[call], "tool_calls"), &[], &["{}"]);
}

#[test]
fn a_conversation_that_is_too_large_is_sent_once() {
    let overflow = || {
        let body = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
        Reply::refusal(413, body)
    };
    let server = ModelServer::answering(move |_| overflow());
    let bench = Bench::new([]);
    let Ok(AgentOutcome::Failed { kind, .. }) = run(&bench, &server, &[]) else {
        panic!("it must fail");
    };
    assert_eq!(kind, FailureKind::ContextTooLarge);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_stop_and_go_on_pass_the_server_s_rules() {
    let calls = r#"[{"index":0,"id":"t1","function":{"name":"shell","arguments":"{\"hang\":1}"}},{"index":1,"id":"t2","function":{"name":"read","arguments":"{}"}}]"#;
    let server = ModelServer::playing([pieces(&[calls], "tool_calls"), text("done")]);
    let bench = Bench::new([]);
    let end = block_on(async {
        let stop = async {
            bench.tools.started.notified().await;
            bench.cancel.cancel();
        };
        let agent = bench.run_with(model(&server), bench.tools.clone(), &[]);
        futures_util::future::join(agent, stop).await.0
    });
    assert_eq!(end, Ok(AgentOutcome::Interrupted));
    let again = Bench {
        cancel: Default::default(),
        ..bench
    };
    assert_eq!(run(&again, &server, &["go on"]), finished("done"));
    assert_eq!(server.seen().broken_rules, Vec::<String>::new());
    let last = server.requests().pop().unwrap();
    let results: Vec<&str> = last.texts("tool");
    assert!(results[0].contains("may have had effects"), "{results:?}");
    assert!(results[1].contains("Not run"), "{results:?}");
    assert_eq!(last.texts("user"), ["go", "go on"]);
    assert_eq!(again.ran(), ["t1"]);
}
