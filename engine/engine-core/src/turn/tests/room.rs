//! Conversations that outgrow their model: they are made smaller, once and well, or the attempt fails
//! soon; whatever happens, no refused body is sent again.

use super::world::{Does, Fate, World};
use crate::context::bytes_of;
use crate::failure::FailureClass;
use crate::fixtures::{call, calls, says, stopped};
use crate::ids::Tokens;
use crate::message::{Answer, Block, Message, Stop};
use crate::outcome::{AgentOutcome, FailureKind};
use crate::record::{AgentRecord, ContextCompacted, Older, SummaryBy};
use crate::request::Purpose;
use proptest::prelude::*;

/// Calls one after the other, each with an answer of its own, then the end.
fn chatty(rounds: usize) -> Vec<Answer> {
    let mut script: Vec<Answer> = (0..rounds)
        .map(|n| calls(&[(&format!("c{n}"), "read")]))
        .collect();
    script.push(says("ready"));
    script
}

fn finished() -> AgentOutcome {
    AgentOutcome::Finished {
        text: "ready".to_owned(),
    }
}

fn compactions(world: &World) -> Vec<&ContextCompacted> {
    fn of(record: &AgentRecord) -> Option<&ContextCompacted> {
        match record {
            AgentRecord::ContextCompacted(compacted) => Some(compacted),
            _ => None,
        }
    }
    world.ledger.iter().filter_map(of).collect()
}

fn summaries(world: &World) -> usize {
    let is_summary = |purpose: &&Purpose| **purpose == Purpose::Compaction;
    world.purposes.iter().filter(is_summary).count()
}

/// Requests with a body that was refused before.
fn refused_again(world: &World) -> usize {
    let again = |at: &usize| world.refused[..*at].contains(&world.refused[*at]);
    (0..world.refused.len()).filter(again).count()
}

#[test]
fn a_conversation_that_fits_is_never_touched() {
    let mut world = World::new(chatty(30));
    world.output = 2_000;
    let (outcome, turn) = world.run();
    assert_eq!(outcome, finished());
    assert_eq!(compactions(&world), [] as [&ContextCompacted; 0]);
    assert!(bytes_of(turn.messages()) > 60_000);
}

#[test]
fn a_known_window_is_never_overrun_and_its_prefix_changes_seldom() {
    let mut world = World::new(chatty(60));
    world.output = 6_000;
    world.rules.window.context = Some(Tokens(20_000));
    // As many bytes as the estimate takes for a token.
    world.too_large = Some(3 * 20_000);
    let (outcome, _) = world.run();
    assert_eq!(outcome, finished());
    let bites = compactions(&world).len();
    // 360 kB went through a window of 60 kB, in bites of at least a quarter of it.
    assert!((6..=24).contains(&bites), "{bites} bites");
    assert!(summaries(&world) <= bites);
    for body in &world.sent {
        assert!(bytes_of(body) < 60_000, "{} bytes", bytes_of(body));
    }
    let is_grown = |pair: &[Vec<Message>]| pair[1].starts_with(&pair[0][..pair[0].len() - 1]);
    let changes = world.sent.windows(2).filter(|pair| !is_grown(pair)).count();
    assert!(changes <= 2 * bites, "{changes} changes by {bites} bites");
}

#[test]
fn long_results_are_cut_before_the_model_is_asked_for_a_summary() {
    let mut world = World::new(chatty(6));
    world.output = 9_000;
    world.rules.window.context = Some(Tokens(14_000));
    let (outcome, _) = world.run();
    assert_eq!(outcome, finished());
    assert_eq!(summaries(&world), 0);
    let [first, ..] = compactions(&world)[..] else {
        panic!("it was compacted");
    };
    assert!(matches!(first.older, Older::Cut { .. }), "{first:?}");
    assert!(first.after < first.before / 2 + 9_100, "{first:?}");
}

/// A conversation of many small parts, which only a summary makes smaller.
fn wordy(context: u64) -> World {
    talk_of(80, context)
}

fn talk_of(rounds: usize, context: u64) -> World {
    let mut world = World::new(chatty(rounds));
    world.output = 400;
    world.rules.window.context = Some(Tokens(context));
    world
}

#[test]
fn a_summary_of_the_model_takes_the_place_of_what_it_summarises() {
    let mut world = wordy(8_000);
    let (outcome, turn) = world.run();
    assert_eq!(outcome, finished());
    let first = compactions(&world)[0];
    let Older::Replaced { by, summary } = &first.older else {
        panic!("{first:?}");
    };
    assert_eq!(
        (*by, summary.inline()),
        (SummaryBy::Model, Some("all is well"))
    );
    let Message::User { text } = &turn.messages()[0] else {
        panic!("it begins with the person");
    };
    assert!(
        text.starts_with("go\n\n") && text.contains("all is well"),
        "{text}"
    );
    let asked = world.purposes.iter().position(|purpose| !purpose.is_work());
    let body = &world.sent[asked.expect("it asked")];
    let before = &world.sent[asked.expect("it asked") - 1];
    assert_eq!(
        body[..before.len()],
        before[..],
        "the provider's cache of it serves once more"
    );
}

#[test]
fn what_a_person_said_stays_word_for_word() {
    let mut world = wordy(8_000);
    let (outcome, turn) = world
        .live(Fate::Lives, &["also: keep tabs"])
        .expect("it lives");
    assert_eq!(outcome, finished());
    let Message::User { text } = &turn.messages()[0] else {
        panic!("it begins with the person");
    };
    assert!(text.starts_with("go\n\nalso: keep tabs\n\n"), "{text}");
}

#[test]
fn a_model_that_gives_no_summary_gets_a_list_of_what_it_did() {
    let nothing: [Does; 4] = [
        stopped(vec![], Stop::End).into(),
        stopped(vec![call("x", "read", "{}")], Stop::Calls).into(),
        Does::Fail(FailureClass::Fatal),
        Does::Fail(FailureClass::Overflow),
    ];
    for summary in nothing {
        let mut world = wordy(8_000);
        world.summary = summary;
        let (outcome, turn) = world.run();
        assert_eq!(outcome, finished());
        let first = compactions(&world)[0];
        let by = SummaryBy::Fleet;
        assert!(
            matches!(first.older, Older::Replaced { by: of, .. } if of == by),
            "{first:?}"
        );
        let Message::User { text } = &turn.messages()[0] else {
            panic!("it begins with the person");
        };
        assert!(text.contains("- read {}: 406 bytes"), "{text}");
        assert_eq!(world.ran.len(), 80, "a call of a summary is not run");
    }
}

#[test]
fn a_provider_that_is_gone_ends_the_attempt_also_while_it_is_asked_for_a_summary() {
    let mut world = wordy(8_000);
    world.summary = Does::Fail(FailureClass::KeyRefused);
    let (outcome, _) = world.run();
    let AgentOutcome::Failed { kind, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(kind, FailureKind::KeyRefused);
    assert_eq!(compactions(&world).len(), 0);
}

#[test]
fn a_refusal_teaches_the_size_of_an_unknown_window() {
    let mut world = World::new(chatty(40));
    world.output = 3_000;
    world.too_large = Some(40_000);
    let (outcome, _) = world.run();
    assert_eq!(outcome, finished());
    assert_eq!(world.refused.len(), 1);
}

#[test]
fn a_batch_of_results_that_does_not_fit_is_cut_and_the_work_goes_on() {
    let ids: Vec<String> = (0..6).map(|n| format!("c{n}")).collect();
    let batch: Vec<(&str, &str)> = ids.iter().map(|id| (&**id, "read")).collect();
    let mut world = World::new([calls(&batch), says("ready")]);
    world.output = 50_000;
    world.too_large = Some(200_000);
    let (outcome, _) = world.run();
    assert_eq!(outcome, finished());
    assert_eq!(world.sent.len(), 3);
    assert_eq!(refused_again(&world), 0);
}

#[test]
fn an_endless_overflow_ends_soon_and_sends_no_body_twice() {
    let long = says(&"word ".repeat(60_000));
    for summary in [long.into(), Does::Fail(FailureClass::Overflow)] {
        let mut world = World::new(chatty(20));
        world.output = 5_000;
        world.summary = summary;
        let died = world.live(Fate::Dies(60), &[]);
        assert_eq!(died.map(|(outcome, _)| outcome), None);
        world.sent.clear();
        world.too_large = Some(100);
        let (outcome, _) = world.run();
        let AgentOutcome::Failed { kind, message } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(kind, FailureKind::ContextTooLarge);
        assert_eq!(
            message,
            "no (also when the conversation had been made smaller)"
        );
        assert!(world.sent.len() <= 4, "{} requests", world.sent.len());
        assert_eq!(refused_again(&world), 0);
        let shrinks = |compacted: &&ContextCompacted| compacted.after < compacted.before;
        assert!(compactions(&world).iter().all(shrinks));
    }
}

#[test]
fn a_summary_as_long_as_what_it_replaces_is_cut() {
    let mut world = wordy(8_000);
    world.summary = says(&"word ".repeat(60_000)).into();
    let (outcome, _) = world.run();
    assert_eq!(outcome, finished());
    for compacted in compactions(&world) {
        assert!(
            compacted.after < compacted.before * 85 / 100,
            "{compacted:?}"
        );
    }
}

#[test]
fn a_summary_is_a_step_like_any_other() {
    let mut world = wordy(8_000);
    world.rules.steps = 60;
    let (outcome, _) = world.run();
    let AgentOutcome::Failed { kind, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(kind, FailureKind::StepLimit);
    assert_eq!(world.sent.len(), 60);
    assert!(summaries(&world) > 0);
}

#[test]
fn a_budget_that_has_no_room_for_a_summary_may_have_some_for_less() {
    let mut world = wordy(8_000);
    world.refuse_summaries = true;
    let (outcome, _) = world.run();
    assert_eq!(outcome, finished());
    assert_eq!(summaries(&world), 0);
    assert!(!compactions(&world).is_empty());
}

#[test]
fn a_kill_anywhere_in_a_compaction_changes_nothing_in_the_end() {
    for make in [
        || wordy(4_000),
        || {
            let mut world = World::new(chatty(14));
            world.output = 3_000;
            world.too_large = Some(20_000);
            world
        },
    ] {
        let mut unbroken: World = make();
        let (outcome, turn) = unbroken.run();
        assert!(!compactions(&unbroken).is_empty());
        for at in 0..1_000 {
            let mut world: World = make();
            let ended = world.live(Fate::Dies(at), &[]);
            let died = ended.is_none();
            let (again, after) = ended.unwrap_or_else(|| world.run());
            assert_eq!(again, outcome, "killed before effect {at}");
            assert_eq!(
                after.messages(),
                turn.messages(),
                "killed before effect {at}"
            );
            assert!(world.sent.len() <= unbroken.sent.len() + 1);
            assert_eq!(compactions(&world), compactions(&unbroken));
            if !died {
                break;
            }
            assert!(at < 999, "it comes to its end");
        }
    }
}

#[test]
fn an_answer_that_alone_is_too_large_does_not_come_back() {
    let long = Block::Text {
        text: "word ".repeat(10_000),
    };
    let script = [stopped(vec![long], Stop::OutputLimit), says("ready")];
    let mut world = World::new(script);
    world.too_large = Some(20_000);
    let (outcome, turn) = world.run();
    assert_eq!(outcome, finished());
    assert!(bytes_of(turn.messages()) < 10_000);
    let Message::User { text } = &turn.messages()[0] else {
        panic!("it begins with the person");
    };
    assert!(text.contains("all is well"), "{text}");
}

#[test]
fn an_attempt_that_was_answered_stays_one_when_its_answers_are_gone() {
    let long = Block::Text {
        text: "word ".repeat(10_000),
    };
    let script: [Does; 2] = [
        stopped(vec![long], Stop::OutputLimit).into(),
        Does::Fail(FailureClass::Fatal),
    ];
    let mut world = World::new(script);
    world.too_large = Some(20_000);
    let (outcome, turn) = world.run();
    let AgentOutcome::Failed { kind, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(turn.messages().len(), 1);
    assert_eq!(kind, FailureKind::RequestRefused);
}

/// An answer with calls whose results and arguments have any size.
fn any_answer() -> impl Strategy<Value = Answer> {
    let args = prop_oneof![Just(2_usize), 10_usize..30_000];
    let tool = prop_oneof![Just("read"), Just("edit"), Just("nope")];
    let one = (tool, args).prop_map(|(tool, size)| {
        let text = "y".repeat(size);
        call("c", tool, &format!(r#"{{"path":"a","content":"{text}"}}"#))
    });
    let said = prop_oneof![
        Just(None),
        (1_usize..5_000).prop_map(|size| Some(Block::Text {
            text: "z".repeat(size)
        })),
    ];
    (proptest::collection::vec(one, 0..4), said).prop_map(|(calls, said)| {
        let stop = if calls.is_empty() {
            Stop::OutputLimit
        } else {
            Stop::Calls
        };
        stopped(said.into_iter().chain(calls).collect(), stop)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each request that is formed is checked where it is admitted; here, that it goes on and ends.
    #[test]
    fn any_conversation_in_any_window_ends_and_sends_no_refused_body_again(
        script in proptest::collection::vec(any_answer(), 1..25),
        output in 0_usize..20_000,
        context in proptest::option::of(500_u64..40_000),
        too_large in proptest::option::of(300_u64..120_000),
        summary in prop_oneof![
            Just(Does::from(says("short"))),
            Just(Does::from(says(&"long ".repeat(20_000)))),
            Just(Does::Fail(FailureClass::Fatal)),
            Just(Does::from(stopped(vec![], Stop::End))),
        ],
        told in proptest::collection::vec("[a-z]{1,40}", 0..3),
        stop in 0_usize..200,
    ) {
        let mut world = World::new(script);
        world.output = output;
        world.rules.window.context = context.map(Tokens);
        world.too_large = too_large;
        world.summary = summary;
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let first = world.live(Fate::Dies(stop), &told);
        let (_, turn) = first.unwrap_or_else(|| world.run());
        prop_assert_eq!(refused_again(&world), 0);
        if world.sent.is_empty() {
            return Ok(());
        }
        if let Some(Message::User { text }) = turn.messages().first() {
            prop_assert!(text.starts_with("go"));
            if stop > 1 {
                for said in told {
                    prop_assert!(text.contains(said));
                }
            }
        }
    }
}
