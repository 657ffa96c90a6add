//! Streams of chat completions, good and odd, and the answers they make.

use crate::support::shown;
use engine_llm::chat::Assembler;
use engine_llm::sse::Decoder;
use engine_llm::wire::{Assemble as _, Progress};
use engine_llm::{Fault, StreamEvent};
use proptest::prelude::*;
use testkit::model_server::sse;

const DONE: &str = "[DONE]";

/// The answer that a body makes, as one line; else why there is none.
fn assemble(body: &str) -> Result<String, Fault> {
    let mut events = Vec::new();
    Decoder::default()
        .feed(body.as_bytes(), &mut |event| events.push(event))
        .expect("these bodies are UTF-8");
    let mut answer = Assembler::default();
    for event in &events {
        answer.take(event, &mut |_| {})?;
    }
    answer.finish().map(|response| shown(&response))
}

fn check(body: &str, expected: &str) {
    assert_eq!(assemble(body).as_deref(), Ok(expected), "{body}");
}

/// The kind of failure and its message.
fn check_fault(body: &str, expected: &str) {
    let fault = assemble(body).expect_err("this is no answer");
    assert_eq!(fault.to_string(), expected, "{body}");
}

fn stream(events: impl IntoIterator<Item = String>) -> String {
    events.into_iter().map(sse).collect()
}

fn choice(delta: &str, finish_reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish_reason}}}]}}"#)
}

fn ending(reason: &str) -> [String; 2] {
    [choice("{}", &format!("\"{reason}\"")), DONE.to_owned()]
}

/// A stream with these deltas that then ends for this reason.
fn deltas(deltas: &[&str], reason: &str) -> String {
    let open = deltas.iter().map(|delta| choice(delta, "null"));
    stream(open.chain(ending(reason)))
}

/// A stream whose chunks carry these lists of pieces of calls.
fn pieces(chunks: &[&str]) -> String {
    let lists: Vec<String> = chunks
        .iter()
        .map(|chunk| format!(r#"{{"tool_calls":{chunk}}}"#))
        .collect();
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    deltas(&lists, "tool_calls")
}

#[test]
fn a_text_comes_word_by_word() {
    let text = "n\u{e9}\u{2192}\u{1f40b}";
    let body = deltas(
        &[
            r#"{"role":"assistant","content":null}"#,
            &format!(r#"{{"content":"{text}"}}"#),
        ],
        "stop",
    );
    check(&body, &format!("{text:?} | End"));
}

#[test]
fn pieces_of_calls_find_their_call() {
    let two = r#"c1 read {"p":"a"} | c2 grep {"q":"b"} | Calls"#;
    let by_index = [
        r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":"}}]"#,
        r#"[{"index":1,"id":"c2","function":{"name":"grep","arguments":"{\"q\":"}}]"#,
        r#"[{"index":0,"function":{"arguments":"\"a\"}"}}]"#,
        r#"[{"index":1,"function":{"arguments":"\"b\"}"}}]"#,
    ];
    check(&pieces(&by_index), two);
    let without_index = [
        r#"[{"id":"c1","function":{"name":"read","arguments":"{\"p\":"}}]"#,
        r#"[{"function":{"arguments":"\"a\"}"}}]"#,
        r#"[{"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
    ];
    check(&pieces(&without_index), two);
    let index_taken = [
        r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":\"a\"}"}}]"#,
        r#"[{"index":0,"id":"c2","function":{"name":"grep","arguments":"{\"q\":"}}]"#,
        r#"[{"index":1,"function":{"arguments":"\"b\"}"}}]"#,
    ];
    check(&pieces(&index_taken), two);
    let at_once = [
        r#"[{"id":"c1","function":{"name":"read","arguments":"{\"p\":\"a\"}"}},
                       {"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
    ];
    check(&pieces(&at_once), two);
    let wrong_index = [
        r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":"}}]"#,
        r#"[{"index":1,"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
        r#"[{"index":1,"id":"c1","function":{"arguments":"\"a\"}"}}]"#,
    ];
    check(&pieces(&wrong_index), two);
    let wrong_index_named_again = [
        r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":"}}]"#,
        r#"[{"index":1,"id":"c1","function":{"name":"read","arguments":"\"a\"}"}}]"#,
        r#"[{"index":2,"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
    ];
    check(&pieces(&wrong_index_named_again), two);
    let name_told_late = [
        r#"[{"index":0,"id":"c1"}]"#,
        r#"[{"index":0,"function":{"name":"read","arguments":"{\"p\":\"a\"}"}}]"#,
        r#"[{"index":1,"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
    ];
    check(&pieces(&name_told_late), two);
    let id_told_late = [
        r#"[{"index":0,"function":{"name":"read","arguments":"{\"p\":"}}]"#,
        r#"[{"index":0,"id":"c1","function":{"arguments":"\"a\"}"}}]"#,
        r#"[{"index":1,"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
    ];
    check(&pieces(&id_told_late), two);
    let an_id_a_piece = [
        r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":"}}]"#,
        r#"[{"index":0,"id":"x7","function":{"arguments":"\"a\"}"}}]"#,
        r#"[{"index":1,"id":"c2","function":{"name":"grep","arguments":"{\"q\":\"b\"}"}}]"#,
    ];
    check(&pieces(&an_id_a_piece), two);
}

#[test]
fn arguments_come_in_every_shape() {
    let read = r#"c1 read {"p":"a"} | Calls"#;
    for chunks in [
        &[
            r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":null}}]"#,
            r#"[{"index":0,"function":{"arguments":"{\"p\":"}}]"#,
            r#"[{"index":0,"function":{"arguments":"\"a\"}"}}]"#,
        ][..],
        &[
            r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]"#,
            r#"[{"index":0,"id":null,"function":{"name":null,"arguments":"{\"p\":\"a\"}"}}]"#,
        ],
        &[
            r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"p\":"}}]"#,
            r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":"\"a\"}"}}]"#,
        ],
        &[r#"[{"index":0,"id":"c1","function":{"name":"read","arguments":{"p":"a"}}}]"#],
    ] {
        check(&pieces(chunks), read);
    }
    for function in [r#"{"name":"now","arguments":""}"#, r#"{"name":"now"}"#] {
        let chunk = format!(r#"[{{"index":0,"id":"c1","function":{function}}}]"#);
        check(&pieces(&[&chunk]), "c1 now {} | Calls");
    }
}

#[test]
fn a_call_counts_whatever_the_finish_reason_says() {
    let call = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":{"p":"a"}}}]}"#;
    let body = stream([choice(call, r#""stop""#), DONE.to_owned()]);
    check(&body, r#"c1 read {"p":"a"} | Calls"#);
    check(
        &deltas(&[r#"{"content":"a"}"#], "tool_calls"),
        r#""a" | End"#,
    );
}

#[test]
fn doubled_and_absent_ids_are_still_two_calls() {
    let doubled = |second_index: &str| {
        [
            r#"[{"index":0,"id":"call_1","function":{"name":"read","arguments":"{\"p\":\"a\"}"}}]"#
                .to_owned(),
            format!(
                r#"[{{{second_index}"id":"call_1","function":{{"name":"read","arguments":"{{\"p\":\"b\"}}"}}}}]"#
            ),
        ]
    };
    for second_index in [r#""index":1,"#, r#""index":0,"#, ""] {
        let chunks = doubled(second_index);
        check(
            &pieces(&[&chunks[0], &chunks[1]]),
            r#"call_1 read {"p":"a"} | call_1 read {"p":"b"} | Calls"#,
        );
    }
    for (first, second) in [
        (r#""index":0,"id":"","#, r#""index":1,"#),
        (r#""id":"","#, ""),
    ] {
        let chunk = format!(
            r#"[{{{first}"function":{{"name":"read","arguments":"{{}}"}}}},
                {{{second}"function":{{"name":"read","arguments":"{{\"p\":1}}"}}}}]"#
        );
        check(&pieces(&[&chunk]), r#" read {} |  read {"p":1} | Calls"#);
    }
}

#[test]
fn another_name_is_another_call() {
    let nothing_but_names = [
        r#"[{"function":{"name":"now"}}]"#,
        r#"[{"function":{"name":"grep","arguments":"{}"}}]"#,
    ];
    check(&pieces(&nothing_but_names), " now {} |  grep {} | Calls");
}

#[test]
fn usage_comes_late_or_often_and_the_last_counts_once() {
    let body = stream([
        r#"{"choices":[]}"#.to_owned(),
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"o"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}"#.to_owned(),
        r#"{"choices":[{"index":0,"delta":{"content":"k"}}],"usage":null}"#.to_owned(),
        choice("{}", r#""stop""#),
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#.to_owned(),
        DONE.to_owned(),
    ]);
    check(&body, r#""ok" | End | 10+5"#);
}

#[test]
fn usage_is_what_was_reported_or_nothing() {
    for (usage, expected) in [
        (r#"{"prompt_tokens":10,"total_tokens":15}"#, "10+5"),
        (
            r#"{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}"#,
            "10+5 (8 cached)",
        ),
        (
            r#"{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"prompt_cache_hit_tokens":4}"#,
            "10+5 (4 cached)",
        ),
    ] {
        let last = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        let events = [
            choice(r#"{"content":"a"}"#, r#""stop""#),
            last,
            DONE.to_owned(),
        ];
        check(&stream(events), &format!(r#""a" | End | {expected}"#));
    }
    for unreported in ["{}", r#"{"prompt_tokens":10}"#, r#""none""#, "null"] {
        let last = format!(r#"{{"choices":[],"usage":{unreported}}}"#);
        let events = [
            choice(r#"{"content":"a"}"#, r#""stop""#),
            last,
            DONE.to_owned(),
        ];
        check(&stream(events), r#""a" | End"#);
    }
}

#[test]
fn an_answer_is_whole_only_when_the_stream_says_so() {
    let early = "the stream ended early: it ended without its end mark";
    let half = choice(r#"{"content":"half"}"#, "null");
    check_fault(&stream([half.clone()]), early);
    check_fault(": wait\n\n", early);
    check_fault(&stream([DONE.to_owned()]), early);
    check(&stream([half, DONE.to_owned()]), r#""half" | End"#);
    let all = choice(r#"{"content":"all"}"#, r#""stop""#);
    check(&stream([all]), r#""all" | End"#);
    check(&stream(ending("stop")), "End");
}

#[test]
fn the_output_limit_is_told_with_what_had_come() {
    let call = |arguments: &str| {
        let piece = format!(
            r#"{{"tool_calls":[{{"index":0,"id":"c1","function":{{"name":"write","arguments":{arguments}}}}}]}}"#
        );
        deltas(&[&piece], "length")
    };
    check(
        &call(r#""{\"path\":\"n\",\"content\":\"line1\\nli""#),
        r#"c1 write INVALID {"path":"n","content":"line1\nli (EOF while parsing a string at line 1 column 32) | OutputLimit"#,
    );
    check(
        &call(r#""{\"path\":\"n\"}""#),
        r#"c1 write {"path":"n"} | OutputLimit"#,
    );
}

#[test]
fn arguments_that_are_no_object_are_kept_with_their_error() {
    for (arguments, expected) in [
        (
            r#""[1]""#,
            "INVALID [1] (invalid type: sequence, expected a map at line 1 column 0)",
        ),
        (
            r#""{\"a\":1} x""#,
            r#"INVALID {"a":1} x (trailing characters at line 1 column 9)"#,
        ),
        (
            "7",
            "INVALID 7 (invalid type: integer `7`, expected a map at line 1 column 1)",
        ),
    ] {
        let chunk = format!(
            r#"[{{"index":0,"id":"c1","function":{{"name":"read","arguments":{arguments}}}}}]"#
        );
        check(&pieces(&[&chunk]), &format!("c1 read {expected} | Calls"));
    }
}

#[test]
fn reasoning_is_told_apart_from_text_under_every_name() {
    check(
        &deltas(
            &[
                r#"{"reasoning_content":"hm","content":null}"#,
                r#"{"reasoning_content":"m","content":""}"#,
                r#"{"content":"so"}"#,
            ],
            "stop",
        ),
        r#"reasoning "hmm" | "so" | End"#,
    );
    check(
        &deltas(&[r#"{"reasoning":"hm","reasoning_content":null}"#], "stop"),
        r#"reasoning "hm" | End"#,
    );
    check(
        &deltas(
            &[
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
                r#"{"content":[{"type":"text","text":"so"}]}"#,
            ],
            "stop",
        ),
        r#"reasoning "hm" | "so" | End"#,
    );
}

#[test]
fn blank_text_and_shadows_of_calls_are_no_parts_of_an_answer() {
    let call = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"now"}}]}"#;
    check(
        &deltas(&[r#"{"content":"  \n"}"#, call], "tool_calls"),
        "c1 now {} | Calls",
    );
    let shadow = r#"{"content":"a","tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":""}}]}"#;
    check(&deltas(&[shadow], "stop"), r#""a" | End"#);
    check(&deltas(&[], "stop"), "End");
}

#[test]
fn what_is_not_of_this_wire_is_ignored_or_refused() {
    let known = choice(r#"{"content":"a"}"#, r#""stop""#);
    let others = format!(
        "event: future\ndata: {{\"y\":0}}\n\ndata: : wait\n\ndata: {{\"choices\":[{{\"index\":1,\"delta\":{{\"content\":\"z\"}}}}]}}\n\nevent: message\n{}",
        sse(&known)
    );
    check(&others, r#""a" | End"#);
    check_fault(
        &sse("{\"choices\":[{\"delta\""),
        "the answer is not valid: an event is not a chat completion: EOF while parsing an object at line 1 column 20",
    );
    let nameless = r#"[{"index":0,"id":"c1","function":{"arguments":"{}"}}]"#;
    check_fault(
        &pieces(&[nameless]),
        "the answer is not valid: a tool call has no name",
    );
}

#[test]
fn an_error_inside_a_stream_ends_it() {
    for body in [
        sse(r#"{"error":{"code":429,"message":"slow down"}}"#),
        sse(r#"{"error":{"code":"rate_limit_exceeded","message":"slow down"},"choices":[]}"#),
        sse(r#"{"object":"error","message":"slow down","code":429}"#),
        "event: error\ndata: {\"code\":429,\"message\":\"slow down\"}\n\n".to_owned(),
    ] {
        check_fault(&body, "rate limited: slow down");
    }
    let overflow = r#"{"error":{"message":"{\"error\":{\"code\":\"context_length_exceeded\"}}"}}"#;
    check_fault(
        &sse(overflow),
        "the request is larger than the model's context: context_length_exceeded",
    );
    check_fault(
        &deltas(&[r#"{"content":"a"}"#], "error"),
        "temporarily unable to answer (status 500): it ended its answer with the reason `error`",
    );
}

#[test]
fn an_answer_that_was_not_streamed_is_understood() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    check(&sse(body), r#""ok" | End | 3+1"#);
}

#[test]
fn listeners_hear_the_pieces_and_progress_is_told() {
    let call = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"now"}}]}"#;
    let body = deltas(
        &[r#"{"reasoning":"hm","content":"so"}"#, call],
        "tool_calls",
    );
    let mut heard = Vec::new();
    let mut progress = Vec::new();
    let mut answer = Assembler::default();
    let mut events = Vec::new();
    Decoder::default()
        .feed(body.as_bytes(), &mut |event| events.push(event))
        .expect("this body is UTF-8");
    for event in &events {
        let after = answer.take(event, &mut |piece| heard.push(piece));
        progress.push(after.expect("this stream is good"));
    }
    assert_eq!(
        heard,
        [
            StreamEvent::Reasoning("hm".to_owned()),
            StreamEvent::Text("so".to_owned()),
            StreamEvent::Call {
                name: "now".to_owned()
            },
        ]
    );
    use Progress::{Ended, Open, Whole};
    assert_eq!(progress, [Open, Open, Whole, Ended]);
}

/// Pieces of events as odd servers might send them, and plain noise.
fn any_event() -> impl Strategy<Value = String> {
    let piece = (
        prop::option::of(0_u64..3),
        prop::option::of(prop::sample::select(vec!["", "a", "b"])),
        prop::option::of(prop::sample::select(vec!["", "read", "grep"])),
        prop::sample::select(vec!["", "{", "}", "{}", "\"a\":", "1"]),
    );
    let calls = prop::collection::vec(piece, 0..3).prop_map(|pieces| {
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|(index, id, name, arguments)| {
                serde_json::json!({"index": index, "id": id,
                                   "function": {"name": name, "arguments": arguments}})
            })
            .collect();
        serde_json::json!({"choices": [{"delta": {"tool_calls": pieces}}]}).to_string()
    });
    prop_oneof![
        calls,
        ".{0,20}".prop_map(|text| {
            serde_json::json!({"choices": [{"delta": {"content": text}}]}).to_string()
        }),
        Just(choice("{}", "\"stop\"")),
        Just(DONE.to_owned()),
        "[\\[\\]{}:,\"a-z0-9 ]{0,30}",
    ]
}

proptest! {
    #[test]
    fn no_stream_makes_it_panic_and_no_call_is_lost_or_nameless(
        events in prop::collection::vec(any_event(), 0..12)
    ) {
        let _ = assemble(&stream(events));
    }

    #[test]
    fn every_argument_text_is_kept_whole_when_its_index_is_told(
        texts in prop::collection::vec("[a-z\"{}]{1,12}", 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let opening = |at: usize| serde_json::json!([{"index": at, "id": format!("c{at}"),
            "function": {"name": "read", "arguments": ""}}]).to_string();
        let mut chunks: Vec<String> = (0..texts.len()).map(opening).collect();
        let mut left: Vec<std::collections::VecDeque<char>> =
            texts.iter().map(|text| text.chars().collect()).collect();
        let mut send = |at: usize| if let Some(next) = left[at].pop_front() {
            chunks.push(serde_json::json!([{"index": at,
                "function": {"arguments": next.to_string()}}]).to_string());
        };
        order.iter().for_each(|index| send(index.index(texts.len())));
        for (at, text) in texts.iter().enumerate() {
            text.chars().for_each(|_| send(at));
        }
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let answer = assemble(&pieces(&chunks)).expect("this stream is good");
        for (at, text) in texts.iter().enumerate() {
            let kept = format!("c{at} read {text}");
            let invalid = format!("c{at} read INVALID {text} (");
            prop_assert!(answer.contains(&kept) || answer.contains(&invalid), "{}", answer);
        }
    }
}
