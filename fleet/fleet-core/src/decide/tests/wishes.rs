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

fn retry(bench: &mut Bench, id: &str, instructions: Option<&str>) -> Reply {
    bench.input(Input::Wish(Wish::Retry {
        task: id.parse().unwrap(),
        instructions: instructions.map(str::to_owned),
    }))
}

fn failing(id: &'static str) -> impl Fn(&AgentId) -> AttemptEnd {
    move |agent| {
        if agent.task.as_str() != id {
            return finished();
        }
        AttemptEnd::Failed {
            kind: "k".into(),
            message: "m".into(),
        }
    }
}

/// What a person asked for while nobody managed the run, and a manager that goes on.
fn unmanaged(bench: &mut Bench, wish: Wish) -> Reply {
    let decision = decide(&bench.state, Input::Wish(wish));
    if !decision.records.is_empty() {
        bench.line(decision.records);
    }
    while let Some(records) = bench.state.conclude() {
        bench.line(records);
    }
    decision.reply
}

fn resume(bench: &mut Bench) {
    bench.input(Input::Resume {
        version: "0".into(),
        pid: 1,
    });
}

#[test]
fn a_retried_task_gets_attempts_anew_and_what_was_skipped_comes_back() {
    let mut bench = chain();
    assert_eq!(bench.play(failing("a")).outcome, RunOutcome::Partial);
    assert_eq!(words(&bench), ["failed", "skipped", "skipped", "settled"]);
    let wish = Wish::Retry {
        task: "a".parse().unwrap(),
        instructions: None,
    };
    assert_eq!(unmanaged(&mut bench, wish), Reply::Accepted);
    assert_eq!(words(&bench), ["queued", "queued", "queued", "settled"]);
    assert!(bench.state.is_unfinished());
    let view = bench.state.view(crate::view::Manager::Gone).unwrap();
    assert_eq!((view.state, view.exit), ("stopped", None));
    resume(&mut bench);
    let mut left = 1;
    let ended = bench.play(|agent| {
        let fails = agent.task.as_str() == "a" && left > 0;
        left -= u32::from(fails);
        if fails {
            failing("a")(agent)
        } else {
            finished()
        }
    });
    assert_eq!(ended.outcome, RunOutcome::Done);
    let (_, a) = bench.state.find(&"a".parse().unwrap()).unwrap();
    assert_eq!(a.attempt_no(), AttemptNo(4));
}

#[test]
fn a_retry_of_what_was_skipped_tries_what_was_in_its_way() {
    let mut bench = chain();
    bench.play(failing("a"));
    let wish = Wish::Retry {
        task: "c".parse().unwrap(),
        instructions: Some("Be quick.".into()),
    };
    assert_eq!(unmanaged(&mut bench, wish), Reply::Accepted);
    assert_eq!(words(&bench), ["queued", "queued", "queued", "settled"]);
    resume(&mut bench);
    assert_eq!(bench.play(|_| finished()).outcome, RunOutcome::Done);
    let (_, c) = bench.state.find(&"c".parse().unwrap()).unwrap();
    assert_eq!(
        c.asked(),
        "do c\n\nThe person who ordered this adds:\n\nBe quick."
    );
}

#[test]
fn what_has_something_else_in_its_way_stays_skipped_because_of_that() {
    let tasks = vec![
        task("a", "scout", &[]),
        task("b", "scout", &[]),
        task("c", "scout", &["a", "b"]),
    ];
    let mut bench = Bench::new(tasks, |plan| plan.limits.attempts = 1);
    let ended =
        bench.play(|agent| failing(if agent.task.as_str() == "a" { "a" } else { "b" })(agent));
    assert_eq!(ended.outcome, RunOutcome::Failed);
    let of = |id: &str| Wish::Retry {
        task: id.parse().unwrap(),
        instructions: None,
    };
    unmanaged(&mut bench, of("a"));
    let blocked_by = |bench: &Bench| {
        let (_, c) = bench.state.find(&"c".parse().unwrap()).unwrap();
        c.blocked_by.clone().map(|task| task.to_string())
    };
    assert_eq!(bench.word("c"), "skipped");
    assert_eq!(blocked_by(&bench).as_deref(), Some("b"));
    unmanaged(&mut bench, of("b"));
    assert_eq!((bench.word("c"), blocked_by(&bench)), ("queued", None));
    resume(&mut bench);
    assert_eq!(bench.play(|_| finished()).outcome, RunOutcome::Done);
}

#[test]
fn a_task_is_retried_beside_a_manager_and_everything_that_failed_at_once() {
    let mut bench = chain();
    let fail = failing("a");
    while bench.word("a") != "failed" {
        let next = bench.state.owed().next().unwrap();
        bench.perform(next, &mut |agent| fail(agent));
    }
    assert_eq!(bench.input(Input::Wish(Wish::RetryFailed)), Reply::Accepted);
    assert_eq!(words(&bench)[..3], ["queued", "queued", "queued"]);
    assert_eq!(bench.play(|_| finished()).outcome, RunOutcome::Done);
}

#[test]
fn a_retry_goes_on_from_what_was_left_and_after_a_cancellation_anew() {
    let check = |cancelled: bool, start: &str| {
        let mut spec = task("a", "builder", &[]);
        spec.check = vec!["c".into()];
        let mut bench = Bench::new(vec![spec], |plan| plan.limits.attempts = 1);
        while bench.word("a") != "failed" {
            let next = bench.state.owed().next().unwrap();
            if cancelled && matches!(next.kind, EffectKind::RunCheck { .. }) {
                cancel(&mut bench, "a");
                break;
            }
            bench.perform(next, &mut |_| finished());
        }
        unmanaged(
            &mut bench,
            Wish::Retry {
                task: "a".parse().unwrap(),
                instructions: None,
            },
        );
        resume(&mut bench);
        let (_, a) = bench.state.find(&"a".parse().unwrap()).unwrap();
        let attempt = a.attempt.as_ref().unwrap();
        assert_eq!(attempt.no, AttemptNo(2));
        assert_eq!(attempt.start, Some(CommitId(start.into())));
    };
    check(false, "a-1");
    check(true, "base");
}

#[test]
fn a_task_cancelled_between_attempts_begins_anew_too() {
    let mut spec = task("a", "builder", &[]);
    spec.check = vec!["c".into()];
    let tasks = vec![spec, task("d", "scout", &[])];
    let mut bench = Bench::new(tasks, |plan| plan.limits.agents = 1);
    let a = "a".parse().unwrap();
    let owed_to_a = |bench: &Bench| {
        let (ix, _) = bench.state.find(&a).unwrap();
        bench.state.owed_to(ix)
    };
    while let Some(next) = owed_to_a(&bench) {
        bench.perform(next, &mut |_| finished());
    }
    assert_eq!((bench.word("a"), bench.word("d")), ("queued", "running"));
    cancel(&mut bench, "a");
    retry(&mut bench, "a", None);
    bench.play(|_| finished());
    let starts: Vec<_> = bench
        .records
        .iter()
        .filter_map(|record| match record {
            Record::AttemptStarted(r) if r.task == a => r.start.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(starts, ["base", "base"].map(|id| CommitId(id.into())));
}

#[test]
fn what_cannot_be_retried_is_declined() {
    let mut spec = task("a", "builder", &[]);
    spec.review = Some(RoleName("reviewer".into()));
    let mut bench = Bench::new(vec![spec, task("b", "scout", &[])], |_| {});
    let check = |bench: &mut Bench, id: &str, text: Option<&str>, expected: &str| {
        let Reply::Declined(decline) = retry(bench, id, text) else {
            panic!("`{id}` is retried");
        };
        assert_eq!(decline.to_string(), expected);
    };
    check(
        &mut bench,
        "a",
        None,
        "the task `a` has not ended: it is running",
    );
    check(&mut bench, "a", Some(" \n"), "the text is empty");
    assert!(matches!(
        bench.input(Input::Wish(Wish::RetryFailed)),
        Reply::Declined(Decline::NothingFailed)
    ));
    bench.play(|agent| {
        if agent.task.as_str().contains("review") {
            AttemptEnd::Verdict {
                verdict: Verdict::Approve,
            }
        } else {
            finished()
        }
    });
    check(&mut bench, "a", None, "the task `a` has ended as landed");
    check(
        &mut bench,
        "a-review-1",
        None,
        "`a-review-1` is the review of `a`: retry that",
    );
    check(&mut bench, "c", None, "no task is called `c`");
}

fn tell(bench: &mut Bench, id: &str, text: &str) -> Reply {
    bench.input(Input::Wish(Wish::Tell {
        task: id.parse().unwrap(),
        text: text.into(),
    }))
}

fn ask(bench: &mut Bench, step: u32, told: &[&str]) {
    let granted = bench.input(Input::Admit(Ask {
        agent: AgentId {
            task: "a".parse().unwrap(),
            attempt: AttemptNo(1),
        },
        step: StepNo(step),
        hash: String::new(),
        bytes: 10,
        purpose: Purpose::Work,
        told: told.iter().map(|text| Content::from(*text)).collect(),
        max_output: Tokens(5),
    }));
    assert!(matches!(granted, Reply::Granted { .. }));
}

#[test]
fn what_is_said_to_an_agent_is_unheard_until_a_request_holds_it() {
    let mut bench = chain();
    let next = bench.state.owed().next().unwrap();
    bench.perform(next, &mut |_| finished());
    let unheard = |bench: &Bench| {
        let (_, a) = bench.state.find(&"a".parse().unwrap()).unwrap();
        a.unheard().to_vec()
    };
    assert_eq!(tell(&mut bench, "a", "one"), Reply::Accepted);
    assert_eq!(tell(&mut bench, "a", "two"), Reply::Accepted);
    ask(&mut bench, 1, &["do a", "one"]);
    assert_eq!(unheard(&bench), ["two"]);
    resume(&mut bench);
    assert_eq!(unheard(&bench), ["two"]);
    let next = bench.state.owed().next().unwrap();
    bench.perform(next, &mut |_| finished());
    ask(&mut bench, 2, &["two"]);
    assert!(unheard(&bench).is_empty());
}

#[test]
fn what_is_said_to_a_task_that_waits_is_part_of_what_it_is_asked() {
    let mut bench = chain();
    assert_eq!(tell(&mut bench, "b", "Mind the gap."), Reply::Accepted);
    let b = |bench: &Bench| bench.state.find(&"b".parse().unwrap()).unwrap().1.clone();
    assert_eq!(b(&bench).asked(), "do b");
    while b(&bench).attempt.is_none() {
        let next = bench.state.owed().next().unwrap();
        bench.perform(next, &mut |_| finished());
    }
    assert!(b(&bench).asked().ends_with("Mind the gap."));
    assert!(b(&bench).unheard().is_empty());
}

#[test]
fn nothing_is_said_to_a_task_whose_agent_is_done() {
    let mut bench = Bench::new(vec![task("a", "builder", &[])], |_| {});
    let refused = |bench: &mut Bench, text: &str| match tell(bench, "a", text) {
        Reply::Declined(decline) => decline.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&mut bench, ""), "the text is empty");
    let long = "x".repeat(TEXT_MAX_BYTES + 1);
    assert!(refused(&mut bench, &long).contains("16384 are allowed"));
    while bench.state.owed().next().unwrap().kind != EffectKind::Commit {
        let next = bench.state.owed().next().unwrap();
        bench.perform(next, &mut |_| finished());
    }
    assert!(refused(&mut bench, "x").contains("is being judged"));
    bench.play(|_| finished());
    assert!(refused(&mut bench, "x").contains("has ended as landed"));
}
