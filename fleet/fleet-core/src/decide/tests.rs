//! Decisions, played through whole runs without a disk, a process or a clock.

use super::*;
use crate::ids::{CommitId, TreeId};
use crate::owed::EffectKind;
use crate::record::CheckStage::{Merged, Own};
use crate::record::{CheckFinished, Record, WorkCommitted};
use crate::state::Phase;
use crate::testing::{Bench, finished, task};
use engine_core::content::Content;
use engine_core::ids::{AgentId, AttemptNo, RoleName, StepNo};
use engine_core::record::{Json, Verdict};
use engine_core::request::Purpose;

#[test]
fn a_failing_check_is_repaired_by_a_second_attempt_and_the_work_lands_after_review() {
    let mut build = task("build", "builder", &["survey"]);
    build.check = vec!["true".into()];
    build.review = Some(RoleName("reviewer".into()));
    let mut bench = Bench::new(vec![task("survey", "scout", &[]), build], |_| {});
    let ended = bench.play(|agent| {
        if agent.task.as_str().contains("review") {
            AttemptEnd::Verdict {
                verdict: Verdict::Approve,
            }
        } else {
            finished()
        }
    });
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Done, 0));
    assert_eq!(
        (bench.word("survey"), bench.word("build")),
        ("settled", "landed")
    );
    let (_, build) = bench.state.find(&"build".parse().unwrap()).unwrap();
    assert_eq!(build.attempt_no(), AttemptNo(2));
    assert_eq!(
        build.attempt.as_ref().unwrap().start,
        Some(CommitId("build-1".into()))
    );
    assert_eq!(
        build.attempt.as_ref().unwrap().base,
        Some(CommitId("base".into()))
    );
    assert_eq!(
        bench.state.integration_head(),
        Some(&CommitId("build-2".into()))
    );
}

#[test]
fn what_depends_on_a_failure_is_skipped_and_the_rest_goes_on() {
    let tasks = vec![
        task("a", "scout", &[]),
        task("b", "scout", &["a"]),
        task("c", "scout", &["b"]),
        task("d", "scout", &[]),
        task("e", "scout", &["d"]),
    ];
    let mut bench = Bench::new(tasks, |plan| plan.limits.agents = 1);
    let ended = bench.play(|agent| match agent.task.as_str() {
        "a" => AttemptEnd::Failed {
            kind: "model".into(),
            message: "400".into(),
        },
        _ => finished(),
    });
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Partial, 3));
    let words: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| bench.word(id)).into();
    assert_eq!(
        words,
        ["failed", "skipped", "skipped", "settled", "settled"]
    );
    for id in ["b", "c"] {
        let (_, task) = bench.state.find(&id.parse().unwrap()).unwrap();
        assert_eq!(task.blocked_by, Some("a".parse().unwrap()), "{id}");
    }
}

#[test]
fn never_more_agents_live_than_allowed_by_run_and_role() {
    let tasks = (0..12).map(|n| {
        task(
            &format!("t{n}"),
            if n < 6 { "scout" } else { "builder" },
            &[],
        )
    });
    let bench = Bench::new(tasks.collect(), |plan| {
        plan.limits.agents = 5;
        plan.roles
            .get_mut(&RoleName("scout".into()))
            .unwrap()
            .agents = Some(2);
    });
    let live = |name: &str| {
        bench
            .state
            .tasks()
            .filter(|(_, t)| t.is_live() && t.spec.role.0 == name)
            .count()
    };
    assert_eq!(
        (live("scout"), live("builder"), bench.state.live()),
        (2, 3, 5)
    );
}

#[test]
fn a_refused_provider_ends_the_run_resumably_without_counting_the_attempt() {
    let mut bench = Bench::new(
        vec![task("a", "scout", &[]), task("b", "scout", &["a"])],
        |_| {},
    );
    let ended = bench.play(|_| AttemptEnd::Provider {
        message: "no route".into(),
    });
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Provider, 6));
    assert!(bench.state.is_unfinished());
    bench.input(Input::Resume {
        version: "0".into(),
        pid: 2,
    });
    let ended = bench.play(|_| finished());
    assert_eq!(ended.outcome, RunOutcome::Done);
    let (_, a) = bench.state.find(&"a".parse().unwrap()).unwrap();
    assert_eq!(a.attempt_no(), AttemptNo(1));
}

#[test]
fn a_stop_that_finds_nothing_left_to_stop_ends_the_run_as_it_came_out() {
    let mut bench = Bench::new(vec![task("a", "scout", &[])], |_| {});
    bench.input(Input::EffectFailed {
        task: "a".parse().unwrap(),
        message: "no room".into(),
    });
    bench.input(Input::Stop {
        reason: "asked".into(),
        exit: 130,
    });
    let ended = bench.ended().unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Failed, 1));
    assert!(!bench.state.is_unfinished());
}

#[test]
fn a_provider_that_is_down_holds_only_its_own_roles() {
    let tasks = vec![
        task("a", "scout", &[]),
        task("b", "builder", &[]),
        task("c", "builder", &[]),
    ];
    let mut bench = Bench::new(tasks, |plan| {
        plan.limits.agents = 1;
        let builder = plan.roles.get_mut(&RoleName("builder".into())).unwrap();
        builder.model.provider = "healthy".into();
    });
    let ended = bench.play(|agent| match agent.task.as_str() {
        "a" => AttemptEnd::Provider {
            message: "no route".into(),
        },
        _ => finished(),
    });
    assert_eq!(ended.outcome, RunOutcome::Provider);
    let words = ["a", "b", "c"].map(|id| bench.word(id));
    assert_eq!(words, ["interrupted", "landed", "landed"]);
}

#[test]
fn what_is_refused_for_good_is_not_tried_again() {
    let tasks = vec![task("a", "builder", &[]), task("b", "builder", &["a"])];
    let mut bench = Bench::new(tasks, |plan| plan.limits.attempts = 3);
    let ended = bench.play(|_| AttemptEnd::Refused {
        message: "no such model".into(),
    });
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Failed, 1));
    let words = ["a", "b"].map(|id| bench.word(id));
    assert_eq!(words, ["failed", "skipped"]);
    let (_, a) = bench.state.find(&"a".parse().unwrap()).unwrap();
    assert_eq!(a.attempt.as_ref().unwrap().no, AttemptNo(1));
}

#[test]
fn an_attempt_that_changed_nothing_hands_on_what_it_began_with() {
    let mut build = task("t", "builder", &[]);
    build.check = vec!["c".into()];
    let mut bench = Bench::new(vec![build], |plan| plan.limits.attempts = 3);
    let ended = bench.play(|agent| match agent.attempt {
        AttemptNo(2) => AttemptEnd::Failed {
            kind: "model".into(),
            message: "cut".into(),
        },
        _ => finished(),
    });
    assert_eq!(ended.outcome, RunOutcome::Done);
    let (_, t) = bench.state.find(&"t".parse().unwrap()).unwrap();
    let third = t.attempt.as_ref().unwrap();
    assert_eq!(
        (third.no, &third.start),
        (AttemptNo(3), &Some(CommitId("t-1".into())))
    );
}

#[test]
fn parallel_requests_are_admitted_only_up_to_the_cap() {
    let tasks: Vec<_> = (0..12)
        .map(|n| task(&format!("t{n}"), "scout", &[]))
        .collect();
    let mut bench = Bench::new(tasks, |plan| {
        plan.limits.agents = 12;
        plan.budget.tokens = Some(Tokens(1_100));
    });
    let effects: Vec<_> = bench.state.owed().collect();
    for effect in effects {
        bench.perform(effect, &mut |_| finished());
    }
    let agents: Vec<_> = bench
        .state
        .owed()
        .map(|effect| bench.agent(effect))
        .collect();
    assert_eq!(agents.len(), 12);
    let ask = |agent: &AgentId| Ask {
        agent: agent.clone(),
        step: StepNo(1),
        purpose: Purpose::Work,
        hash: String::new(),
        bytes: 200,
        told: Vec::new(),
        max_output: Tokens(100),
    };
    let mut granted = Vec::new();
    for agent in &agents {
        if let Reply::Granted { max_output } = bench.input(Input::Admit(ask(agent))) {
            assert_eq!(max_output, Tokens(100));
            granted.push(agent.clone());
        }
    }
    assert_eq!(granted.len(), 3);
    for agent in &granted {
        let responded = AgentRecord::ModelResponded(engine_core::record::ModelResponded {
            task: agent.task.clone(),
            attempt: agent.attempt,
            step: StepNo(1),
            answer: Json::of("").unwrap(),
            usage: Some(engine_core::message::Usage {
                input: Tokens(200),
                output: Tokens(100),
                cached: Tokens(0),
            }),
        });
        assert_eq!(bench.input(Input::Report(vec![responded])), Reply::Accepted);
        bench.input(Input::AttemptEnded {
            agent: agent.clone(),
            end: finished(),
        });
    }
    for agent in agents.iter().filter(|agent| !granted.contains(agent)) {
        let Reply::Refused { message } = bench.input(Input::Admit(ask(agent))) else {
            panic!("{agent} was let through");
        };
        bench.input(Input::AttemptEnded {
            agent: agent.clone(),
            end: AttemptEnd::Budget { message },
        });
    }
    assert_eq!(bench.state.account().spent.total(), Tokens(900));
    let ended = bench.ended().unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Budget, 4));
}

#[test]
fn a_resume_books_the_lost_request_and_continues_the_same_attempt() {
    let mut bench = Bench::new(vec![task("a", "scout", &[])], |_| {});
    let effect = bench.state.owed().next().unwrap();
    bench.perform(effect, &mut |_| finished());
    let agent = AgentId {
        task: "a".parse().unwrap(),
        attempt: AttemptNo(1),
    };
    bench.input(Input::Admit(Ask {
        agent,
        step: StepNo(1),
        purpose: Purpose::Work,
        hash: String::new(),
        bytes: 50,
        told: Vec::new(),
        max_output: Tokens(10),
    }));
    assert_eq!(bench.state.account().reserved, Tokens(60));
    bench.input(Input::Resume {
        version: "0".into(),
        pid: 2,
    });
    assert_eq!(bench.state.account().reserved, Tokens(0));
    assert_eq!(bench.state.account().spent.unreported, Tokens(60));
    let (_, a) = bench.state.find(&"a".parse().unwrap()).unwrap();
    assert_eq!(
        (a.attempt_no(), &a.phase),
        (AttemptNo(1), &Phase::Preparing)
    );
}

#[test]
fn a_second_landing_is_merged_and_checked_again() {
    let mut tasks = vec![task("x", "builder", &[]), task("y", "builder", &[])];
    tasks[1].check = vec!["one".into(), "two".into()];
    let mut bench = Bench::new(tasks, |plan| plan.limits.attempts = 3);
    let ended = bench.play(|_| finished());
    assert_eq!(ended.outcome, RunOutcome::Done);
    let stages: Vec<_> = bench
        .records
        .iter()
        .filter_map(|record| match record {
            Record::CheckFinished(r) => Some((r.stage, r.index, r.exit)),
            _ => None,
        })
        .collect();
    assert_eq!(
        stages,
        [
            (Own, 0, Some(1)),
            (Own, 0, Some(0)),
            (Own, 1, Some(0)),
            (Merged, 0, Some(0)),
            (Merged, 1, Some(0))
        ]
    );
}

#[test]
fn a_late_outcome_is_refused_and_changes_nothing() {
    let mut bench = Bench::new(vec![task("a", "scout", &[])], |_| {});
    bench.play(|_| finished());
    let before = bench.records.len();
    let agent = AgentId {
        task: "a".parse().unwrap(),
        attempt: AttemptNo(1),
    };
    let reply = bench.input(Input::AttemptEnded {
        agent,
        end: finished(),
    });
    assert!(matches!(reply, Reply::Late(_)), "{reply:?}");
    assert_eq!(bench.records.len(), before);
}

#[test]
fn in_an_older_ledger_a_commit_that_is_the_base_ends_its_task() {
    #[track_caller]
    fn check(checks: &[&str], review: Option<&str>, expected: &str) {
        let mut spec = task("t", "builder", &[]);
        spec.check = checks.iter().map(ToString::to_string).collect();
        spec.review = review.map(|role| RoleName(role.into()));
        let mut bench = Bench::new(vec![spec], |_| {});
        loop {
            let next = bench.state.owed().next();
            let Some(effect) = next else { break };
            let AgentId { task, attempt } = bench.agent(effect);
            let commit = CommitId("base".into());
            let outcome: Record = match effect.kind {
                EffectKind::Commit => WorkCommitted {
                    task,
                    attempt,
                    tree: TreeId("tree".into()),
                    commit,
                    files: 0,
                    insertions: 0,
                    deletions: 0,
                    unresolved: Vec::new(),
                }
                .into(),
                EffectKind::RunCheck { stage, index } => CheckFinished {
                    task,
                    attempt,
                    stage,
                    index,
                    command: "c".into(),
                    commit,
                    exit: Some(0),
                    output: Content::from(""),
                    millis: 1,
                    unconfined: None,
                }
                .into(),
                _ => {
                    bench.perform(effect, &mut |_| finished());
                    continue;
                }
            };
            assert_eq!(bench.input(Input::Outcome(outcome)), Reply::Accepted);
        }
        assert_eq!(bench.word("t"), expected);
    }
    check(&[], None, "settled");
    check(&["c"], None, "verified");
    check(&[], Some("reviewer"), "settled");
    check(&["c"], Some("reviewer"), "settled");
}

mod compacting;
mod returned;
mod wishes;
