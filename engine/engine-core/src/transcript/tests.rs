//! What a transcript makes of records, and which records it refuses.

use super::*;
use crate::content::BlobRef;
use crate::conversation::check_conversation;
use crate::fixtures::{
    agent, call, calls, failed, finished, invalid_call, judged, requested, responded, says,
    snapshotted, started, stopped,
};
use crate::message::Block;
use std::fmt::Write as _;

fn replay(records: &[AgentRecord]) -> Transcript {
    Transcript::replay(agent(), records).expect("legal records")
}

/// One line for each message.
fn brief(transcript: &Transcript) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::User { text } => format!("user {text:?}"),
        Message::Model(answer) => {
            let parts = answer.blocks.iter().map(|block| match block {
                Block::Text { text } => format!("{text:?}"),
                Block::Reasoning { text, .. } => format!("({text})"),
                Block::Call(call) => format!("{} {} {:?}", call.id, call.name, call.arguments),
            });
            format!("model {}", parts.collect::<Vec<_>>().join(", "))
        }
        Message::Results { results } => {
            let results = results.iter().map(|r| format!("{} {:?}", r.call, r.text));
            format!("results {}", results.collect::<Vec<_>>().join(", "))
        }
    };
    transcript.messages().iter().map(line).collect()
}

#[test]
fn records_become_a_conversation() {
    let check = |records: &[AgentRecord], expected: &[&str]| {
        let transcript = replay(records);
        assert_eq!(brief(&transcript), expected);
        assert_eq!(check_conversation(transcript.messages()), Ok(()));
    };
    check(&[requested(1, &["go"])], &[r#"user "go""#]);
    check(
        &[
            requested(1, &["go"]),
            responded(1, &calls(&[("a", "read"), ("b", "edit")])),
            started("b", "edit", EffectClass::Edits),
            finished("b", "edit", " \n"),
            snapshotted("1"),
            finished("a", "read", "text"),
            requested(2, &["and", "more"]),
        ],
        &[
            r#"user "go""#,
            r#"model a read Object("{}"), b edit Object("{}")"#,
            r#"results a "text", b "(no output)""#,
            r#"user "and\n\nmore""#,
        ],
    );
    check(
        &[
            requested(1, &["go"]),
            failed(1, "busy"),
            requested(2, &[]),
            requested(3, &["hurry"]),
        ],
        &[r#"user "go\n\nhurry""#],
    );
    check(
        &[
            requested(1, &["go"]),
            responded(1, &stopped(vec![], Stop::End)),
            requested(2, &["well?", " "]),
        ],
        &[r#"user "go\n\nwell?""#],
    );
    check(
        &[
            requested(1, &["go"]),
            responded(1, &says("done")),
            requested(2, &["more"]),
        ],
        &[r#"user "go""#, r#"model "done""#, r#"user "more""#],
    );
}

#[test]
fn invalid_arguments_stay_in_the_record_only() {
    let answer = stopped(vec![invalid_call("a", "read", "{\"p")], Stop::Calls);
    let record = responded(1, &answer);
    let AgentRecord::ModelResponded(ModelResponded { answer, .. }) = &record else {
        panic!("an answer was recorded");
    };
    assert!(answer.text().contains(r#"{\"p"#));
    let transcript = replay(&[
        requested(1, &["go"]),
        record,
        finished("a", "read", "invalid"),
    ]);
    assert_eq!(check_conversation(transcript.messages()), Ok(()));
    assert_eq!(brief(&transcript)[1], r#"model a read Object("{}")"#);
}

#[test]
fn doubled_ids_are_made_unique_the_same_way_each_time() {
    let answer = calls(&[("x", "read"), ("x", "grep")]);
    let transcript = replay(&[
        requested(1, &["go"]),
        responded(1, &answer),
        finished("x", "read", "1"),
        finished("x_2", "grep", "2"),
        requested(2, &[]),
        responded(2, &calls(&[("x", "read")])),
        finished("x_3", "read", "3"),
    ]);
    assert_eq!(check_conversation(transcript.messages()), Ok(()));
    assert_eq!(brief(&transcript)[2], r#"results x "1", x_2 "2""#);
}

/// The records that lead to each stage, by its name in the tables.
fn stages() -> Vec<(&'static str, Vec<AgentRecord>)> {
    let asked = || vec![requested(1, &["go"])];
    let after = |more: &[AgentRecord]| [asked(), more.to_vec()].concat();
    let filtered = stopped(vec![call("a", "read", "{}")], Stop::Filtered);
    let one = calls(&[("a", "read")]);
    vec![
        ("new", vec![]),
        ("asked", asked()),
        ("to ask", after(&[failed(1, "busy")])),
        ("calling", after(&[responded(1, &one)])),
        (
            "running",
            after(&[responded(1, &one), started("a", "read", EffectClass::Reads)]),
        ),
        (
            "called",
            after(&[responded(1, &one), finished("a", "read", "x")]),
        ),
        ("answered", after(&[responded(1, &says("done"))])),
        (
            "withheld",
            after(&[responded(1, &filtered), finished("a", "read", "x")]),
        ),
        ("too large", after(&[failed(1, "context-too-large")])),
        (
            "judged",
            after(&[
                responded(1, &one),
                finished("a", "read", "x"),
                judged("good"),
            ]),
        ),
    ]
}

#[test]
fn every_record_is_legal_or_refused_at_every_stage() {
    let mut table = String::new();
    for (name, before) in stages() {
        let transcript = replay(&before);
        let next = transcript.next_step().0;
        let open = transcript.requests();
        let records = [
            ("requested", requested(next, &["x"])),
            ("responded", responded(open, &says("x"))),
            ("failed", failed(open, "busy")),
            ("started", started("a", "read", EffectClass::Reads)),
            ("finished", finished("a", "read", "x")),
            ("snapshotted", snapshotted("1")),
            ("judged", judged("x")),
        ];
        let legal = records.iter().filter_map(|(record_name, record)| {
            let mut probe = transcript.clone();
            match probe.apply(record) {
                Ok(()) => Some(*record_name),
                Err(_) => {
                    assert_eq!(
                        probe, transcript,
                        "{record_name} at {name} changed something"
                    );
                    None
                }
            }
        });
        let legal: Vec<&str> = legal.collect();
        writeln!(table, "{name:9}: {}", legal.join(" ")).unwrap();
    }
    insta::assert_snapshot!(table, @r"
    new      : requested snapshotted
    asked    : requested responded failed snapshotted
    to ask   : requested snapshotted
    calling  : started finished snapshotted
    running  : started finished snapshotted
    called   : requested snapshotted judged
    answered : requested snapshotted
    withheld : snapshotted
    too large: snapshotted
    judged   : snapshotted
    ");
}

#[test]
fn a_refused_record_is_named_with_its_reason() {
    let check = |before: &[AgentRecord], record: AgentRecord, expected: &str| {
        let refused = replay(before).apply(&record).expect_err("refused");
        assert_eq!(refused.to_string(), expected);
    };
    let asked = [requested(1, &["go"])];
    let called = [
        requested(1, &["go"]),
        responded(1, &calls(&[("a", "read")])),
    ];
    let blob = || BlobRef {
        blob: "00".to_owned(),
        bytes: 20_000,
    };
    check(
        &[],
        requested(2, &["go"]),
        "`model.requested` of step 2 where step 1 is due",
    );
    check(
        &asked,
        responded(2, &says("x")),
        "`model.responded` of step 2 where step 1 is due",
    );
    check(
        &[],
        responded(1, &says("x")),
        "`model.responded` while the model is to be asked",
    );
    check(
        &called,
        finished("b", "read", "x"),
        "`tool.finished` of call `b`, which is not open",
    );
    let mut foreign = requested(1, &["go"]);
    let mut unreadable = responded(1, &says("x"));
    let mut elsewhere = responded(1, &says("x"));
    let mut large = finished("a", "read", "x");
    if let AgentRecord::ModelRequested(record) = &mut foreign {
        record.attempt.0 = 2;
    }
    if let AgentRecord::ModelResponded(record) = &mut unreadable {
        record.answer = crate::record::Json::of(&7).unwrap();
    }
    if let AgentRecord::ModelResponded(record) = &mut elsewhere {
        record.answer = crate::record::Json::of(&blob()).unwrap();
    }
    if let AgentRecord::ToolFinished(record) = &mut large {
        record.text = Content::Blob(blob());
    }
    check(&[], foreign, "a record of t/2 among those of t/1");
    check(
        &asked,
        unreadable,
        "the answer to step 1 cannot be read: invalid type: integer `7`, expected struct Answer at line 1 column 1",
    );
    check(
        &asked,
        elsewhere,
        "the content of `model.responded` was not read in",
    );
    check(
        &called,
        large,
        "the content of `tool.finished` was not read in",
    );
}

#[test]
fn streaks_count_what_leads_nowhere() {
    let check = |answers: &[Answer], expected: [u32; 4]| {
        let mut transcript = Transcript::new(agent());
        for answer in answers {
            let step = transcript.next_step();
            transcript.requested(step, &["x"]).unwrap();
            transcript.responded(step, answer.clone(), None).unwrap();
            let open: Vec<String> = answer.calls().map(|call| call.name.clone()).collect();
            let Stage::Calling { calls, .. } = transcript.stage().clone() else {
                continue;
            };
            for (open, name) in calls.iter().zip(open) {
                transcript
                    .apply(&finished(&open.call.id.0, &name, "x"))
                    .unwrap();
            }
        }
        let found = transcript.streaks();
        let found = [found.cut, found.invalid, found.empty, found.without_calls];
        assert_eq!(found, expected);
    };
    let cut = || stopped(vec![invalid_call("a", "edit", "{")], Stop::OutputLimit);
    let bad = || {
        stopped(
            vec![call("a", "read", "{}"), invalid_call("b", "read", "{\"p")],
            Stop::Calls,
        )
    };
    let empty = || stopped(vec![], Stop::End);
    let good = || calls(&[("a", "read")]);
    check(&[cut(), cut()], [2, 0, 0, 0]);
    check(&[cut(), good()], [0, 0, 0, 0]);
    check(&[bad(), bad()], [0, 2, 0, 0]);
    check(&[bad(), says("x"), bad()], [0, 1, 0, 1]);
    check(&[empty(), empty()], [0, 0, 2, 0]);
    check(&[says("x"), good(), says("y"), empty()], [0, 0, 1, 2]);
}
