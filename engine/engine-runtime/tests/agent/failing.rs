//! Requests that fail: which are sent again, after what wait, and how the attempt ends.

use super::fakes::{Bench, Does, fails, finished, says};
use engine_core::outcome::{AgentOutcome, FailureKind};
use engine_core::record::{AgentRecord, Billed};
use engine_llm::errors::{Fault, Seen};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

fn words() -> String {
    "no".to_owned()
}

fn limited(after: Option<Duration>) -> Does {
    let words = words();
    fails(Fault::RateLimited { after, words })
}

/// Runs the script on a clock that jumps; gives the time it took.
async fn check(script: Vec<Does>, end: Result<&str, FailureKind>, requests: usize) -> Duration {
    let bench = Bench::new(script);
    let begun = Instant::now();
    match (bench.run(&[]).await, end) {
        (Ok(AgentOutcome::Finished { text }), Ok(expected)) => assert_eq!(text, expected),
        (Ok(AgentOutcome::Failed { kind, .. }), Err(expected)) => assert_eq!(kind, expected),
        (outcome, expected) => panic!("{outcome:?}, not {expected:?}"),
    }
    assert_eq!(bench.requests(), requests);
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_overflow_is_never_sent_again_not_even_after_a_resume() {
    let bench = Bench::new(vec![fails(Fault::Overflow { words: words() }); 9]);
    for _ in 0..3 {
        let outcome = bench.run(&[]).await;
        let Ok(AgentOutcome::Failed { kind, message }) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(kind, FailureKind::ContextTooLarge);
        assert!(message.contains("no"), "{message}");
    }
    assert_eq!(bench.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_good_is_not_repeated() {
    let status = 400;
    let refused = Fault::Refused {
        status,
        words: words(),
    };
    let key = Fault::KeyRefused {
        status: 401,
        words: words(),
    };
    check(vec![fails(refused); 9], Err(FailureKind::RefusedForGood), 1).await;
    check(vec![fails(key); 9], Err(FailureKind::KeyRefused), 1).await;
}

#[tokio::test(start_paused = true)]
async fn passing_faults_are_waited_out() {
    let secs = Duration::from_secs;
    let took = check(vec![limited(None)], Ok("done"), 2).await;
    assert!(took >= secs(1) && took <= secs(2), "{took:?}");
    let took = check(vec![limited(Some(secs(7)))], Ok("done"), 2).await;
    assert!(took >= secs(7) && took <= secs(9), "{took:?}");
    let gone = Err(FailureKind::ProviderUnavailable);
    let took = check(vec![limited(Some(secs(86_400)))], gone, 1).await;
    assert_eq!(took, Duration::ZERO);
    check(vec![limited(None); 9], gone, 4).await;
    let cause = words();
    check(vec![fails(Fault::Unreachable { cause }); 9], gone, 4).await;
}

#[tokio::test(start_paused = true)]
async fn broken_answers_are_asked_for_again_and_never_kept() {
    let cut = |seen| {
        let cause = words();
        Does::Fail(Fault::StreamCut { cause }, seen)
    };
    check(vec![cut(Seen::Nothing), says("whole")], Ok("whole"), 2).await;
    check(vec![cut(Seen::Content), says("whole")], Ok("whole"), 2).await;
    let broken = Err(FailureKind::StreamBroken);
    check(vec![cut(Seen::Content); 9], broken, 5).await;
}

#[tokio::test(start_paused = true)]
async fn agents_limited_at_the_same_moment_do_not_return_together() {
    let secs = Duration::from_secs_f32;
    for (asked, band) in [
        (None, secs(1.0)..=secs(1.6)),
        (Some(secs(5.0)), secs(5.0)..=secs(6.3)),
    ] {
        let mut waits = BTreeSet::new();
        for task in 0..8 {
            let mut bench = Bench::new([limited(asked)]);
            bench.spec.agent.task = format!("t{task}").parse().unwrap();
            let begun = Instant::now();
            assert_eq!(bench.run(&[]).await, finished("done"));
            waits.insert(begun.elapsed());
        }
        assert!(waits.len() >= 4, "{waits:?}");
        assert!(waits.iter().all(|wait| band.contains(wait)), "{waits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_failed_request_is_recorded_with_what_it_may_have_cost() {
    let bench = Bench::new([
        limited(None),
        Does::Fail(Fault::StreamCut { cause: words() }, Seen::Content),
    ]);
    assert_eq!(bench.run(&[]).await, finished("done"));
    let records = bench.journal.records();
    let failures = records.iter().filter_map(|record| match record {
        AgentRecord::ModelFailed(failed) => Some((failed.step.0, &*failed.kind, failed.billed)),
        _ => None,
    });
    let expected = [
        (1, "rate-limited", Billed::Nothing),
        (2, "stream-cut", Billed::Reservation),
    ];
    assert_eq!(failures.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_budget_without_room_ends_the_attempt_before_it_is_sent() {
    let mut bench = Bench::new([says("x")]);
    let reason = "the run's budget is used up".to_owned();
    let journal = std::sync::Arc::get_mut(&mut bench.journal).unwrap();
    journal.refusal = Some(reason.clone());
    assert_eq!(bench.run(&[]).await, Ok(AgentOutcome::Budget { reason }));
    assert_eq!(bench.requests(), 0);
}
