//! A journal that closes after any line, and another run that goes on from there.

use super::fakes::{Bench, Does, MemoryJournal, answers, call, calls, finished, says};
use engine_core::message::{Message, Stop};
use engine_core::outcome::{AgentOutcome, FailureKind};
use engine_core::record::AgentRecord;
use engine_runtime::JournalClosed;
use std::sync::Arc;

fn script() -> Vec<Does> {
    vec![
        calls(&[("a", "read"), ("b", "grep"), ("c", "edit"), ("d", "shell")]),
        answers(vec![], Stop::End),
        calls(&[("e", "read")]),
        says("ready"),
    ]
}

fn answers_in(records: &[AgentRecord]) -> usize {
    let is_answer = |record: &&AgentRecord| matches!(record, AgentRecord::ModelResponded(_));
    records.iter().filter(is_answer).count()
}

/// The conversation at the last request of an agent that was never disturbed.
async fn undisturbed() -> (Vec<Message>, usize, usize) {
    let bench = Bench::new(script());
    assert_eq!(bench.run(&[]).await, finished("ready"));
    let lines = bench.journal.lines.lock().unwrap().len();
    (bench.last_sent(), bench.requests(), lines)
}

#[tokio::test]
async fn going_on_after_any_line_is_as_if_nothing_had_happened() {
    let (conversation, requests, lines) = undisturbed().await;
    assert_eq!(lines, 12);
    for kept in 0..lines {
        let mut first = Bench::new(script());
        first.journal = Arc::new(MemoryJournal {
            closes_after: Some(kept),
            ..MemoryJournal::default()
        });
        assert_eq!(first.run(&[]).await, Err(JournalClosed), "{kept} lines");
        let recorded = first.journal.records();
        let answered = answers_in(&recorded);
        let lost = first.requests() - answered;
        assert!(lost <= 1, "{kept} lines: {lost} requests were lost");

        let mut second = Bench::new(script().split_off(answered));
        second.journal = Arc::new(MemoryJournal {
            lines: vec![recorded].into(),
            ..MemoryJournal::default()
        });
        assert_eq!(second.run(&[]).await, finished("ready"), "{kept} lines");
        assert_eq!(second.requests(), requests - answered, "{kept} lines");
        if second.requests() > 0 {
            assert_eq!(second.last_sent(), conversation, "{kept} lines");
        }
        assert_eq!(answers_in(&second.journal.records()), requests);
    }
}

#[tokio::test]
async fn a_finished_attempt_asks_and_records_nothing_more() {
    let bench = Bench::new(script());
    assert_eq!(bench.run(&[]).await, finished("ready"));
    let records = bench.journal.records();
    assert_eq!(bench.run(&[]).await, finished("ready"));
    assert_eq!(bench.journal.records(), records);
    assert_eq!(bench.requests(), 4);
}

/// Dies while a call of this tool runs; then how often it ran, was restored, and its result.
async fn check_lost(tool: &str, ran: usize, restored: u32, result: &str) {
    let mut first = Bench::new([answers(vec![call("a", tool, "{}")], Stop::Calls)]);
    let started = 2;
    first.journal = Arc::new(MemoryJournal {
        closes_after: Some(started),
        ..MemoryJournal::default()
    });
    assert_eq!(first.run(&[]).await, Err(JournalClosed), "{tool}");
    assert_eq!(first.ran(), ["a"]);

    let mut second = Bench::new([says("ready")]);
    second.journal = Arc::new(MemoryJournal {
        lines: vec![first.journal.records()].into(),
        ..MemoryJournal::default()
    });
    assert_eq!(second.run(&[]).await, finished("ready"), "{tool}");
    assert_eq!(second.ran().len(), ran, "{tool}");
    assert_eq!(
        *second.snapshots.restored.lock().unwrap(),
        restored,
        "{tool}"
    );
    assert!(second.results()[0].1.starts_with(result), "{tool}");
}

#[tokio::test]
async fn a_call_without_outcome_is_treated_by_its_class() {
    check_lost("read", 1, 0, "a").await;
    check_lost("edit", 1, 1, "a").await;
    check_lost("shell", 1, 1, "a").await;
    check_lost("push", 0, 0, "Uncertain: ").await;
}

#[tokio::test]
async fn records_that_do_not_fit_together_fail_the_attempt() {
    let bench = Bench::new(script());
    assert_eq!(bench.run(&[]).await, finished("ready"));
    bench.journal.lines.lock().unwrap().remove(0);
    let Ok(AgentOutcome::Failed { kind, message }) = bench.run(&[]).await else {
        panic!("it must fail");
    };
    assert_eq!(kind, FailureKind::History);
    assert_eq!(message, "`model.responded` while the model is to be asked");
}
