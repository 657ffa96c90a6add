//! Real sockets on the loopback address: limits, faults, refusals, and what is sent.

use crate::support::{agent, request, shown, user};
use engine_core::ids::Tokens;
use engine_core::provider::{ProviderSpec, Server};
use engine_core::record::Billed;
use engine_core::request::ModelResponse;
use engine_llm::limits::Limits;
use engine_llm::providers::build_within;
use engine_llm::{ErrorClass, Model, ModelError, PlainHttp, Seen};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::model_server::{Gate, ModelServer, Reply, sse};

const CONTENT: &str = r#"{"choices":[{"index":0,"delta":{"content":"all"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";

fn model(base_url: &str, limits: Limits) -> Arc<dyn Model> {
    let spec = ProviderSpec::Openai(Server::new(base_url, Some("EXAMPLE_KEY")));
    let env = |_: &str| Some("sk-secret".to_owned());
    build_within(&spec, &env, PlainHttp::LoopbackOnly, limits).expect("a loopback address is good")
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built")
        .block_on(future)
}

pub(crate) async fn ask(model: &dyn Model) -> Result<ModelResponse, ModelError> {
    let agent = agent("t", 1);
    let prepared = model.prepare(&request(&agent, &[user("go")]));
    model.ask(&prepared, Tokens(1_024), &mut |_| {}).await
}

fn ask_within(server: &ModelServer, limits: Limits) -> Result<ModelResponse, ModelError> {
    block_on(ask(&*model(&server.base_url(), limits)))
}

fn ask_server(server: &ModelServer) -> Result<ModelResponse, ModelError> {
    ask_within(server, Limits::default())
}

/// One reply and how it fails: kind, how much was seen, what it may have cost.
fn check_failure(reply: Reply, limits: Limits, expected: (&str, Seen, Billed)) -> ModelError {
    let server = ModelServer::playing([reply]);
    let error = ask_within(&server, limits).expect_err("this reply is no answer");
    assert_eq!(
        (error.kind(), error.seen, error.billed()),
        expected,
        "{error}"
    );
    error
}

#[test]
fn an_answer_comes_through_however_it_is_flushed() {
    let whole: String = [CONTENT, STOP, DONE].map(sse).concat();
    let server = ModelServer::playing([
        Reply::text("hello there").usage(10, 5),
        Reply::calls([("read", r#"{"path":"a.txt"}"#)]).without_usage(),
        Reply::bytes().send_bytewise(&whole),
        Reply::bytes().send(&whole),
    ]);
    let model = model(&server.base_url(), Limits::default());
    block_on(async {
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(shown(&ask(&*model).await.expect("these replies are good")));
        }
        assert_eq!(
            answers,
            [
                r#""hello there" | End | 10+5"#,
                r#"call_1_1 read {"path":"a.txt"} | Calls"#,
                r#""all" | End"#,
                r#""all" | End"#,
            ]
        );
    });
}

#[test]
fn what_was_prepared_is_what_is_sent_with_key_and_limit() {
    let server = ModelServer::playing([Reply::text("ok")]);
    let model = model(&server.base_url(), Limits::default());
    let agent = agent("t", 1);
    let prepared = model.prepare(&request(&agent, &[user("go")]));
    block_on(model.ask(&prepared, Tokens(77), &mut |_| {})).expect("this reply is good");
    let sent = &server.requests()[0];
    let limit = r#","max_tokens":77}"#;
    let without = String::from_utf8_lossy(&sent.body).replace(limit, "}");
    assert_eq!(without, prepared.body());
    assert_eq!(prepared.bytes, prepared.body().len() as u64);
    assert_eq!(prepared.hash.len(), 64);
    assert_eq!(sent.path, "/v1/chat/completions");
    assert_eq!(sent.header("authorization"), Some("Bearer sk-secret"));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("accept"), Some("text/event-stream"));
    assert_eq!(sent.max_output(), Some(77));
}

#[test]
fn a_server_that_closes_after_each_answer_loses_no_request() {
    let server = ModelServer::playing([Reply::text("a"), Reply::text("b")]);
    let model = model(&server.base_url(), Limits::default());
    block_on(async {
        ask(&*model).await.expect("the first reply is good");
        ask(&*model).await.expect("the second reply is good");
    });
    assert_eq!(server.seen().connections, 2);
}

#[test]
fn a_stream_that_ends_early_is_told_with_what_was_seen() {
    let half = || Reply::bytes().send(sse(CONTENT));
    let lost = Billed::Reservation;
    let within = Limits::default();
    check_failure(half(), within, ("stream-cut", Seen::Content, lost));
    check_failure(half().cut(), within, ("stream-cut", Seen::Content, lost));
    check_failure(half().reset(), within, ("stream-cut", Seen::Content, lost));
    check_failure(
        Reply::bytes().send(": wait\n\n"),
        within,
        ("stream-cut", Seen::Nothing, lost),
    );
    let error = check_failure(Reply::bytes(), within, ("stream-cut", Seen::Nothing, lost));
    assert_eq!(
        error.class(),
        ErrorClass::StreamCut {
            seen: Seen::Nothing
        }
    );
}

#[test]
fn a_whole_answer_needs_no_end_of_the_connection() {
    let whole = [CONTENT, STOP, DONE].map(sse).concat();
    let unmarked = [CONTENT, STOP].map(sse).concat();
    let quick = Limits {
        after_whole: Duration::from_millis(50),
        ..Limits::default()
    };
    for reply in [
        Reply::bytes().send(&whole).stall(),
        Reply::bytes().send(&unmarked),
        Reply::bytes().send(&unmarked).cut(),
        Reply::bytes().send(&unmarked).stall(),
    ] {
        let server = ModelServer::playing([reply]);
        let begun = Instant::now();
        let response = ask_within(&server, quick).expect("the answer is whole");
        assert_eq!(response.answer.text(), "all");
        assert!(begun.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn bytes_that_are_not_utf8_are_no_answer() {
    let mut body = sse(CONTENT).into_bytes();
    let at = body.iter().position(|b| *b == b'a').expect("it holds text");
    body[at] = 0xC3;
    let error = check_failure(
        Reply::bytes().send(body),
        Limits::default(),
        ("protocol", Seen::Nothing, Billed::Reservation),
    );
    assert!(error.to_string().contains("invalid UTF-8"), "{error}");
}

#[test]
fn time_limits_count_events_and_not_keep_alives() {
    let short = Duration::from_millis(80);
    let impatient = Limits {
        first_event: short,
        ..Limits::default()
    };
    let lost = Billed::Reservation;
    let gate = Gate::closed();
    for silent in [Reply::bytes().stall(), Reply::text("late").after(&gate)] {
        let error = check_failure(silent, impatient, ("too-slow", Seen::Nothing, lost));
        assert!(error.to_string().contains("first event"), "{error}");
    }
    let idle = Limits {
        idle: short,
        ..Limits::default()
    };
    let mut pings = Reply::bytes().send(sse(CONTENT));
    for _ in 0..40 {
        pings = pings
            .pause(short / 8)
            .send(": wait\n\n")
            .send(sse(": wait"));
    }
    let pings = pings.send(sse(STOP));
    let error = check_failure(pings, idle, ("too-slow", Seen::Content, lost));
    assert!(error.to_string().contains("further event"), "{error}");
}

#[test]
fn an_answer_has_a_largest_size() {
    let limits = Limits {
        answer_bytes: 1_000,
        ..Limits::default()
    };
    let long = (0..100).fold(Reply::bytes(), |reply, _| reply.send(sse(CONTENT)));
    check_failure(
        long.stall(),
        limits,
        ("answer-too-large", Seen::Content, Billed::Reservation),
    );
    let comments = Reply::bytes().send(":".repeat(2_000)).stall();
    check_failure(
        comments,
        limits,
        ("answer-too-large", Seen::Nothing, Billed::Reservation),
    );
}

#[test]
fn a_refusal_is_told_with_its_wait_and_without_the_key() {
    let free = Billed::Nothing;
    let within = Limits::default();
    let limited = Reply::refusal(429, "slow down").header("retry-after", "7");
    let error = check_failure(limited, within, ("rate-limited", Seen::Nothing, free));
    let after = Some(Duration::from_secs(7));
    assert_eq!(error.class(), ErrorClass::RateLimited { after });
    let wrong = Reply::refusal(401, "no such key: sk-secret");
    let error = check_failure(wrong, within, ("key-refused", Seen::Nothing, free));
    let told = error.to_string();
    assert!(told.contains("no such key: [key]"), "{told}");
    assert!(!format!("{error:?}").contains("sk-secret"));
    let moved = Reply::refusal(307, "elsewhere").header("location", "/v2");
    check_failure(moved, within, ("refused", Seen::Nothing, free));
    let page = Reply::bytes()
        .header("content-type", "text/html; charset=utf-8")
        .send("<html>");
    let lost = Billed::Reservation;
    check_failure(page, within, ("protocol", Seen::Nothing, lost));
}

#[test]
fn an_error_after_content_is_told_as_seen() {
    let error = sse(r#"{"error":{"code":503,"message":"sorry"}}"#);
    check_failure(
        Reply::bytes().send(sse(CONTENT)).send(error),
        Limits::default(),
        ("busy", Seen::Content, Billed::Reservation),
    );
}

#[test]
fn an_answer_that_was_not_streamed_is_taken() {
    let whole = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let server = ModelServer::playing([Reply::bytes()
        .header("content-type", "application/json")
        .send(whole)]);
    let response = ask_server(&server).expect("the answer is whole");
    assert_eq!(response.answer.text(), "ok");
}

#[test]
fn dropping_the_question_ends_the_connection() {
    let server = ModelServer::playing([Reply::bytes().send(sse(CONTENT)).stall()]);
    let model = model(&server.base_url(), Limits::default());
    let agent = agent("t", 1);
    let prepared = model.prepare(&request(&agent, &[user("go")]));
    block_on(async {
        let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let mut on_event = |event| drop(heard.send(event));
        tokio::select! {
            _ = model.ask(&prepared, Tokens(9), &mut on_event) => panic!("it stalls"),
            event = hears.recv() => assert!(event.is_some()),
        }
        tokio::task::yield_now().await;
    });
    server.wait_until(|seen| seen.abandoned == 1);
}

#[test]
fn a_probe_tells_whether_the_provider_is_there_and_takes_the_key() {
    let server = ModelServer::playing([]);
    let probe = |base_url: &str| block_on(model(base_url, Limits::default()).probe());
    assert_eq!(probe(&server.base_url()), Ok(()));
    assert_eq!(server.requests().len(), 0);
    let refusing = ModelServer::refusing_the_key("who are you");
    let error = probe(&refusing.base_url()).expect_err("the key is refused");
    assert_eq!(error.class(), ErrorClass::KeyRefused);
    let gone = server.base_url();
    drop(server);
    let error = probe(&gone).expect_err("nobody is there");
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let host = gone.trim_start_matches("http://").trim_end_matches("/v1");
    assert_eq!(
        error.to_string(),
        format!("{host}: cannot be reached: Connection refused (os error 111)")
    );
}

#[test]
fn nobody_listening_is_told_before_anything_is_sent() {
    let server = ModelServer::playing([]);
    let base_url = server.base_url();
    drop(server);
    let error = block_on(ask(&*model(&base_url, Limits::default()))).expect_err("nobody is there");
    assert_eq!(
        (error.kind(), error.billed()),
        ("unreachable", Billed::Nothing)
    );
}

#[test]
fn many_are_asked_at_once_through_one_model() {
    let gate = Gate::closed();
    let held = gate.clone();
    let server = ModelServer::answering(move |_| Reply::text("ok").after(&held));
    let model = model(&server.base_url(), Limits::default());
    block_on(async {
        let asked = std::array::from_fn::<_, 8, _>(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { ask(&*model).await })
        });
        let watched = tokio::task::spawn_blocking(move || {
            server.wait_until(|seen| seen.in_flight == 8);
            gate.open();
            server
        });
        for answer in asked {
            let answer = answer.await.expect("no panic");
            assert_eq!(answer.expect("a good reply").answer.text(), "ok");
        }
        let server = watched.await.expect("no panic");
        assert_eq!(server.seen().peak, 8);
    });
}
