//! Which record fits which phase: every pair, by one table. And what a refused record leaves behind.

use super::*;
use crate::decide::Input;
use crate::ids::{BranchName, CommitId, TreeId};
use crate::owed::EffectKind;
use crate::record::{
    AttemptEnd, AttemptFinished, AttemptResumed, AttemptStarted, CheckFinished, CheckStage,
    LandingConflicted, LandingPrepared, RunEnded, RunLanded, RunOutcome, RunRejected, RunResumed,
    TaskRetried, TaskTold, WorkCommitted, WorkLanded, WorkUnchanged, WorkspaceReady,
};
use crate::testing::{Bench, finished, task};
use engine_core::content::Content;
use engine_core::ids::{AttemptNo, CallId, RoleName, StepNo, Tokens};
use engine_core::message::ToolStatus;
use engine_core::record::{
    Billed, ContextCompacted, Json, ModelFailed, ModelRequested, ModelResponded, Older,
    ToolFinished, ToolStarted, VerdictGiven, WorkspaceSnapshotted,
};
use engine_core::tool::EffectClass;

const ONE: AttemptNo = AttemptNo(1);

/// One record of every kind that speaks of a task's attempt, for attempt `attempt` of `t`.
fn samples(attempt: AttemptNo) -> Vec<Record> {
    let mut all = agent_samples(attempt);
    all.extend(work_samples(attempt));
    all
}

fn agent_samples(attempt: AttemptNo) -> Vec<Record> {
    let task: TaskId = "t".parse().unwrap();
    let (call, step) = (CallId("c".into()), StepNo(1));
    vec![
        ModelRequested {
            task: task.clone(),
            attempt,
            step,
            purpose: engine_core::request::Purpose::Work,
            hash: String::new(),
            bytes: 10,
            told: Vec::new(),
            max_output: Tokens(5),
            reserved: Tokens(15),
        }
        .into(),
        ModelResponded {
            task: task.clone(),
            attempt,
            step,
            answer: Json::of("").unwrap(),
            usage: None,
        }
        .into(),
        ModelFailed {
            task: task.clone(),
            attempt,
            step,
            kind: "k".into(),
            message: "m".into(),
            billed: Billed::Nothing,
        }
        .into(),
        compaction(attempt),
        ToolStarted {
            task: task.clone(),
            attempt,
            call: call.clone(),
            tool: "read".into(),
            effect: EffectClass::Reads,
            summary: "f".into(),
        }
        .into(),
        ToolFinished {
            task: task.clone(),
            attempt,
            call,
            tool: "read".into(),
            status: ToolStatus::Ok,
            text: Content::from("x"),
        }
        .into(),
        WorkspaceSnapshotted {
            task: task.clone(),
            attempt,
            commit: "s".into(),
            tree: "st".into(),
        }
        .into(),
        Record::ReviewGiven(VerdictGiven {
            task,
            attempt,
            verdict: Verdict::Approve,
            findings: Content::from("f"),
        }),
    ]
}

fn compaction(attempt: AttemptNo) -> Record {
    ContextCompacted {
        task: "t".parse().unwrap(),
        attempt,
        kept: 2,
        kept_max: None,
        older: Older::Cut { max: 512 },
        before: 10,
        after: 5,
    }
    .into()
}

fn work_samples(attempt: AttemptNo) -> Vec<Record> {
    let task: TaskId = "t".parse().unwrap();
    let commit = CommitId("t-1".into());
    let mut all = vec![
        AttemptStarted {
            task: task.clone(),
            attempt,
            base: None,
            start: None,
        }
        .into(),
        AttemptResumed {
            task: task.clone(),
            attempt,
        }
        .into(),
        AttemptFinished {
            task: task.clone(),
            attempt,
            end: finished(),
        }
        .into(),
        WorkspaceReady {
            task: task.clone(),
            attempt,
            path: "/w".into(),
            branch: None,
        }
        .into(),
        WorkCommitted {
            task: task.clone(),
            attempt,
            commit: commit.clone(),
            tree: TreeId("tree".into()),
            files: 1,
            insertions: 1,
            deletions: 0,
            unresolved: Vec::new(),
        }
        .into(),
        WorkUnchanged {
            task: task.clone(),
            attempt,
            tree: TreeId("tree".into()),
        }
        .into(),
        CheckFinished {
            task,
            attempt,
            stage: CheckStage::Own,
            index: 0,
            command: "c".into(),
            commit,
            exit: Some(0),
            output: Content::from(""),
            millis: 1,
            unconfined: None,
        }
        .into(),
    ];
    all.extend(landing_samples(attempt));
    all
}

fn landing_samples(attempt: AttemptNo) -> Vec<Record> {
    let task: TaskId = "t".parse().unwrap();
    let commit = CommitId("t-1".into());
    vec![
        LandingPrepared {
            task: task.clone(),
            attempt,
            onto: CommitId("base".into()),
            commit: commit.clone(),
            merged: false,
        }
        .into(),
        LandingConflicted {
            task: task.clone(),
            attempt,
            onto: commit.clone(),
            paths: Vec::new(),
            returned: None,
        }
        .into(),
        WorkLanded {
            task: task.clone(),
            attempt,
            commit,
        }
        .into(),
        TaskEnded {
            task: task.clone(),
            state: EndState::Settled,
            reason: None,
            blocked_by: None,
        }
        .into(),
        TaskEnded {
            task: task.clone(),
            state: EndState::Failed,
            reason: None,
            blocked_by: None,
        }
        .into(),
        TaskEnded {
            task: task.clone(),
            state: EndState::Cancelled,
            reason: None,
            blocked_by: None,
        }
        .into(),
        TaskRetried {
            task: task.clone(),
            instructions: None,
        }
        .into(),
        TaskTold {
            task,
            text: "x".into(),
        }
        .into(),
    ]
}

/// A name for a sample in the table; the two ends of a task are told apart.
fn name(record: &Record) -> String {
    match record {
        Record::TaskEnded(r) => format!("{} {}", record.kind(), r.state.word()),
        _ => record.kind().to_owned(),
    }
}

/// A bench whose task `t` is a checked and reviewed builder, stopped where `until` says.
fn bench(until: fn(&Phase) -> bool) -> Bench {
    let mut spec = task("t", "builder", &[]);
    spec.check = vec!["c".into()];
    spec.review = Some(RoleName("reviewer".into()));
    let mut bench = Bench::new(vec![spec], |_| {});
    let at = |bench: &Bench| bench.state.find(&"t".parse().unwrap()).unwrap().0;
    while !until(&bench.state.task(at(&bench)).phase) {
        let next = bench
            .state
            .owed()
            .next()
            .expect("it is reached before the run ends");
        if next.kind == EffectKind::Commit {
            // The second attempt's checks pass in the bench's world; here the first one's do.
            let mut outcomes = work_samples(ONE);
            bench.input(Input::Outcome(outcomes.swap_remove(4)));
            bench.input(Input::Outcome(outcomes.swap_remove(6)));
            continue;
        }
        bench.perform(next, &mut |agent| {
            if agent.task.as_str() == "t" {
                finished()
            } else {
                AttemptEnd::Verdict {
                    verdict: Verdict::Approve,
                }
            }
        });
    }
    bench
}

fn legal(state: &FleetState, attempt: AttemptNo) -> Vec<String> {
    samples(attempt)
        .iter()
        .filter(|record| state.check(record).is_ok())
        .map(name)
        .collect()
}

#[track_caller]
fn check(state: &FleetState, expected: &[&str]) {
    assert_eq!(legal(state, ONE), expected);
}

#[test]
fn a_waiting_task_can_only_fail_and_be_told() {
    let bench = Bench::new(
        vec![task("a", "scout", &[]), task("t", "scout", &["a"])],
        |_| {},
    );
    check(
        &bench.state,
        &["task.ended failed", "task.ended cancelled", "task.told"],
    );
}

#[test]
fn a_ready_task_can_start_its_first_attempt() {
    let bench = Bench::new(vec![task("t", "scout", &[])], |plan| plan.limits.agents = 0);
    check(
        &bench.state,
        &[
            "attempt.started",
            "task.ended failed",
            "task.ended cancelled",
            "task.told",
        ],
    );
}

#[test]
fn an_attempt_gets_its_workspace_before_anything_else() {
    check(
        &bench(|phase| *phase == Phase::Preparing).state,
        &[
            "attempt.finished",
            "workspace.ready",
            "task.ended failed",
            "task.ended cancelled",
            "task.told",
        ],
    );
}

#[test]
fn a_working_agent_has_at_most_one_request_under_way() {
    let mut bench = bench(|phase| *phase == Phase::Working);
    let always = [
        "context.compacted",
        "tool.started",
        "tool.finished",
        "workspace.snapshotted",
        "review.given",
    ];
    let ends = [
        "attempt.finished",
        "task.ended failed",
        "task.ended cancelled",
        "task.told",
    ];
    let with = |answers: &[&'static str]| [answers, &always, &ends].concat();
    check(&bench.state, &with(&["model.requested"]));
    bench.line(vec![agent_samples(ONE).swap_remove(0)]);
    check(&bench.state, &with(&["model.responded", "model.failed"]));
}

#[test]
fn an_interrupted_attempt_can_only_be_resumed_and_its_lost_request_stated() {
    let mut bench = bench(|phase| *phase == Phase::Working);
    bench.line(vec![agent_samples(ONE).swap_remove(0)]);
    bench.line(vec![
        RunResumed {
            version: "0".into(),
            pid: 1,
        }
        .into(),
    ]);
    check(
        &bench.state,
        &[
            "model.failed",
            "attempt.resumed",
            "task.ended failed",
            "task.ended cancelled",
            "task.told",
        ],
    );
}

#[test]
fn from_the_end_of_the_agent_to_the_landing_each_step_fits_only_in_its_place() {
    let at = |until: fn(&Phase) -> bool, step: &'static [&'static str]| {
        check(
            &bench(until).state,
            &[step, &["task.ended failed", "task.ended cancelled"]].concat(),
        );
    };
    at(
        |phase| *phase == Phase::Committing,
        &["work.committed", "work.unchanged"],
    );
    at(|phase| matches!(phase, Phase::InReview { .. }), &[]);
    at(
        |phase| *phase == Phase::Landing,
        &["landing.prepared", "landing.conflicted"],
    );
    at(|phase| *phase == Phase::Moving, &["work.landed"]);
}

#[test]
fn only_the_check_that_runs_can_finish() {
    let mut bench = bench(|phase| *phase == Phase::Committing);
    bench.line(vec![work_samples(ONE).swap_remove(4)]);
    check(
        &bench.state,
        &[
            "check.finished",
            "task.ended failed",
            "task.ended cancelled",
        ],
    );
    let Record::CheckFinished(finished) = work_samples(ONE).swap_remove(6) else {
        unreachable!()
    };
    for (stage, index) in [(CheckStage::Own, 1), (CheckStage::Merged, 0)] {
        let other = Record::from(CheckFinished {
            stage,
            index,
            ..finished.clone()
        });
        assert_eq!(bench.state.check(&other), Err(Misfit::Phase("checking")));
    }
}

#[test]
fn what_has_ended_stays_as_it_is() {
    let bench = bench(|phase| matches!(phase, Phase::Ended(_)));
    check(&bench.state, &[]);
}

#[test]
fn a_stopped_run_can_be_resumed_and_what_is_left_of_it_cancelled() {
    let mut bench = bench(|phase| *phase == Phase::Working);
    bench.line(vec![
        RunEnded {
            outcome: RunOutcome::Stopped,
            exit: 130,
            reason: None,
        }
        .into(),
    ]);
    check(&bench.state, &["task.ended cancelled", "task.told"]);
    assert!(bench.state.owed().next().is_none());
    let resumed = Record::from(RunResumed {
        version: "0".into(),
        pid: 1,
    });
    assert_eq!(bench.state.check(&resumed), Ok(()));
}

#[test]
fn another_attempt_than_the_newest_is_refused_in_every_phase() {
    let two = AttemptNo(2);
    for until in [
        (|phase| *phase == Phase::Preparing) as fn(&Phase) -> bool,
        |phase| *phase == Phase::Working,
        |phase| *phase == Phase::Committing,
        |phase| *phase == Phase::Landing,
        |phase| *phase == Phase::Moving,
    ] {
        let mut other = legal(&bench(until).state, two);
        // What concerns the task, not an attempt at it.
        other.retain(|name| !name.starts_with("task."));
        assert_eq!(other, [""; 0]);
    }
}

#[test]
fn a_refused_record_names_itself_and_changes_nothing() {
    let mut bench = bench(|phase| *phase == Phase::Landing);
    let before = format!("{:?}", bench.state);
    let stamp = Stamp {
        seq: 99,
        ..bench.state.last()
    };
    let late = work_samples(ONE).swap_remove(9);
    let refused = bench.state.apply(stamp, &late).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "line 99: `work.landed` of task `t` does not fit: the task is landing"
    );
    assert_eq!(format!("{:?}", bench.state), before);
}

#[test]
fn nothing_follows_the_end_of_a_run_that_is_over_but_a_retry() {
    let fails = |_: &_| AttemptEnd::Failed {
        kind: "k".into(),
        message: "m".into(),
    };
    let mut bench = Bench::new(vec![task("t", "scout", &[])], |_| {});
    bench.play(fails);
    check(&bench.state, &["task.retried"]);
    let mut bench = Bench::new(vec![task("t", "scout", &[])], |_| {});
    bench.play(|_| finished());
    check(&bench.state, &[]);
}

fn person_says(head: &str) -> [Record; 2] {
    [
        RunLanded {
            branch: BranchName("main".into()),
            before: None,
            commit: CommitId(head.into()),
            head: CommitId(head.into()),
        }
        .into(),
        RunRejected { reason: None }.into(),
    ]
}

#[test]
fn a_person_takes_or_rejects_the_work_of_a_run_that_is_over() {
    let [landed, rejected] = person_says("t-1");
    let at_work = bench(|phase| *phase == Phase::Working);
    for record in [&landed, &rejected] {
        let refused = at_work.state.check(record);
        assert_eq!(refused, Err(Misfit::Run("not finished")));
    }
    let mut bench = bench(|phase| matches!(phase, Phase::Ended(_)));
    assert!(!bench.state.is_unfinished());
    let [other, _] = person_says("other");
    let unknown = Misfit::Unknown("other".into());
    assert_eq!(bench.state.check(&other), Err(unknown));

    bench.line(vec![rejected.clone()]);
    let again = bench.state.check(&rejected);
    assert_eq!(again, Err(Misfit::Run("rejected before")));
    let view = |bench: &Bench| bench.state.view(crate::view::Manager::Gone).unwrap();
    assert!(!view(&bench).is_on_offer());
    bench.line(vec![landed.clone()]);
    assert_eq!(view(&bench).rejected, None);
    assert_eq!(
        bench.state.check(&landed),
        Err(Misfit::Run("landed before"))
    );
    assert_eq!(bench.state.check(&rejected), Err(Misfit::Run("landed")));
    assert!(!view(&bench).is_on_offer());
}
