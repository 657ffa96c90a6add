//! Work that comes back: in conflict with what landed, or with nothing in it.

use super::*;
use crate::record::{LandingConflicted, ReturnedWork, WorkUnchanged};
use crate::spec::RunSpec;
use crate::state::FindingSource;
use crate::testing::Bench;

fn conflict(bench: &Bench, agent: AgentId) -> Record {
    let AgentId { task, attempt } = agent;
    LandingConflicted {
        onto: bench.state.integration_head().unwrap().clone(),
        paths: vec!["f".into()],
        returned: Some(ReturnedWork {
            commit: CommitId(format!("{task}-{attempt}")),
            marked: CommitId(format!("marked-{attempt}")),
            report: Content::from("both changed f"),
        }),
        task,
        attempt,
    }
    .into()
}

/// Plays to the end, with another outcome than the usual one where `outcome` has one.
fn play(bench: &mut Bench, outcome: impl Fn(&Bench, EffectKind, AgentId) -> Option<Record>) {
    loop {
        let next = bench.state.owed().next();
        let Some(effect) = next else { break };
        match outcome(bench, effect.kind, bench.agent(effect)) {
            Some(record) => {
                assert_eq!(bench.input(Input::Outcome(record)), Reply::Accepted);
            }
            None => bench.perform(effect, &mut |agent| {
                if agent.task.as_str().contains("review") {
                    let verdict = Verdict::Approve;
                    AttemptEnd::Verdict { verdict }
                } else {
                    finished()
                }
            }),
        }
    }
}

fn passed(agent: AgentId, kind: EffectKind) -> Option<Record> {
    let EffectKind::RunCheck { stage, index } = kind else {
        return None;
    };
    let record = CheckFinished {
        task: agent.task,
        attempt: agent.attempt,
        stage,
        index,
        command: "c".into(),
        commit: CommitId("x".into()),
        exit: Some(0),
        output: Content::from(""),
        millis: 1,
        unconfined: None,
    };
    Some(record.into())
}

#[test]
fn a_conflict_goes_back_to_a_builder_on_what_landed_and_is_checked_and_reviewed_anew() {
    let mut second = task("second", "builder", &[]);
    second.check = vec!["c".into()];
    second.review = Some(RoleName("reviewer".into()));
    let mut bench = Bench::new(vec![task("first", "builder", &[]), second], |_| {});
    play(&mut bench, |bench, kind, agent| {
        let again = agent.task.as_str() == "second" && agent.attempt == AttemptNo(1);
        match kind {
            EffectKind::PrepareLanding if again => Some(conflict(bench, agent)),
            kind => passed(agent, kind),
        }
    });
    assert_eq!(bench.word("second"), "landed");
    let (_, second) = bench.state.find(&"second".parse().unwrap()).unwrap();
    let attempt = second.attempt.as_ref().unwrap();
    assert_eq!(attempt.no, AttemptNo(2));
    assert_eq!(attempt.base, Some(CommitId("first-1".into())));
    assert_eq!(attempt.start, Some(CommitId("marked-1".into())));
    assert!(
        matches!(&second.findings[0].source, FindingSource::Conflict { commit, .. } if commit.as_str() == "second-1")
    );
    for id in ["second-review-1", "second-review-2"] {
        assert_eq!(bench.word(id), "settled", "{id}");
    }
}

#[test]
fn a_conflict_without_an_attempt_left_ends_the_task_as_one() {
    let mut bench = Bench::new(vec![task("t", "builder", &[])], |_| {});
    play(&mut bench, |bench, kind, agent| {
        (kind == EffectKind::PrepareLanding).then(|| conflict(bench, agent))
    });
    assert_eq!(bench.word("t"), "conflict");
    let (_, task) = bench.state.find(&"t".parse().unwrap()).unwrap();
    assert_eq!(task.attempt_no(), AttemptNo(2));
    assert_eq!(bench.ended().unwrap().exit, 1);
}

#[test]
fn in_an_older_ledger_a_conflict_ends_its_task() {
    let mut bench = Bench::new(vec![task("t", "builder", &[])], |_| {});
    play(&mut bench, |bench, kind, agent| {
        let Record::LandingConflicted(mut record) = conflict(bench, agent) else {
            unreachable!()
        };
        record.returned = None;
        (kind == EffectKind::PrepareLanding).then(|| record.into())
    });
    assert_eq!(bench.word("t"), "conflict");
    let (_, task) = bench.state.find(&"t".parse().unwrap()).unwrap();
    assert_eq!(task.attempt_no(), AttemptNo(1));
}

#[test]
fn work_with_marks_of_a_conflict_left_never_lands() {
    let mut bench = Bench::new(vec![task("t", "builder", &[])], |_| {});
    play(&mut bench, |_, kind, agent| {
        let record = WorkCommitted {
            task: agent.task,
            attempt: agent.attempt,
            commit: CommitId("c".into()),
            tree: TreeId("tree".into()),
            files: 1,
            insertions: 1,
            deletions: 0,
            unresolved: vec!["f".into()],
        };
        (kind == EffectKind::Commit).then(|| record.into())
    });
    assert_eq!(bench.word("t"), "failed");
    let (_, task) = bench.state.find(&"t".parse().unwrap()).unwrap();
    assert_eq!(
        task.reason.as_deref(),
        Some("marks of the conflict are left in f")
    );
    assert_eq!(task.attempt_no(), AttemptNo(2));
}

#[test]
fn nothing_changed_counts_only_when_more_than_the_agent_says_that_nothing_was_needed() {
    #[track_caller]
    fn check(checks: &[&str], review: Option<&str>, attempts: u32, expected: (&str, u32)) {
        let mut spec = task("t", "builder", &[]);
        spec.check = checks.iter().map(ToString::to_string).collect();
        spec.review = review.map(|role| RoleName(role.into()));
        let limit = |plan: &mut RunSpec| plan.limits.attempts = attempts;
        let mut bench = Bench::new(vec![spec], limit);
        play(&mut bench, |_, kind, agent| match kind {
            EffectKind::Commit => Some(unchanged(agent)),
            kind => passed(agent, kind),
        });
        let (_, task) = bench.state.find(&"t".parse().unwrap()).unwrap();
        assert_eq!((bench.word("t"), task.attempt_no().0), expected);
        assert_eq!(
            bench.state.integration_head(),
            Some(&CommitId("base".into()))
        );
    }
    check(&[], None, 1, ("failed", 1));
    check(&[], None, 2, ("failed", 2));
    check(&[], None, 5, ("failed", 2));
    check(&["c"], None, 1, ("verified", 1));
    check(&["c"], None, 5, ("verified", 2));
    check(&[], Some("reviewer"), 2, ("verified", 1));
    check(&["c"], Some("reviewer"), 2, ("verified", 1));
}

#[test]
fn after_a_retry_an_agent_that_changed_nothing_is_asked_again_as_at_first() {
    let mut bench = Bench::new(vec![task("t", "builder", &[])], |plan| {
        plan.limits.attempts = 5;
    });
    for expected in [2, 4] {
        play(&mut bench, |_, kind, agent| match kind {
            EffectKind::Commit => Some(unchanged(agent)),
            kind => passed(agent, kind),
        });
        let (_, task) = bench.state.find(&"t".parse().unwrap()).unwrap();
        assert_eq!(task.attempt_no(), AttemptNo(expected));
        assert_eq!(bench.word("t"), "failed");
        bench.input(Input::Wish(Wish::RetryFailed));
        bench.input(Input::Resume {
            version: "v".into(),
            pid: 1,
        });
    }
}

fn unchanged(agent: AgentId) -> Record {
    let AgentId { task, attempt } = agent;
    let tree = TreeId("tree".into());
    WorkUnchanged {
        task,
        attempt,
        tree,
    }
    .into()
}
