//! Resumes: at every boundary, with kills and stops in any number, the conversation is the same
//! or at least valid, and nothing is asked, run or paid for twice that need not be.

use super::world::{Does, Fate, World};
use crate::conversation::check_conversation;
use crate::failure::FailureClass;
use crate::fixtures::{call, calls, invalid_call, says, stopped};
use crate::message::{Answer, Block, Message, Stop};
use crate::outcome::AgentOutcome;
use crate::patience::MAX_RESENDS;
use crate::record::AgentRecord;
use crate::turn::words;
use proptest::prelude::*;

fn answers_recorded(world: &World) -> usize {
    let is_answer = |record: &&AgentRecord| matches!(record, AgentRecord::ModelResponded(_));
    world.ledger.iter().filter(is_answer).count()
}

/// A script with something of everything but calls that reach outside.
fn rich() -> Vec<Does> {
    vec![
        calls(&[
            ("a", "read"),
            ("a", "grep"),
            ("b", "edit"),
            ("c", "shell"),
            ("d", "read"),
        ])
        .into(),
        Does::Fail(FailureClass::Retry { after: None }),
        stopped(vec![], Stop::End).into(),
        stopped(vec![invalid_call("a", "edit", "{")], Stop::OutputLimit).into(),
        stopped(
            vec![
                invalid_call("", "read", "{"),
                call("", "nope", "{}"),
                call("e", "edit", "{}"),
            ],
            Stop::Calls,
        )
        .into(),
        says("ready").into(),
    ]
}

#[test]
fn a_kill_before_any_effect_changes_nothing_in_the_end() {
    let mut unbroken = World::new(rich());
    let (outcome, turn) = unbroken.run();
    for at in 0..100 {
        let mut world = World::new(rich());
        let ended = world.live(Fate::Dies(at), &[]);
        let died = ended.is_none();
        let (again, after) = ended.unwrap_or_else(|| world.run());
        assert_eq!(again, outcome, "killed before effect {at}");
        assert_eq!(
            after.messages(),
            turn.messages(),
            "killed before effect {at}"
        );
        assert_eq!(world.tree, unbroken.tree, "killed before effect {at}");
        assert_eq!(answers_recorded(&world), answers_recorded(&unbroken));
        assert!(world.sent.len() <= unbroken.sent.len() + 1);
        if !died {
            assert!(at > 20, "the script is longer than that");
            return;
        }
    }
    panic!("it never came to its end");
}

#[test]
fn every_prefix_of_the_records_leads_to_the_same_conversation() {
    let mut unbroken = World::new(rich());
    let (outcome, turn) = unbroken.run();
    for kept in 0..=unbroken.ledger.len() {
        let mut world = unbroken.clone();
        world.ledger.truncate(kept);
        let (again, after) = world.run();
        assert_eq!(again, outcome, "{kept} records");
        assert_eq!(after.messages(), turn.messages(), "{kept} records");
    }
}

#[test]
fn a_resume_that_owes_nothing_records_nothing() {
    let verdict = call("v", "verdict", r#"{"verdict":"approve","findings":"x"}"#);
    let endings = [
        World::new([says("x")]),
        World::new([stopped(vec![verdict], Stop::Calls)]).reviewing(),
        World::new([Does::Fail(FailureClass::Overflow)]),
        World::new([stopped(vec![], Stop::Filtered)]),
        World::new(vec![stopped(vec![], Stop::End); 3]),
    ];
    for mut world in endings {
        let (outcome, _) = world.run();
        let records = world.ledger.clone();
        let (again, _) = world.run();
        assert_eq!(again, outcome);
        assert_eq!(world.ledger, records, "{outcome:?}");
    }
}

/// Dies while the only call runs; then what the model reads, what ran in all, and what is in the tree.
fn check_lost(tool: &str, result: &str, ran: &[&str], tree: &[&str]) {
    let mut world = World::new([calls(&[("0", "edit")]), calls(&[("1", tool)])]);
    let at_run = |world: &World| {
        let last = world.ledger.last();
        matches!(last, Some(AgentRecord::ToolStarted(started)) if started.call.0 == "1")
    };
    let mut at = 0;
    while !at_run(&world) {
        world = World::new([calls(&[("0", "edit")]), calls(&[("1", tool)])]);
        assert!(world.live(Fate::Dies(at), &[]).is_none(), "{tool}");
        at += 1;
    }
    let (outcome, turn) = world.run();
    assert!(matches!(outcome, AgentOutcome::Finished { .. }));
    assert_eq!(World::results(&turn)[1].text, result, "{tool}");
    assert_eq!(world.ran, ran, "{tool}");
    assert_eq!(world.tree, tree, "{tool}");
}

#[test]
fn a_lost_call_is_treated_by_its_class() {
    check_lost("read", "1 ran", &["0", "1"], &["0"]);
    check_lost("edit", "1 ran", &["0", "1"], &["0", "1"]);
    check_lost("shell", "1 ran", &["0", "1"], &["0", "1"]);
    check_lost("push", words::UNCERTAIN, &["0"], &["0", "half 1"]);
}

#[test]
fn what_an_uncertain_call_left_is_kept_with_its_result() {
    let mut world = World::new([calls(&[("1", "push")])]);
    let started = 4;
    assert!(world.live(Fate::Dies(started), &[]).is_none());
    world.run();
    let kinds = world.ledger.windows(2).any(|pair| {
        matches!(
            pair,
            [
                AgentRecord::ToolFinished(_),
                AgentRecord::WorkspaceSnapshotted(_)
            ]
        )
    });
    assert!(kinds, "{:?}", world.ledger);
}

fn a_block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just(""), Just("a"), Just("b")];
    let harmless = prop_oneof![Just("read"), Just("grep"), Just("edit"), Just("shell")];
    let arguments = prop_oneof![4 => Just("{}"), 1 => Just(r#"{"deny":1}"#)];
    prop_oneof![
        6 => (id.clone(), harmless, arguments).prop_map(|(id, tool, args)| call(id, tool, args)),
        1 => id.clone().prop_map(|id| call(id, "nope", "{}")),
        1 => id.prop_map(|id| invalid_call(id, "read", "{")),
        2 => prop_oneof![Just("words"), Just(" ")].prop_map(|text| Block::Text {
            text: text.to_owned(),
        }),
    ]
}

fn an_answer() -> impl Strategy<Value = Answer> {
    let stop = prop_oneof![
        6 => Just(Stop::Calls),
        2 => Just(Stop::End),
        2 => Just(Stop::OutputLimit),
    ];
    (prop::collection::vec(a_block(), 0..5), stop)
        .prop_map(|(blocks, stop)| Answer { blocks, stop })
}

/// Fewer failures than exhaust the patience: that is not recorded, a resume begins with new.
fn a_script() -> impl Strategy<Value = Vec<Does>> {
    let does = prop_oneof![
        5 => an_answer().prop_map(Does::Answer),
        1 => Just(Does::Fail(FailureClass::Unavailable)),
    ];
    prop::collection::vec(does, 0..6).prop_map(|script| {
        let mut failures = 0;
        let borne = |does: &Does| {
            failures += u32::from(matches!(does, Does::Fail(_)));
            matches!(does, Does::Answer(_)) || failures <= MAX_RESENDS
        };
        script.into_iter().filter(borne).collect()
    })
}

/// Puts calls that reach outside into a script.
fn reaching(script: Vec<Does>) -> Vec<Does> {
    let reach = |block: Block| match block {
        Block::Call(mut call) if call.name == "shell" => {
            call.name = "push".to_owned();
            Block::Call(call)
        }
        other => other,
    };
    let more = script.into_iter().map(|does| match does {
        Does::Answer(Answer { blocks, stop }) => Does::Answer(Answer {
            blocks: blocks.into_iter().map(reach).collect(),
            stop,
        }),
        other @ Does::Fail(_) => other,
    });
    more.collect()
}

/// A conversation with nothing open, as it would be sent next.
fn is_valid_so_far(messages: &[Message]) -> bool {
    let mut messages = messages.to_vec();
    if matches!(messages.last(), Some(Message::Model(_))) {
        messages.push(Message::User {
            text: "next".to_owned(),
        });
    }
    messages.is_empty() || check_conversation(&messages).is_ok()
}

proptest! {
    #[test]
    fn kills_anywhere_lead_to_the_same_conversation(
        script in a_script(),
        kills in prop::collection::vec(0usize..12, 0..6),
    ) {
        let mut unbroken = World::new(script.clone());
        let (outcome, turn) = unbroken.run();
        let mut world = World::new(script);
        let lives = kills.into_iter().map(Fate::Dies).chain([Fate::Lives]);
        let (again, after) = lives.map(|fate| world.live(fate, &[])).find_map(|end| end)
            .expect("the last life ends by itself");
        prop_assert_eq!(again, outcome);
        prop_assert_eq!(after.messages(), turn.messages());
        prop_assert_eq!(world.tree, unbroken.tree);
    }

    #[test]
    fn whatever_happens_the_conversation_stays_valid(
        script in a_script().prop_map(reaching),
        fates in prop::collection::vec((any::<bool>(), 0usize..12, any::<bool>()), 0..6),
    ) {
        let mut world = World::new(script);
        for (dies, at, told) in fates {
            let fate = if dies { Fate::Dies(at) } else { Fate::IsStopped(at) };
            let told: &[&str] = if told { &["go on", " "] } else { &[] };
            if let Some((_, turn)) = world.live(fate, told) {
                prop_assert!(is_valid_so_far(world.resume().messages()), "{:?}", turn.messages());
            }
        }
        let (_, turn) = world.run();
        prop_assert!(is_valid_so_far(turn.messages()), "{:?}", turn.messages());
    }
}
