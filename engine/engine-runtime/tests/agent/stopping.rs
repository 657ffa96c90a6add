//! A stop at any moment: what is cut, what is recorded, and that the conversation can go on.

use super::fakes::{Bench, Does, answers, call, calls, fails, finished, pairs};
use engine_core::message::{Message, Stop};
use engine_core::outcome::AgentOutcome;
use engine_core::record::{AgentRecord, Billed};
use engine_llm::errors::Fault;
use engine_runtime::STOP_GRACE;
use tokio::time::Instant;

#[tokio::test]
async fn a_stopped_call_and_one_that_never_began_both_get_their_result() {
    let blocks = vec![
        call("t1", "shell", r#"{"hang":1}"#),
        call("t2", "read", "{}"),
    ];
    let bench = Bench::new([answers(blocks, Stop::Calls)]);
    let agent = tokio::spawn(bench.run(&[]));
    bench.tools.started.notified().await;
    bench.cancel.cancel();
    assert_eq!(agent.await.unwrap(), Ok(AgentOutcome::Interrupted));
    assert_eq!(*bench.snapshots.taken.lock().unwrap(), 1);

    let again = Bench {
        cancel: Default::default(),
        ..bench
    };
    assert_eq!(again.run(&["go on"]).await, finished("done"));
    assert_eq!(again.ran(), ["t1"]);
    let stopped = "Stopped after it had started: it may have had effects. Output until then:\nhalf";
    let not_run = "Not run: the agent was stopped before this call started.";
    assert_eq!(again.results(), pairs(&[("t1", stopped), ("t2", not_run)]));
    let last = again.last_sent().pop().unwrap();
    let text = "go on".to_owned();
    assert_eq!(last, Message::User { text });
    assert_eq!(again.last_sent().len(), 4);
}

#[tokio::test]
async fn a_denied_call_is_answered_and_the_other_runs() {
    let blocks = vec![
        call("t1", "shell", r#"{"deny":1}"#),
        call("t2", "read", "{}"),
    ];
    let bench = Bench::new([answers(blocks, Stop::Calls)]);
    assert_eq!(bench.run(&[]).await, finished("done"));
    let denied = "Denied by the person: not run.";
    assert_eq!(bench.results(), pairs(&[("t1", denied), ("t2", "t2")]));
    assert_eq!(bench.ran(), ["t2"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_will_not_end_is_dropped() {
    let blocks = vec![call("t1", "shell", r#"{"deaf":1}"#)];
    let bench = Bench::new([answers(blocks, Stop::Calls)]);
    let agent = tokio::spawn(bench.run(&[]));
    bench.tools.started.notified().await;
    let begun = Instant::now();
    bench.cancel.cancel();
    assert_eq!(agent.await.unwrap(), Ok(AgentOutcome::Interrupted));
    assert_eq!(begun.elapsed(), STOP_GRACE);
}

#[tokio::test]
async fn a_request_under_way_is_dropped_and_booked() {
    let bench = Bench::new([Does::Hang]);
    let agent = tokio::spawn(bench.run(&[]));
    bench.model.asked.notified().await;
    bench.cancel.cancel();
    assert_eq!(agent.await.unwrap(), Ok(AgentOutcome::Interrupted));
    let Some(AgentRecord::ModelFailed(last)) = bench.journal.records().pop() else {
        panic!("the request has an outcome");
    };
    assert_eq!(last.kind, "interrupted");
    assert_eq!(last.billed, Billed::Reservation);
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_cut_at_once() {
    let cause = "no route".to_owned();
    let bench = Bench::new([fails(Fault::Unreachable { cause })]);
    let begun = Instant::now();
    let agent = tokio::spawn(bench.run(&[]));
    bench.model.asked.notified().await;
    bench.cancel.cancel();
    assert_eq!(agent.await.unwrap(), Ok(AgentOutcome::Interrupted));
    assert_eq!(begun.elapsed().as_secs(), 0);
}

#[tokio::test]
async fn an_agent_stopped_before_it_began_does_nothing() {
    let bench = Bench::new([calls(&[("a", "edit")])]);
    bench.cancel.cancel();
    assert_eq!(bench.run(&[]).await, Ok(AgentOutcome::Interrupted));
    assert!(bench.journal.records().is_empty());
    assert_eq!(bench.requests(), 0);
}
