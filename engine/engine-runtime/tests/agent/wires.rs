//! What the loop makes of answers, on every wire alike, before a server that refuses every invalid
//! request.

use super::fakes::{Bench, finished};
use engine_core::outcome::{AgentOutcome, FailureKind};
use engine_core::provider::{ProviderSpec, Server};
use engine_llm::providers::build;
use engine_llm::{Model, PlainHttp};
use engine_runtime::JournalClosed;
use serde_json::json;
use std::sync::Arc;
use testkit::model_server::{ModelServer, Reply, Wire};

fn model(wire: Wire, server: &ModelServer) -> Arc<dyn Model> {
    let server = Server::new(&server.base_url(), None);
    let spec = match wire {
        Wire::Chat => ProviderSpec::Openai(server),
        Wire::Messages => ProviderSpec::Anthropic(server),
    };
    build(&spec, &|_| None, PlainHttp::LoopbackOnly).unwrap()
}

fn run(
    wire: Wire,
    bench: &Bench,
    server: &ModelServer,
    told: &[&str],
) -> Result<AgentOutcome, JournalClosed> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(bench.run_with(model(wire, server), bench.tools.clone(), told))
}

/// Plays the replies, then `done`; gives the agent's bench and the server.
fn play(wire: Wire, replies: &[Reply]) -> (Bench, ModelServer) {
    let turns = replies.len() + 1;
    let all = replies.iter().cloned().chain([Reply::text("done")]);
    let server = ModelServer::playing(all);
    let bench = Bench::new([]);
    assert_eq!(
        run(wire, &bench, &server, &[]),
        finished("done"),
        "{wire:?}"
    );
    assert_eq!(server.seen().broken_rules, [""; 0], "{wire:?}");
    assert_eq!(server.requests().len(), turns, "{wire:?}");
    (bench, server)
}

/// Answers every request alike; the attempt must fail, and nothing may have run.
fn fails(wire: Wire, reply: Reply, expected: FailureKind, requests: usize) {
    let server = ModelServer::answering(move |_| reply.clone());
    let bench = Bench::new([]);
    let Ok(AgentOutcome::Failed { kind, .. }) = run(wire, &bench, &server, &[]) else {
        panic!("it must fail");
    };
    assert_eq!(kind, expected, "{wire:?}");
    assert_eq!(server.requests().len(), requests, "{wire:?}");
    assert_eq!(server.seen().broken_rules, [""; 0], "{wire:?}");
    assert_eq!(bench.ran(), [""; 0], "{wire:?}");
}

#[test]
fn a_call_that_the_output_limit_cut_is_not_run_and_the_third_ends_the_attempt() {
    for wire in Wire::BOTH {
        for arguments in [
            r#"{"path":"notes.txt","content":"line1\nli"#,
            r#"{"path":"notes.txt"}"#,
        ] {
            let cut = Reply::calls([("edit", arguments)]).finish_reason("length");
            fails(wire, cut.clone(), FailureKind::OutputLimit, 3);
            let (bench, server) = play(wire, &[cut]);
            assert_eq!(bench.ran(), [""; 0]);
            let told = server.requests()[1].last_results().concat();
            assert!(
                told.contains("output limit") && told.contains("smaller"),
                "{told}"
            );
        }
    }
}

#[test]
fn invalid_arguments_are_answered_and_replaced_and_the_fifth_ends_the_attempt() {
    for wire in Wire::BOTH {
        let bad = Reply::calls([("read", r#"{"path":"a.txt","content":"un"#)]);
        let (bench, server) = play(wire, std::slice::from_ref(&bad));
        assert_eq!(bench.ran(), [""; 0]);
        let request = &server.requests()[1];
        assert_eq!(request.last_calls()[0].2, json!({}));
        let told = request.last_results().concat();
        assert!(told.contains("column"), "{told}");
        fails(wire, bad, FailureKind::InvalidArguments, 5);
    }
}

#[test]
fn blank_answers_texts_and_results_are_never_sent_back() {
    for wire in Wire::BOTH {
        let silent = Reply::text("");
        let blank_text = Reply::calls([("read", r#"{"out":" \n\t"}"#)]).saying("  \n");
        let (bench, server) = play(wire, &[silent, blank_text]);
        assert_eq!(bench.ran().len(), 1, "{wire:?}");
        assert_eq!(
            server.requests()[2].last_results(),
            ["(no output)"],
            "{wire:?}"
        );
        assert_eq!(server.requests()[2].texts("assistant"), [""; 0], "{wire:?}");
    }
}

#[test]
fn doubled_and_empty_ids_run_once_each_and_stay_as_they_are_after_a_resume() {
    for wire in Wire::BOTH {
        let two = || Reply::calls([("read", "{}"), ("read", "{}")]);
        let one = || Reply::calls([("read", "{}")]).with_ids(["shell:0"]);
        let replies = [
            two().with_ids(["call_1"]),
            two().with_ids([""]),
            one(),
            one(),
        ];
        let (bench, server) = play(wire, &replies);
        assert_eq!(bench.ran().len(), 6, "{wire:?}");
        let before = server.requests().pop().unwrap().json["messages"].to_string();

        let server = ModelServer::playing([Reply::text("done")]);
        assert_eq!(run(wire, &bench, &server, &["one more"]), finished("done"));
        assert_eq!(server.seen().broken_rules, [""; 0], "{wire:?}");
        assert_eq!(bench.ran().len(), 6, "{wire:?}");
        let marker = r#","cache_control":{"type":"ephemeral"}"#;
        let early = r#""cache_control":{"type":"ephemeral"},"#;
        let bare = |text: &str| text.replace(marker, "").replace(early, "");
        let after = bare(&server.requests()[0].json["messages"].to_string());
        let before = bare(&before);
        assert!(after.starts_with(before.trim_end_matches(']')), "{wire:?}");
    }
}

#[test]
fn a_cut_stream_is_asked_for_again_and_only_the_whole_answer_is_kept() {
    for wire in Wire::BOTH {
        let half = Reply::text("half").without_end();
        let (_, server) = play(wire, &[half]);
        let last = server.requests().pop().unwrap();
        assert_eq!(last.texts("assistant"), [""; 0], "{wire:?}");
    }
}

#[test]
fn signed_reasoning_goes_back_unchanged_also_after_a_resume() {
    let wire = Wire::Messages;
    let thoughtful = |n: usize| {
        Reply::calls([("read", "{}")])
            .thinking(&format!("n\u{e9}\u{2192}{n}"), &format!("EqQB/8+={n}"))
            .redacted(&format!("Emw={n}"))
            .saying("I look.")
    };
    let server = ModelServer::answering(move |request| match request.turn() {
        turn @ (1 | 2) => thoughtful(turn),
        _ => Reply::text("done").thinking("", "only signed"),
    });
    let bench = Bench::new([]);
    assert_eq!(run(wire, &bench, &server, &[]), finished("done"));
    assert_eq!(run(wire, &bench, &server, &["one more"]), finished("done"));
    assert_eq!(server.seen().broken_rules, [""; 0]);
    let last = server.requests().pop().unwrap();
    let thoughts = last
        .body
        .windows(10)
        .filter(|w| w == b"\"signature")
        .count();
    assert_eq!(thoughts, 3, "{:#}", last.json);
}
