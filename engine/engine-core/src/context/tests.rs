//! What is left of conversations that are made smaller: for every place at which they can be cut, and
//! for any conversation.

use super::*;
use crate::conversation::check_conversation;
use crate::fixtures::{agent, call, calls, finished, requested, responded, says, stopped};
use crate::message::{Answer, Arguments, Block, Message, Stop};
use crate::record::{AgentRecord, ContextCompacted, Older, SummaryBy};
use crate::transcript::Transcript;
use proptest::prelude::*;

fn replay(records: &[AgentRecord]) -> Transcript {
    Transcript::replay(agent(), records).expect("legal records")
}

fn compacted(kept: u32, kept_max: Option<u32>, older: Older) -> AgentRecord {
    AgentRecord::ContextCompacted(ContextCompacted {
        task: agent().task,
        attempt: agent().attempt,
        kept,
        kept_max,
        older,
        before: 0,
        after: 0,
    })
}

fn summary() -> Older {
    Older::Replaced {
        summary: "what was done".into(),
        by: SummaryBy::Model,
    }
}

/// Two rounds with calls, texts of the person between them, and a third round.
fn talk() -> Vec<AgentRecord> {
    vec![
        requested(1, &["start"]),
        responded(1, &calls(&[("t1", "read")])),
        finished("t1", "read", &"long ".repeat(500)),
        requested(2, &["also: keep tabs"]),
        responded(2, &says("done")),
        requested(3, &["next"]),
        responded(3, &calls(&[("t2", "read"), ("t3", "read")])),
        finished("t3", "read", "three"),
        finished("t2", "read", "two"),
        requested(4, &[]),
        responded(4, &says("ok")),
    ]
}

/// All that a person said, wherever it stands.
fn said(messages: &[Message]) -> String {
    let texts = messages.iter().filter_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        Message::Model(_) | Message::Results { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The conversation may be sent, once it is the model's turn.
fn check_sendable(messages: &[Message]) {
    let mut messages = messages.to_vec();
    if let Some(Message::Model(_)) = messages.last() {
        messages.push(Message::User {
            text: "go on".to_owned(),
        });
    }
    assert_eq!(check_conversation(&messages), Ok(()), "{messages:?}");
}

#[test]
fn no_cut_parts_a_call_from_its_result_or_loses_what_was_said() {
    let records = talk();
    let all = replay(&records).messages().len();
    for older in [summary(), Older::Cut { max: 300 }] {
        for kept in 0..=u32::try_from(all).unwrap() + 1 {
            for kept_max in [None, Some(256)] {
                let mut transcript = replay(&records);
                transcript
                    .apply(&compacted(kept, kept_max, older.clone()))
                    .unwrap();
                let messages = transcript.messages();
                check_sendable(messages);
                let said = said(messages);
                assert!(said.starts_with("start"), "{said}");
                assert!(said.contains("also: keep tabs"), "{said}");
                assert!(said.contains("next"), "{said}");
            }
        }
    }
}

#[test]
fn a_compaction_waits_while_a_call_is_open() {
    let mut records = talk();
    records.push(requested(5, &["more"]));
    records.push(responded(5, &calls(&[("t4", "read")])));
    let mut transcript = replay(&records);
    let refused = transcript
        .apply(&compacted(2, None, summary()))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`context.compacted` while calls are open"
    );
    transcript.apply(&finished("t4", "read", "x")).unwrap();
    transcript.apply(&compacted(2, None, summary())).unwrap();
    check_sendable(transcript.messages());
}

#[test]
fn what_is_said_after_a_compaction_that_kept_nothing_is_kept_by_the_next() {
    let mut records = talk();
    records.push(compacted(0, None, summary()));
    records.push(requested(5, &["hurry"]));
    let failed = crate::fixtures::failed(5, "busy");
    records.extend([failed, requested(6, &["and be quiet"])]);
    records.push(responded(6, &calls(&[("t1", "read")])));
    records.push(finished("t1_2", "read", "x"));
    records.push(compacted(0, None, summary()));
    let transcript = replay(&records);
    let said = said(transcript.messages());
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    let order = [
        "start",
        "what was done",
        "keep tabs",
        "next",
        "hurry",
        "and be quiet",
    ];
    assert!(
        order.windows(2).all(|pair| at(pair[0]) < at(pair[1])),
        "{said}"
    );
    assert_eq!(said.matches("what was done").count(), 1, "{said}");
    assert_eq!(said.matches("hurry").count(), 1, "{said}");
    check_sendable(transcript.messages());
}

#[test]
fn a_compacted_conversation_reads_as_documented() {
    let mut records = talk();
    records.push(compacted(2, None, summary()));
    let transcript = replay(&records);
    let Message::User { text } = &transcript.messages()[0] else {
        panic!("it begins with the person");
    };
    insta::assert_snapshot!(text, @r"
    start

    Your work on this so far was summarised to make room. The workspace is as you left it. The summary:

    ```data summary
    what was done
    ```

    In the meantime you were told:

    also: keep tabs

    next
    ");
}

#[test]
fn call_ids_stay_unique_and_turns_are_counted_on() {
    let mut records = talk();
    records.push(compacted(0, None, summary()));
    records.push(requested(5, &["again"]));
    let before = replay(&records);
    records.push(responded(5, &calls(&[("t1", "read")])));
    let transcript = replay(&records);
    assert_eq!(before.next_turn(), 5);
    let Some(Message::Model(answer)) = transcript.messages().last() else {
        panic!("the answer is last");
    };
    assert_eq!(answer.calls().next().unwrap().id.0, "t1_2");
}

#[test]
fn long_arguments_stay_json_objects() {
    let long = "é".repeat(10_000);
    let check = |arguments: String, max: usize, kept: &str| {
        let message = Message::Model(stopped(vec![call("a", "write", &arguments)], Stop::Calls));
        let Message::Model(answer) = shorten::shorten(&message, max) else {
            panic!("it stays an answer");
        };
        let Some(Block::Call(call)) = answer.blocks.first() else {
            panic!("it stays a call");
        };
        let Arguments::Object(text) = &call.arguments else {
            panic!("they stay an object");
        };
        assert!(text.len() <= max, "{} bytes", text.len());
        let read: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).expect("a JSON object");
        assert!(text.contains(kept), "{text}");
        assert!(!read.is_empty());
    };
    let inside = serde_json::json!({"path": "a.txt", "content": long}).to_string();
    check(inside, 2_000, "a.txt");
    let many: Vec<String> = (0..1_000).map(|n| format!("number {n}")).collect();
    check(
        serde_json::json!({ "all": many }).to_string(),
        2_000,
        "left_out",
    );
    let deep = serde_json::json!({"edits": [{"old": long, "new": long}, {"old": "x"}]});
    check(deep.to_string(), 2_000, "edits");
}

#[test]
fn a_text_is_cut_at_characters_and_says_how_much_is_missing() {
    for max in [0, 256, 257, 258, 259, 1_000, 4_000] {
        let text = "né→🐋".repeat(1_000);
        let cut = shorten_text(&text, max);
        assert!(cut.len() <= max.max(256), "{max}: {}", cut.len());
        assert!(cut.starts_with("né→🐋") && cut.ends_with("🐋"), "{cut}");
        let left_out: usize = cut
            .split('[')
            .nth(1)
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .expect("a number");
        let note = cut.len() - (text.len() - left_out);
        assert!(note < 120, "{cut}");
        assert_eq!(
            shorten_text(&cut, max),
            cut,
            "what was cut is not cut again"
        );
    }
    assert_eq!(shorten_text("short", 256), "short");
}

#[test]
fn a_digest_is_bounded_and_its_newest_entries_count_most() {
    let mut messages = Vec::new();
    for n in 0..300 {
        messages.push(Message::Model(calls(&[(&format!("c{n}"), "read")])));
    }
    let text = digest(Some(&"earlier ".repeat(1_000)), &messages, 4_000);
    assert!(text.len() <= 4_000, "{}", text.len());
    assert!(text.starts_with("earlier "));
    assert!(text.contains("without the first ") && text.ends_with("- read {}: no result"));
}

#[test]
fn the_window_s_figures_are_the_documented_ones() {
    let window = |context: Option<u64>| Window {
        context: context.map(Tokens),
        max_output: Tokens(8_192),
        fixed_bytes: 3_000,
    };
    let known = window(Some(128_000));
    let none = Sizes::default();
    let room = |context, sizes| window(context).room(sizes).map(|tokens| tokens.0);
    assert_eq!(room(Some(128_000), none), Some(119_808));
    assert_eq!(room(Some(8_192), none), Some(6_144));
    assert_eq!(room(None, none), None);
    assert_eq!(known.estimate(27_000, none), Tokens(10_000));
    let measured = Some(Measured {
        bytes: 27_000,
        input: Tokens(6_000),
    });
    let seen = Sizes {
        measured,
        refused: None,
    };
    assert_eq!(known.estimate(30_000, seen), Tokens(7_000));
    assert_eq!(known.estimate(12_000, seen), Tokens(3_000));
    // 80 % of 119,808 tokens.
    let full = |bytes| known.is_full(bytes, seen);
    assert!(!full(27_000 + 3 * 89_700) && full(27_000 + 3 * 90_000));
    let refused = Sizes {
        measured,
        refused: Some(30_000),
    };
    assert_eq!(room(None, refused), Some(7_000));
    assert!(!window(None).is_full(27_000, none));
    assert_eq!(known.goal(300_000, none, 50), 148_500);
    assert_eq!(window(None).goal(300_000, none, 50), 148_500);
}

/// Rounds of a conversation: calls with results, texts of the model, texts of the person.
fn any_talk() -> impl Strategy<Value = Vec<AgentRecord>> {
    let size = prop_oneof![Just(0_usize), 1_usize..40, 2_000_usize..6_000];
    let round = (
        proptest::collection::vec((size.clone(), size), 0..4),
        proptest::option::of("[a-zé ]{0,30}"),
        proptest::option::of("[A-Z]{1,20}"),
    );
    proptest::collection::vec(round, 1..12).prop_map(|rounds| {
        let mut records = vec![];
        let (mut step, mut told) = (0, vec!["the task".to_owned()]);
        for (number, (sizes, says, person)) in rounds.into_iter().enumerate() {
            step += 1;
            let texts: Vec<&str> = told.iter().map(String::as_str).collect();
            records.push(requested(step, &texts));
            let mut blocks: Vec<Block> =
                says.map(|text| Block::Text { text }).into_iter().collect();
            let ids: Vec<String> = (0..sizes.len()).map(|n| format!("{number}-{n}")).collect();
            for (id, (arguments, _)) in ids.iter().zip(&sizes) {
                let text = "a".repeat(*arguments);
                blocks.push(call(id, "edit", &format!(r#"{{"p":"{text}"}}"#)));
            }
            let stop = if ids.is_empty() {
                Stop::End
            } else {
                Stop::Calls
            };
            records.push(responded(step, &Answer { blocks, stop }));
            for (id, (_, result)) in ids.iter().zip(&sizes) {
                records.push(finished(id, "edit", &"r".repeat(*result)));
            }
            told = person.into_iter().collect();
            if told.is_empty() && ids.is_empty() {
                told.push("GO".to_owned());
            }
        }
        records
    })
}

fn any_older() -> impl Strategy<Value = Older> {
    prop_oneof![
        (0_u32..3_000).prop_map(|max| Older::Cut { max }),
        "[a-z`\n]{1,60}".prop_map(|text| Older::Replaced {
            summary: text.into(),
            by: SummaryBy::Fleet,
        }),
    ]
}

proptest! {
    #[test]
    fn any_conversation_stays_valid_however_often_and_wherever_it_is_cut(
        records in any_talk(),
        bites in proptest::collection::vec((0_u32..40, proptest::option::of(0_u32..3_000), any_older()), 1..4),
    ) {
        let mut transcript = replay(&records);
        let told = said(transcript.messages());
        let mut before = bytes_of(transcript.messages());
        for (kept, kept_max, older) in bites {
            let cut = matches!(older, Older::Cut { .. });
            transcript.apply(&compacted(kept, kept_max, older)).unwrap();
            check_sendable(transcript.messages());
            let left = said(transcript.messages());
            prop_assert!(left.starts_with("the task"));
            for text in told.lines().filter(|line| !line.is_empty()) {
                prop_assert!(left.contains(text), "{} is gone from {}", text, left);
            }
            let after = bytes_of(transcript.messages());
            prop_assert!(!cut || after <= before);
            before = after;
        }
    }

    #[test]
    fn a_plan_is_worth_it_or_there_is_none(records in any_talk(), goal in 0_u64..60_000) {
        let transcript = replay(&records);
        let (opening, messages) = (transcript.opening(), transcript.messages());
        let before = bytes_of(messages);
        match plan(opening, messages, goal) {
            None => prop_assert_eq!(squeeze(opening, messages, goal), messages.to_vec()),
            Some(_) => {
                let after = squeeze(opening, messages, goal);
                check_sendable(&after);
                prop_assert!(bytes_of(&after) < before, "{} of {}", bytes_of(&after), before);
            }
        }
    }
}
