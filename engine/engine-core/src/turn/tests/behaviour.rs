//! What the machine does with answers, calls, failures and words, each in one stretch of life.

use super::world::{Does, Fate, World};
use crate::failure::{ContentSeen, FailureClass};
use crate::fixtures::{call, calls, invalid_call, says, stopped};
use crate::message::{Answer, Block, Stop};
use crate::outcome::{AgentOutcome, FailureKind};
use crate::record::{AgentRecord, Billed, Verdict};
use crate::turn::words;

fn finished(text: &str) -> AgentOutcome {
    AgentOutcome::Finished {
        text: text.to_owned(),
    }
}

fn failed(kind: FailureKind, message: &str) -> AgentOutcome {
    AgentOutcome::Failed {
        kind,
        message: message.to_owned(),
    }
}

fn text(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
    }
}

/// Runs the script to its end: outcome, requests sent, calls run.
fn check(mut world: World, outcome: &AgentOutcome, requests: usize, ran: &[&str]) -> World {
    let (found, _) = world.run();
    assert_eq!(&found, outcome);
    assert_eq!(world.sent.len(), requests, "requests");
    assert_eq!(world.ran, ran, "calls run");
    world
}

/// Runs to the end and compares the texts of all results.
fn check_results<D: Into<Does>>(script: impl IntoIterator<Item = D>, expected: &[(&str, &str)]) {
    let (_, turn) = World::new(script).run();
    let found = World::results(&turn);
    let found: Vec<(&str, &str)> = found.iter().map(|r| (&*r.call.0, &*r.text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn an_answer_without_calls_ends_the_attempt() {
    let world = World::new([says("all good")]);
    check(world, &finished("all good"), 1, &[]);
    let world = World::new([stopped(vec![text("a"), text(" "), text("b")], Stop::Calls)]);
    check(world, &finished("a\n\nb"), 1, &[]);
}

#[test]
fn calls_run_whatever_the_finish_reason_says() {
    let answer = stopped(vec![call("c1", "read", r#"{"p":"a"}"#)], Stop::End);
    check(World::new([answer]), &finished("done"), 2, &["c1"]);
}

#[test]
fn readers_run_side_by_side_and_all_others_alone_in_the_order_asked() {
    let world = World::new([calls(&[
        ("1", "read"),
        ("2", "grep"),
        ("3", "edit"),
        ("4", "shell"),
        ("5", "read"),
    ])]);
    let world = check(world, &finished("done"), 2, &["1", "2", "3", "4", "5"]);
    let batches: Vec<String> = world.batches.iter().map(|ids| ids.join(" ")).collect();
    assert_eq!(batches, ["1 2", "3", "4", "5"]);
    let order = world.ledger.iter().filter_map(|record| match record {
        AgentRecord::ToolFinished(finished) => Some(finished.call.0.as_str()),
        _ => None,
    });
    assert_eq!(order.collect::<Vec<_>>(), ["1", "2", "3", "4", "5"]);
}

#[test]
fn the_outcome_of_a_change_and_its_snapshot_are_one_line() {
    let mut world = World::new([calls(&[("1", "edit"), ("2", "read")])]);
    let mut turn = world.resume();
    world.live(Fate::Lives, &[]).unwrap();
    let kinds: Vec<&str> = world.ledger.iter().map(kind).collect();
    assert_eq!(
        kinds,
        [
            "requested",
            "responded",
            "started",
            "finished",
            "snapshotted",
            "started",
            "finished",
            "requested",
            "responded"
        ]
    );
    let effects = turn.handle(super::super::TurnInput::Start).unwrap();
    assert_eq!(
        effects.len(),
        1,
        "nothing is recorded before anything happened"
    );
}

fn kind(record: &AgentRecord) -> &'static str {
    match record {
        AgentRecord::ModelRequested(_) => "requested",
        AgentRecord::ModelResponded(_) => "responded",
        AgentRecord::ModelFailed(_) => "failed",
        AgentRecord::ToolStarted(_) => "started",
        AgentRecord::ToolFinished(_) => "finished",
        AgentRecord::WorkspaceSnapshotted(_) => "snapshotted",
        AgentRecord::ContextCompacted(_) => "compacted",
        AgentRecord::VerdictGiven(_) => "judged",
    }
}

#[test]
fn refused_calls_are_answered_and_the_others_run() {
    check_results(
        [stopped(
            vec![
                call("1", "raed", "{}"),
                invalid_call("2", "read", "{\"pa"),
                call("3", "shell", r#"{"deny":1}"#),
                call("4", "read", "{}"),
            ],
            Stop::Calls,
        )],
        &[
            (
                "1",
                "Not run: there is no tool `raed`. Did you mean `read`? There are `read`, `grep`, `edit`, `shell`, `push`.",
            ),
            (
                "2",
                "Not run: the arguments are not a JSON object: EOF at column 9. Send the whole call again.",
            ),
            ("3", "Denied by the person: not run."),
            ("4", "4 ran"),
        ],
    );
}

#[test]
fn doubled_and_missing_call_ids_run_once_each() {
    let ids = |answers: &[&[(&str, &str)]], ran: &[&str]| {
        let mut world = World::new(answers.iter().map(|answer| calls(answer)));
        world.run();
        assert_eq!(world.ran, ran);
    };
    ids(
        &[&[("call_1", "edit"), ("call_1", "edit")]],
        &["call_1", "call_1_2"],
    );
    ids(&[&[("", "read"), ("", "read")]], &["call_1", "call_2"]);
    ids(
        &[&[("shell:0", "shell")], &[("shell:0", "shell")]],
        &["shell:0", "shell:0_2"],
    );
}

#[test]
fn cut_calls_never_run_and_three_cut_answers_end_the_attempt() {
    let cut = |block: Block| stopped(vec![block], Stop::OutputLimit);
    let script = [
        cut(invalid_call(
            "1",
            "edit",
            "{\"path\":\"notes.txt\",\"content\":\"line1\\nli",
        )),
        cut(call("2", "edit", r#"{"path":"notes.txt"}"#)),
        cut(invalid_call("3", "shell", "{\"command\":\"rm -rf build")),
    ];
    let expected = [("1", words::CUT), ("2", words::CUT), ("3", words::CUT)];
    check_results(script.clone(), &expected);
    let end = failed(
        FailureKind::OutputLimit,
        "the output limit cut 3 answers in a row",
    );
    let world = check(World::new(script), &end, 3, &[]);
    assert!(world.tree.is_empty());
    let text = || stopped(vec![text("half a rep")], Stop::OutputLimit);
    check(World::new([text(), text(), text()]), &end, 3, &[]);
    check(World::new([text(), text()]), &finished("done"), 3, &[]);
}

#[test]
fn five_answers_in_a_row_with_invalid_arguments_end_the_attempt() {
    let bad = || {
        stopped(
            vec![invalid_call("a", "read", "{\"path\":\"a")],
            Stop::Calls,
        )
    };
    let end = failed(
        FailureKind::InvalidArguments,
        "5 answers in a row held invalid arguments",
    );
    check(World::new(vec![bad(); 9]), &end, 5, &[]);
    check(World::new(vec![bad(); 4]), &finished("done"), 5, &[]);
}

#[test]
fn an_empty_answer_is_not_kept_and_the_model_is_asked_on() {
    let empty = || stopped(vec![text(" \n")], Stop::End);
    let mut world = World::new([calls(&[("1", "read")]), empty()]);
    let (outcome, turn) = world.run();
    assert_eq!(outcome, finished("done"));
    assert_eq!(turn.messages().len(), 5, "{:?}", turn.messages());
    let end = failed(FailureKind::EmptyAnswers, "3 answers in a row were empty");
    check(World::new(vec![empty(); 9]), &end, 3, &[]);
}

#[test]
fn a_withheld_answer_ends_the_attempt_and_runs_nothing() {
    let end = failed(FailureKind::Filtered, "the provider withheld the answer");
    let calls = stopped(vec![call("1", "edit", "{}")], Stop::Filtered);
    check(World::new([calls]), &end, 1, &[]);
    let words = stopped(vec![text("I can")], Stop::Filtered);
    check(World::new([words]), &end, 1, &[]);
}

#[test]
fn the_limit_on_requests_holds() {
    let mut world = World::new(vec![calls(&[("a", "read")]); 9]);
    world.rules.steps = 2;
    let end = failed(
        FailureKind::StepLimit,
        "the limit of 2 model requests is reached",
    );
    check(world, &end, 2, &["a", "a_2"]);
}

#[test]
fn a_refused_admission_ends_the_attempt_as_budget() {
    let mut world = World::new([says("x")]);
    world.refusal = Some("the run's budget is used up".to_owned());
    let reason = "the run's budget is used up".to_owned();
    check(world, &AgentOutcome::Budget { reason }, 0, &[]);
}

#[test]
fn a_verdict_ends_a_review() {
    let give = |id, verdict: &str| {
        let arguments = format!(r#"{{"verdict":"{verdict}","findings":"a.rs:1"}}"#);
        call(id, "verdict", &arguments)
    };
    let review = |answers: Vec<Answer>| World::new(answers).reviewing();
    let judged = |verdict| AgentOutcome::Verdict {
        verdict,
        findings: "a.rs:1".to_owned(),
    };
    let plain = stopped(vec![give("v", "approve")], Stop::Calls);
    check(
        review(vec![plain.clone()]),
        &judged(Verdict::Approve),
        1,
        &[],
    );
    let among = stopped(
        vec![
            call("1", "read", "{}"),
            give("v", "reject"),
            call("2", "read", "{}"),
        ],
        Stop::Calls,
    );
    check(review(vec![among]), &judged(Verdict::Reject), 1, &["1"]);
    let wrong = stopped(vec![give("v", "maybe")], Stop::Calls);
    check(
        review(vec![wrong, plain.clone()]),
        &judged(Verdict::Approve),
        2,
        &[],
    );
    check(
        review(vec![says("looks fine"), plain.clone()]),
        &judged(Verdict::Approve),
        2,
        &[],
    );
    let end = failed(
        FailureKind::NoVerdict,
        "the review ended without a verdict, even when asked for it",
    );
    check(review(vec![says("fine"), says("fine")]), &end, 2, &[]);
    let cut = stopped(vec![give("v", "approve")], Stop::OutputLimit);
    check(review(vec![cut, plain]), &judged(Verdict::Approve), 2, &[]);
}

#[test]
fn only_a_reviewer_has_the_verdict_tool() {
    let verdict = call("v", "verdict", r#"{"verdict":"approve","findings":"x"}"#);
    let world = World::new([stopped(vec![verdict], Stop::Calls)]);
    check(world, &finished("done"), 2, &[]);
}

#[test]
fn passing_faults_are_asked_again_and_others_never() {
    let fail = |class: FailureClass| Does::Fail(class);
    let busy = FailureClass::Retry { after: None };
    let broken = FailureClass::StreamBroken {
        content: ContentSeen::Yes,
    };
    let world = check(
        World::new([fail(busy), fail(broken), fail(busy), says("x").into()]),
        &finished("x"),
        4,
        &[],
    );
    assert_eq!(world.waits.len(), 3);
    for class in [busy, FailureClass::Unavailable] {
        let end = failed(
            FailureKind::ProviderUnavailable,
            "no (asked again 3 times, given up)",
        );
        check(World::new(vec![fail(class); 9]), &end, 4, &[]);
    }
    let end = failed(FailureKind::StreamBroken, "5 answers broke off: no");
    check(World::new(vec![fail(broken); 9]), &end, 5, &[]);
    for (class, kind) in [
        (FailureClass::Overflow, FailureKind::ContextTooLarge),
        (FailureClass::Fatal, FailureKind::RefusedForGood),
        (FailureClass::NotThere, FailureKind::RefusedForGood),
        (FailureClass::KeyRefused, FailureKind::KeyRefused),
    ] {
        let world = check(
            World::new(vec![fail(class); 9]),
            &failed(kind, "no"),
            1,
            &[],
        );
        assert!(world.waits.is_empty());
    }
}

#[test]
fn what_is_refused_after_an_answer_is_refused_of_this_conversation_only() {
    for (class, kind) in [
        (FailureClass::Fatal, FailureKind::RequestRefused),
        (FailureClass::NotThere, FailureKind::RefusedForGood),
    ] {
        let script = [calls(&[("a", "read")]).into(), Does::Fail(class)];
        check(World::new(script), &failed(kind, "no"), 2, &["a"]);
    }
}

#[test]
fn an_answer_renews_the_patience() {
    let busy = || Does::Fail(FailureClass::Retry { after: None });
    let script = [
        busy(),
        busy(),
        calls(&[("a", "read")]).into(),
        busy(),
        busy(),
        busy(),
    ];
    check(World::new(script), &finished("done"), 7, &["a"]);
}

#[test]
fn what_is_said_comes_before_the_end() {
    let mut world = World::new([says("first"), says("second")]);
    let told = ["  ", "wait", "and look"];
    let (outcome, turn) = world.live(Fate::Lives, &told).unwrap();
    assert_eq!(outcome, finished("first"), "it was in the first request");
    assert_eq!(
        turn.messages()[0],
        crate::message::Message::User {
            text: "go\n\nwait\n\nand look".to_owned()
        }
    );
    let (outcome, turn) = world.live(Fate::Lives, &["one more"]).unwrap();
    assert_eq!(outcome, finished("second"));
    assert_eq!(turn.messages().len(), 4);
}

#[test]
fn a_stop_gives_every_open_call_its_result() {
    let mut world = World::new([calls(&[("t1", "shell"), ("t2", "read")])]);
    world.endless.push("t1".to_owned());
    let running = 4;
    let (outcome, _) = world.live(Fate::IsStopped(running), &[]).unwrap();
    assert_eq!(outcome, AgentOutcome::Interrupted);
    assert_eq!(kind(world.ledger.last().unwrap()), "finished");
    let (outcome, turn) = world.live(Fate::Lives, &["go on"]).unwrap();
    assert_eq!(outcome, finished("done"));
    assert_eq!(world.ran, ["t1"]);
    let results = World::results(&turn);
    let texts: Vec<(&str, &str)> = results.iter().map(|r| (&*r.call.0, &*r.text)).collect();
    let stopped = "Stopped after it had started: it may have had effects. Output until then:\nhalf";
    assert_eq!(texts, [("t1", stopped), ("t2", words::NOT_STARTED)]);
    let last = turn.messages().len() - 2;
    assert_eq!(
        turn.messages()[last],
        crate::message::Message::User {
            text: "go on".to_owned()
        }
    );
}

#[test]
fn a_stop_while_the_model_is_asked_books_the_request() {
    let mut world = World::new([says("x")]);
    let asking = 1;
    let (outcome, _) = world.live(Fate::IsStopped(asking), &[]).unwrap();
    assert_eq!(outcome, AgentOutcome::Interrupted);
    let Some(AgentRecord::ModelFailed(last)) = world.ledger.last() else {
        panic!("{:?}", world.ledger);
    };
    assert_eq!(
        (&*last.kind, last.billed),
        ("interrupted", Billed::Reservation)
    );
    check(world, &finished("x"), 2, &[]);
}

#[test]
fn a_workspace_that_cannot_be_kept_ends_the_attempt() {
    let mut world = World::new([calls(&[("1", "edit")])]);
    world.broken_disk = true;
    let world = check(
        world,
        &failed(FailureKind::Workspace, "no space"),
        1,
        &["1"],
    );
    assert_eq!(kind(world.ledger.last().unwrap()), "finished");
}
