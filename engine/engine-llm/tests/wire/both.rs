//! What holds on every wire alike: one table of behaviours, asked of each over a real socket.

use crate::http::{ask, block_on};
use crate::support::shown;
use engine_core::provider::{ProviderSpec, Server};
use engine_core::record::Billed;
use engine_core::request::ModelResponse;
use engine_llm::errors::Seen;
use engine_llm::limits::Limits;
use engine_llm::providers::build_within;
use engine_llm::{Model, ModelError, PlainHttp};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::model_server::{ModelServer, Reply, Wire, named_sse, sse};

fn model(wire: Wire, base_url: &str, limits: Limits) -> Arc<dyn Model> {
    let server = Server::new(base_url, Some("EXAMPLE_KEY"));
    let spec = match wire {
        Wire::Chat => ProviderSpec::Openai(server),
        Wire::Messages => ProviderSpec::Anthropic(server),
    };
    let env = |_: &str| Some("sk-secret".to_owned());
    build_within(&spec, &env, PlainHttp::LoopbackOnly, limits).expect("a loopback address is good")
}

fn answer(wire: Wire, reply: Reply, limits: Limits) -> Result<ModelResponse, ModelError> {
    let server = ModelServer::playing([reply]);
    let answer = block_on(ask(&*model(wire, &server.base_url(), limits)));
    assert_eq!(server.seen().broken_rules, [""; 0]);
    answer
}

/// Plays a reply on each wire; how it fails: kind, how much was seen, what it may have cost.
fn check_failure(reply: &Reply, limits: Limits, expected: (&str, Seen, Billed)) {
    for wire in Wire::BOTH {
        let error = answer(wire, reply.clone(), limits).expect_err("this reply is no answer");
        let found = (error.kind(), error.seen, error.billed());
        assert_eq!(found, expected, "{wire:?}: {error}");
    }
}

#[test]
fn an_answer_and_its_usage_are_the_same_whatever_the_wire() {
    for wire in Wire::BOTH {
        for (reply, expected) in [
            (Reply::text("ok so").usage(10, 5), r#""ok so" | End | 10+5"#),
            (Reply::text("ok").without_usage(), r#""ok" | End"#),
            (
                Reply::calls([("read", r#"{"p":"a"}"#), ("now", "")]).usage(1, 2),
                r#"call_1_1 read {"p":"a"} | call_1_2 now {} | Calls | 1+2"#,
            ),
            (
                Reply::text("half").finish_reason("length").usage(1, 2),
                r#""half" | OutputLimit | 1+2"#,
            ),
            (
                Reply::text("no")
                    .finish_reason("content_filter")
                    .usage(1, 2),
                r#""no" | Filtered | 1+2"#,
            ),
            (
                Reply::text("so").thinking("hm", "s").usage(1, 2),
                r#"reasoning "hm" | "so" | End | 1+2"#,
            ),
        ] {
            let found = answer(wire, reply, Limits::default()).expect("these replies are good");
            assert_eq!(shown(&found), expected, "{wire:?}");
        }
    }
}

#[test]
fn the_key_goes_where_its_wire_wants_it_and_nowhere_else() {
    for wire in Wire::BOTH {
        let server = ModelServer::playing([Reply::text("ok"), Reply::text("ok")]);
        let base = server.base_url();
        block_on(ask(&*model(wire, &base, Limits::default()))).expect("this reply is good");
        let bare = base.trim_end_matches("/v1");
        if wire == Wire::Messages {
            block_on(ask(&*model(wire, bare, Limits::default()))).expect("this reply is good");
        }
        for sent in server.requests() {
            let keys = ["authorization", "x-api-key", "anthropic-version"].map(|h| sent.header(h));
            match wire {
                Wire::Chat => assert_eq!(keys, [Some("Bearer sk-secret"), None, None]),
                Wire::Messages => {
                    assert_eq!(keys, [None, Some("sk-secret"), Some("2023-06-01")]);
                    assert_eq!(sent.path, "/v1/messages");
                }
            }
        }
    }
}

#[test]
fn a_stream_without_its_end_is_no_answer() {
    let lost = Billed::Reservation;
    let within = Limits::default();
    let half = || Reply::text("half").without_end();
    for reply in [half(), half().cut(), half().reset()] {
        check_failure(&reply, within, ("stream-cut", Seen::Content, lost));
    }
    for reply in [Reply::bytes(), Reply::bytes().send(": wait\n\n")] {
        check_failure(&reply, within, ("stream-cut", Seen::Nothing, lost));
    }
}

#[test]
fn a_whole_answer_needs_no_end_of_the_connection() {
    let quick = Limits {
        after_whole: Duration::from_millis(50),
        ..Limits::default()
    };
    for wire in Wire::BOTH {
        for reply in [
            Reply::text("all").stall(),
            Reply::text("all").without_mark(),
            Reply::text("all").without_mark().cut(),
            Reply::text("all").without_mark().stall(),
        ] {
            let begun = Instant::now();
            let response = answer(wire, reply, quick).expect("the answer is whole");
            assert_eq!(response.answer.text(), "all", "{wire:?}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{wire:?}");
        }
    }
}

#[test]
fn a_refusal_is_sorted_by_its_status_and_books_nothing_that_was_not_worked_on() {
    let free = Billed::Nothing;
    let lost = Billed::Reservation;
    for (status, kind, billed) in [
        (400, "refused", free),
        (401, "key-refused", free),
        (403, "key-refused", free),
        (404, "refused", free),
        (408, "busy", lost),
        (413, "context-too-large", free),
        (429, "rate-limited", free),
        (500, "busy", lost),
        (502, "busy", lost),
        (503, "busy", free),
        (504, "busy", lost),
        (529, "busy", free),
    ] {
        let reply = Reply::refusal(status, "no");
        check_failure(&reply, Limits::default(), (kind, Seen::Nothing, billed));
    }
}

#[test]
fn a_connection_that_only_pings_is_silent() {
    let short = Duration::from_millis(500);
    let ping = named_sse("ping", r#"{"type": "ping"}"#);
    let pinging = |reply: Reply, sign: &str| {
        let pings = (0..60).fold(reply, |reply, _| reply.pause(short / 8).send(sign));
        pings.stall()
    };
    let lost = Billed::Reservation;
    let first = Limits {
        first_event: short,
        ..Limits::default()
    };
    let idle = Limits {
        idle: short,
        ..Limits::default()
    };
    for sign in [": wait\n\n".to_owned(), sse(": wait")] {
        let begun = pinging(Reply::bytes(), &sign);
        check_failure(&begun, first, ("too-slow", Seen::Nothing, lost));
        let half = pinging(Reply::text("half").without_end(), &sign);
        check_failure(&half, idle, ("too-slow", Seen::Content, lost));
    }
    let half = pinging(Reply::text("half").without_end(), &ping);
    let error = answer(Wire::Messages, half, idle).expect_err("it only pings");
    assert_eq!(error.kind(), "too-slow");
}

#[test]
fn bytes_that_are_not_utf8_are_no_answer() {
    let reply = Reply::text("half")
        .without_end()
        .send(b"data: n\xC3\x28\n\n");
    let lost = Billed::Reservation;
    check_failure(&reply, Limits::default(), ("protocol", Seen::Content, lost));
}

#[test]
fn an_error_in_the_stream_is_sorted_as_a_refusal_is() {
    let error = |kind: &str| {
        let data = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"no"}}}}"#);
        named_sse("error", data)
    };
    for (kind, found, before, after) in [
        (
            "overloaded_error",
            "busy",
            Billed::Nothing,
            Billed::Reservation,
        ),
        (
            "rate_limit_error",
            "rate-limited",
            Billed::Nothing,
            Billed::Reservation,
        ),
        (
            "context_length_exceeded",
            "context-too-large",
            Billed::Nothing,
            Billed::Reservation,
        ),
    ] {
        let within = Limits::default();
        let early = Reply::bytes().send(error(kind));
        check_failure(&early, within, (found, Seen::Nothing, before));
        let late = Reply::text("half").without_end().send(error(kind));
        check_failure(&late, within, (found, Seen::Content, after));
    }
}
