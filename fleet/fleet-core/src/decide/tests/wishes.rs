//! What a person asks of a run, as it works out for everything that hangs on it.

use super::*;

/// A bench of `a`, `b` that needs it, `c` that needs `b`, and `d` alone, one agent at a time.
fn chain() -> Bench {
    let tasks = vec![
        task("a", "scout", &[]),
        task("b", "scout", &["a"]),
        task("c", "scout", &["b"]),
        task("d", "scout", &[]),
    ];
    Bench::new(tasks, |plan| plan.limits.agents = 1)
}

fn words(bench: &Bench) -> [&'static str; 4] {
    ["a", "b", "c", "d"].map(|id| bench.word(id))
}

fn cancel(bench: &mut Bench, id: &str) -> Reply {
    bench.input(Input::Wish(Wish::Cancel {
        task: id.parse().unwrap(),
    }))
}

#[test]
fn a_cancelled_task_frees_its_slot_and_takes_along_what_needs_it() {
    let mut bench = chain();
    assert_eq!(words(&bench), ["running", "queued", "queued", "queued"]);
    assert_eq!(cancel(&mut bench, "a"), Reply::Accepted);
    assert_eq!(
        words(&bench),
        ["cancelled", "skipped", "skipped", "running"]
    );
    let (_, c) = bench.state.find(&"c".parse().unwrap()).unwrap();
    assert_eq!(c.blocked_by.as_ref().unwrap().as_str(), "a");
    assert!(matches!(
        cancel(&mut bench, "c"),
        Reply::Declined(Decline::Ended {
            state: "skipped",
            ..
        })
    ));
    assert!(matches!(
        cancel(&mut bench, "e"),
        Reply::Declined(Decline::NoTask(_))
    ));
    assert_eq!(bench.play(|_| finished()).outcome, RunOutcome::Partial);
}

#[test]
fn a_cancelled_work_takes_its_review_along() {
    let mut spec = task("a", "builder", &[]);
    spec.review = Some(RoleName("reviewer".into()));
    let mut bench = Bench::new(vec![spec], |_| {});
    while bench.word("a") != "waiting" {
        let next = bench.state.owed().next().unwrap();
        bench.perform(next, &mut |_| finished());
    }
    assert_eq!(cancel(&mut bench, "a"), Reply::Accepted);
    assert_eq!(
        [bench.word("a"), bench.word("a-review-1")],
        ["cancelled", "cancelled"]
    );
    assert_eq!(bench.ended().unwrap().outcome, RunOutcome::Failed);
}

#[test]
fn a_cancelled_review_takes_the_work_along() {
    let mut spec = task("a", "builder", &[]);
    spec.review = Some(RoleName("reviewer".into()));
    let mut bench = Bench::new(vec![spec], |_| {});
    while bench.word("a") != "waiting" {
        let next = bench.state.owed().next().unwrap();
        bench.perform(next, &mut |_| finished());
    }
    assert_eq!(cancel(&mut bench, "a-review-1"), Reply::Accepted);
    assert_eq!(bench.word("a"), "cancelled");
}

#[test]
fn work_that_is_landing_cannot_be_cancelled() {
    let mut bench = Bench::new(vec![task("a", "builder", &[])], |_| {});
    let a = |bench: &Bench| bench.state.find(&"a".parse().unwrap()).unwrap().0;
    while bench.state.task(a(&bench)).phase != Phase::Moving {
        let next = bench.state.owed().next().unwrap();
        bench.perform(next, &mut |_| finished());
    }
    assert!(matches!(
        cancel(&mut bench, "a"),
        Reply::Declined(Decline::Landing(_))
    ));
    assert_eq!(bench.play(|_| finished()).outcome, RunOutcome::Done);
}

#[test]
fn a_run_given_up_ends_without_a_manager() {
    let mut bench = chain();
    bench.input(Input::Stop {
        reason: "asked".into(),
        exit: 130,
    });
    let decision = decide(&bench.state, Input::Wish(Wish::CancelAll));
    assert_eq!(decision.reply, Reply::Accepted);
    bench.line(decision.records);
    while let Some(records) = bench.state.conclude() {
        bench.line(records);
    }
    assert_eq!(words(&bench), ["cancelled"; 4]);
    let ended = bench.ended().unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Failed, 1));
    assert!(!bench.state.is_unfinished());
    let again = decide(&bench.state, Input::Wish(Wish::CancelAll));
    assert_eq!(again.reply, Reply::Declined(Decline::NothingLeft));
}
