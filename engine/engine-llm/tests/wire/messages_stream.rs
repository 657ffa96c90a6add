//! Streams of messages, good and odd, and the answers they make.

use crate::support::shown;
use engine_core::message::Block;
use engine_llm::messages::Assembler;
use engine_llm::sse::Decoder;
use engine_llm::wire::{Assemble as _, Progress};
use engine_llm::{Fault, StreamEvent};
use proptest::prelude::*;
use testkit::model_server::{named_sse, sse};

const START: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;
const SIGNED: &str = r#"{"signature":"EqQB/8+=","type":"thinking"}"#;

fn assembled(body: &str) -> Result<engine_core::request::ModelResponse, Fault> {
    let mut events = Vec::new();
    Decoder::default()
        .feed(body.as_bytes(), &mut |event| events.push(event))
        .expect("these bodies are UTF-8");
    let mut answer = Assembler::default();
    for event in &events {
        answer.take(event, &mut |_| {})?;
    }
    answer.finish()
}

/// The answer that a body makes, as one line.
fn check(body: &str, expected: &str) {
    let found = assembled(body).map(|response| shown(&response));
    assert_eq!(found.as_deref(), Ok(expected), "{body}");
}

fn check_fault(body: &str, expected: &str) {
    let fault = assembled(body).expect_err("this is no answer");
    assert_eq!(fault.to_string(), expected, "{body}");
}

/// The events, each named by its type.
fn stream(events: &[&str]) -> String {
    let name = |event: &str| {
        let value: serde_json::Value = serde_json::from_str(event).unwrap_or_default();
        value["type"].as_str().unwrap_or("").to_owned()
    };
    events
        .iter()
        .map(|event| named_sse(&name(event), event))
        .collect()
}

fn open(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn piece(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn close(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn ending(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":5}}}}"#
    )
}

/// A whole stream with these events of blocks.
fn answer(blocks: &[String], reason: &str) -> String {
    let end = ending(reason);
    let blocks = blocks.iter().map(String::as_str);
    let events: Vec<&str> = [START]
        .into_iter()
        .chain(blocks)
        .chain([&*end, STOP])
        .collect();
    stream(&events)
}

fn says(index: u64, text: &str) -> [String; 3] {
    [
        open(index, r#"{"type":"text","text":""}"#),
        piece(
            index,
            &format!(r#"{{"type":"text_delta","text":"{text}"}}"#),
        ),
        close(index),
    ]
}

#[test]
fn tokens_are_counted_once_with_the_cached_ones() {
    check(
        &answer(&says(0, "ok"), "end_turn"),
        r#""ok" | End | 20+5 (7 cached)"#,
    );
    let bare =
        r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}"#;
    let [a, b, c] = says(0, "ok");
    let (end, corrected) = (
        ending("end_turn"),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":12,"output_tokens":6}}"#,
    );
    check(
        &stream(&[bare, &a, &b, &c, &end, STOP]),
        r#""ok" | End | 10+5"#,
    );
    check(
        &stream(&[bare, &a, &b, &c, &end, corrected, STOP]),
        r#""ok" | End | 12+6"#,
    );
    let unreported = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    check(
        &stream(&[bare, &a, &b, &c, unreported, STOP]),
        r#""ok" | End"#,
    );
}

#[test]
fn every_stop_reason_has_its_meaning() {
    for (reason, expected) in [
        ("end_turn", "End"),
        ("stop_sequence", "End"),
        ("max_tokens", "OutputLimit"),
        ("model_context_window_exceeded", "OutputLimit"),
        ("refusal", "Filtered"),
        ("pause_turn", "Paused"),
        ("of_tomorrow", "End"),
    ] {
        check(
            &answer(&says(0, "a"), reason),
            &format!(r#""a" | {expected} | 20+5 (7 cached)"#),
        );
    }
    let call = [open(
        0,
        r#"{"type":"tool_use","id":"c1","name":"now","input":{}}"#,
    )];
    for (reason, expected) in [
        ("tool_use", "Calls"),
        ("end_turn", "Calls"),
        ("max_tokens", "OutputLimit"),
    ] {
        check(
            &answer(&call, reason),
            &format!("c1 now {{}} | {expected} | 20+5 (7 cached)"),
        );
    }
}

#[test]
fn input_comes_in_every_shape() {
    let expected = r#"c1 read {"p":"a"} | Calls | 20+5 (7 cached)"#;
    let json = |text: &str| {
        piece(
            0,
            &format!(r#"{{"type":"input_json_delta","partial_json":{text}}}"#),
        )
    };
    let opened = |input: &str| {
        open(
            0,
            &format!(r#"{{"type":"tool_use","id":"c1","name":"read"{input}}}"#),
        )
    };
    let halves = [json(r#""{\"p\":""#), json(r#""\"a\"}""#)];
    for input in ["", r#","input":{}"#, r#","input":null"#, r#","input":"""#] {
        let [left, right] = halves.clone();
        check(&answer(&[opened(input), left, right], "tool_use"), expected);
    }
    for whole in [r#","input":{"p":"a"}"#, r#","input":"{\"p\":\"a\"}""#] {
        check(
            &answer(&[opened(whole), json(r#""""#)], "tool_use"),
            expected,
        );
    }
    let broken = answer(&[opened(""), json(r#""{\"p\":""#)], "tool_use");
    let found = assembled(&broken).map(|response| shown(&response));
    assert!(
        found
            .expect("it is whole")
            .starts_with(r#"c1 read INVALID {"p": (EOF"#)
    );
}

#[test]
fn blocks_may_be_open_side_by_side() {
    let thought = r#"{"type":"thinking_delta","thinking":"hm"}"#;
    let events = [
        open(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        piece(0, thought),
        open(1, r#"{"type":"tool_use","id":"c1","name":"read"}"#),
        piece(1, r#"{"type":"input_json_delta","partial_json":"{\"p\":"}"#),
        piece(0, r#"{"type":"signature_delta","signature":"s"}"#),
        open(2, r#"{"type":"tool_use","id":"c2","name":"grep"}"#),
        piece(2, r#"{"type":"input_json_delta","partial_json":"{}"}"#),
        close(0),
        piece(1, r#"{"type":"input_json_delta","partial_json":"\"a\"}"}"#),
        close(2),
        close(1),
    ];
    check(
        &answer(&events, "tool_use"),
        r#"reasoning "hm" | c1 read {"p":"a"} | c2 grep {} | Calls | 20+5 (7 cached)"#,
    );
    let again = [says(0, "a"), says(0, "b")].concat();
    check(
        &answer(&again, "end_turn"),
        r#""a" | "b" | End | 20+5 (7 cached)"#,
    );
}

#[test]
fn reasoning_keeps_its_signature_byte_for_byte() {
    let signed = |blocks: &[String]| -> Vec<(String, Option<String>)> {
        let response = assembled(&answer(blocks, "end_turn")).expect("the answer is whole");
        let blocks = response.answer.blocks.into_iter();
        blocks
            .filter_map(|block| match block {
                Block::Reasoning { text, signed } => Some((text, signed)),
                _ => None,
            })
            .collect()
    };
    let opened = open(0, r#"{"type":"thinking","thinking":"","signature":""}"#);
    let thought = piece(0, r#"{"type":"thinking_delta","thinking":"n\u00e9"}"#);
    let halves = ["EqQB", "/8+="].map(|half| {
        piece(
            0,
            &format!(r#"{{"type":"signature_delta","signature":"{half}"}}"#),
        )
    });
    let [left, right] = halves;
    let whole = [
        opened.clone(),
        thought.clone(),
        left.clone(),
        right.clone(),
        close(0),
    ];
    assert_eq!(
        signed(&whole),
        [("n\u{e9}".to_owned(), Some(SIGNED.to_owned()))]
    );
    let hidden = [opened.clone(), left, right, close(0)];
    assert_eq!(signed(&hidden), [(String::new(), Some(SIGNED.to_owned()))]);
    let unsigned = [opened, thought, close(0)];
    assert_eq!(signed(&unsigned), [("n\u{e9}".to_owned(), None)]);
    let redacted = r#"{"data":"Emw=\u2028","type":"redacted_thinking"}"#;
    let kept = "{\"data\":\"Emw=\u{2028}\",\"type\":\"redacted_thinking\"}";
    assert_eq!(
        signed(&[open(0, redacted)]),
        [(String::new(), Some(kept.to_owned()))]
    );
}

#[test]
fn what_no_one_asked_for_is_passed_over() {
    let [a, b, c] = says(0, "ok");
    let end = ending("end_turn");
    let later = r#"{"type":"of_tomorrow","x":1}"#;
    let foreign = open(1, r#"{"type":"server_tool_use","id":"s","name":"web"}"#);
    let added = piece(1, r#"{"type":"input_json_delta","partial_json":"{}"}"#);
    let cited = piece(0, r#"{"type":"citations_delta","citation":{}}"#);
    check(
        &stream(&[
            START, later, &a, &b, &cited, &c, &foreign, &added, &end, STOP,
        ]),
        r#""ok" | End | 20+5 (7 cached)"#,
    );
    let unnamed: String = [START, &a, &b, &c, &end, STOP].map(sse).concat();
    check(&unnamed, r#""ok" | End | 20+5 (7 cached)"#);
}

#[test]
fn pings_are_no_events_of_the_answer() {
    let mut answer = Assembler::default();
    let mut take = |body: &str| {
        let mut progress = None;
        Decoder::default()
            .feed(body.as_bytes(), &mut |event| {
                progress = Some(answer.take(&event, &mut |_| {}).expect("a good event"));
            })
            .expect("UTF-8");
        progress.expect("one event")
    };
    let ping = r#"{"type":"ping"}"#;
    assert_eq!(take(&named_sse("ping", ping)), Progress::Ignored);
    assert_eq!(take(&sse(ping)), Progress::Ignored);
    assert_eq!(take(&sse(START)), Progress::Open);
    assert_eq!(take(&sse(ending("end_turn"))), Progress::Whole);
    assert_eq!(take(&sse(STOP)), Progress::Ended);
}

#[test]
fn a_stream_without_its_end_is_no_answer() {
    let early = "the stream ended early: it ended without its end mark";
    let [a, b, c] = says(0, "half");
    check_fault(&stream(&[START, &a, &b]), early);
    check_fault(&stream(&[START, &a, &b, &c]), early);
    check_fault(&stream(&[START, STOP]), early);
    check_fault("", early);
    check(&stream(&[START, &a, &b, &c, STOP]), r#""half" | End"#);
    let end = ending("end_turn");
    check(
        &stream(&[START, &a, &b, &c, &end]),
        r#""half" | End | 20+5 (7 cached)"#,
    );
}

#[test]
fn an_error_in_the_stream_is_told_by_its_kind() {
    let error = |kind: &str| {
        let data = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"sorry"}}}}"#);
        [named_sse("error", &data), sse(&data)]
    };
    for (kind, expected) in [
        (
            "overloaded_error",
            "temporarily unable to answer (status 529): sorry",
        ),
        (
            "api_error",
            "temporarily unable to answer (status 500): sorry",
        ),
        ("rate_limit_error", "rate limited: sorry"),
        (
            "authentication_error",
            "the key was refused (status 401): sorry",
        ),
        (
            "invalid_request_error",
            "the request was refused (status 400): sorry",
        ),
        (
            "request_too_large",
            "the request is larger than the model's context: sorry",
        ),
    ] {
        for event in error(kind) {
            check_fault(&format!("{}{event}", sse(START)), expected);
        }
    }
}

#[test]
fn what_is_not_of_this_wire_is_told() {
    let odd = |detail: &str| format!("the answer is not valid: {detail}");
    let stray = piece(4, r#"{"type":"text_delta","text":"a"}"#);
    check_fault(
        &stream(&[START, &stray]),
        &odd("a piece of a block that was not opened"),
    );
    let nameless = open(0, r#"{"type":"tool_use","id":"c"}"#);
    check_fault(
        &answer(&[nameless], "tool_use"),
        &odd("a tool call has no name"),
    );
    let fault = assembled("data: <html>\n\n").expect_err("this is no event");
    assert!(
        fault
            .to_string()
            .contains("an event is not of the messages wire"),
        "{fault}"
    );
}

#[test]
fn a_message_that_came_at_once_is_taken() {
    let whole = r#"{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ok"},{"type":"tool_use","id":"c","name":"read","input":{"p":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#;
    check(
        &sse(whole),
        r#"reasoning "hm" | "ok" | c read {"p":1} | Calls | 3+4"#,
    );
}

#[test]
fn pieces_are_heard_as_they_come() {
    let mut heard = Vec::new();
    let events = [
        open(0, r#"{"type":"thinking","thinking":""}"#),
        piece(0, r#"{"type":"thinking_delta","thinking":"hm"}"#),
        open(1, r#"{"type":"text","text":"a"}"#),
        piece(1, r#"{"type":"text_delta","text":"b"}"#),
        open(
            2,
            r#"{"type":"tool_use","id":"c","name":"read","input":{}}"#,
        ),
    ];
    let mut taken = Assembler::default();
    Decoder::default()
        .feed(answer(&events, "tool_use").as_bytes(), &mut |event| {
            taken
                .take(&event, &mut |piece| heard.push(piece))
                .expect("a good event");
        })
        .expect("UTF-8");
    let call = StreamEvent::Call {
        name: "read".to_owned(),
    };
    let text = |text: &str| StreamEvent::Text(text.to_owned());
    assert_eq!(
        heard,
        [
            StreamEvent::Reasoning("hm".to_owned()),
            text("a"),
            text("b"),
            call
        ]
    );
}

proptest! {
    /// Whatever a server sends, an answer or a fault comes of it.
    #[test]
    fn no_stream_makes_it_panic(
        events in prop::collection::vec(
            prop_oneof![
                Just(START.to_owned()),
                Just(STOP.to_owned()),
                "[a-z_]{1,12}".prop_map(|reason| ending(&reason)),
                (0_u64..3, "[a-z_]{1,9}").prop_map(|(at, kind)| open(at, &format!(r#"{{"type":"{kind}","text":null}}"#))),
                (0_u64..3).prop_map(|at| open(at, r#"{"type":"tool_use","name":"n"}"#)),
                (0_u64..3, "\\PC{0,4}").prop_map(|(at, text)| {
                    let text = serde_json::to_string(&text).unwrap_or_default();
                    piece(at, &format!(r#"{{"text":{text},"thinking":{text},"partial_json":{text},"signature":{text}}}"#))
                }),
                "\\PC{0,20}",
            ],
            0..12,
        )
    ) {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let body = stream(&events);
        let _ = assembled(&body);
    }
}
