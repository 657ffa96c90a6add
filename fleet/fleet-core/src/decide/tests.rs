//! Decisions, played through whole runs without a disk, a process or a clock.

use super::*;
use crate::ids::{BranchName, CommitId, RunId, TreeId};
use crate::owed::{Effect, EffectKind};
use crate::record::{CheckFinished, LandingPrepared, WorkCommitted, WorkLanded, WorkspaceReady};
use crate::spec::{RoleSpec, RunSpec};
use crate::state::Phase;
use crate::time::{Stamp, Timestamp};
use engine_core::content::Content;
use engine_core::ids::{AttemptNo, ModelName, RoleName, StepNo};
use engine_core::record::{Json, Verdict, VerdictGiven};
use engine_core::tool::Access;

/// A run in memory: applies what is decided, and keeps it.
struct Bench {
    state: FleetState,
    records: Vec<Record>,
}

fn role(access: Access, gives_verdict: bool) -> RoleSpec {
    RoleSpec {
        model: ModelName {
            provider: "scripted".into(),
            model: "m".into(),
        },
        access,
        network: false,
        tools: None,
        instructions: None,
        agents: None,
        effort: None,
        gives_verdict,
    }
}

fn task(id: &str, role: &str, needs: &[&str]) -> TaskSpec {
    TaskSpec {
        id: id.parse().unwrap(),
        role: RoleName(role.into()),
        prompt: format!("do {id}"),
        needs: needs.iter().map(|n| n.parse().unwrap()).collect(),
        check: Vec::new(),
        review: None,
        budget: Budget::default(),
        timeout_secs: None,
    }
}

use crate::spec::Budget;

impl Bench {
    fn new(tasks: Vec<TaskSpec>, change: impl FnOnce(&mut RunSpec)) -> Self {
        let mut plan = RunSpec {
            name: "t".into(),
            goal: None,
            base: None,
            limits: crate::spec::Limits::default(),
            budget: Budget::default(),
            workspace: crate::spec::WorkspaceSpec::default(),
            providers: std::collections::BTreeMap::new(),
            roles: [
                (RoleName("scout".into()), role(Access::Read, false)),
                (RoleName("builder".into()), role(Access::Write, false)),
                (RoleName("reviewer".into()), role(Access::Read, true)),
            ]
            .into(),
            tasks: Vec::new(),
        };
        change(&mut plan);
        let opened = RunOpened {
            run: RunId("t-261130-aaaa".into()),
            version: "0".into(),
            repository: "/r".into(),
            base: Some(CommitId("base".into())),
            integration: Some(BranchName("codewhale/t/integration".into())),
            seed: 7,
            plan,
            tasks: Json::of(&tasks).unwrap(),
            task_count: u32::try_from(tasks.len()).unwrap(),
            roster: None,
        };
        let mut bench = Self {
            state: FleetState::new(),
            records: Vec::new(),
        };
        bench.input(Input::Open(Box::new(opened)));
        bench.input(Input::Queue(tasks));
        bench
    }

    fn line(&mut self, records: Vec<Record>) {
        let seq = self.state.last().seq + 1;
        let stamp = Stamp {
            seq,
            epoch: 1,
            at: Timestamp(i64::try_from(seq).unwrap() * 10),
        };
        for record in records {
            self.state.apply(stamp, &record).unwrap();
            self.records.push(record);
        }
    }

    fn input(&mut self, input: Input) -> Reply {
        let decision = decide(&self.state, input);
        if !decision.records.is_empty() {
            self.line(decision.records);
        }
        while let Some(records) = self.state.advance() {
            self.line(records);
        }
        decision.reply
    }

    fn word(&self, id: &str) -> &'static str {
        let (_, task) = self.state.find(&id.parse().unwrap()).unwrap();
        crate::view::state_word(task, crate::view::Manager::Alive)
    }

    fn ended(&self) -> Option<RunEnded> {
        self.records.iter().rev().find_map(|record| match record {
            Record::RunEnded(ended) => Some(ended.clone()),
            _ => None,
        })
    }

    fn agent(&self, effect: Effect) -> AgentId {
        AgentId {
            task: self.state.task(effect.task).spec.id.clone(),
            attempt: effect.attempt,
        }
    }

    /// Performs one owed effect as a perfect world would; `end` says how agents end.
    fn perform(&mut self, effect: Effect, end: &mut dyn FnMut(&AgentId) -> AttemptEnd) {
        let agent = self.agent(effect);
        if effect.kind == EffectKind::RunAgent {
            let end = end(&agent);
            self.end_agent(agent, end);
            return;
        }
        let outcome = self.outcome(effect, agent);
        assert_eq!(self.input(Input::Outcome(outcome)), Reply::Accepted);
    }

    fn end_agent(&mut self, agent: AgentId, end: AttemptEnd) {
        if let AttemptEnd::Verdict { verdict } = end {
            self.input(Input::Report(vec![AgentRecord::VerdictGiven(
                VerdictGiven {
                    task: agent.task.clone(),
                    attempt: agent.attempt,
                    verdict,
                    findings: Content::from("because"),
                },
            )]));
        }
        self.input(Input::AttemptEnded { agent, end });
    }

    fn outcome(&self, effect: Effect, agent: AgentId) -> Record {
        let AgentId { task, attempt } = agent;
        let commit = CommitId(format!("{task}-{attempt}"));
        match effect.kind {
            EffectKind::PrepareWorkspace | EffectKind::RunAgent => WorkspaceReady {
                task,
                attempt,
                path: "/w".into(),
                branch: None,
            }
            .into(),
            EffectKind::Commit => WorkCommitted {
                task,
                attempt,
                tree: TreeId(format!("tree-{commit}")),
                commit,
                files: 1,
                insertions: 1,
                deletions: 0,
            }
            .into(),
            EffectKind::RunCheck { stage, index } => CheckFinished {
                task,
                attempt,
                stage,
                index,
                command: "check".into(),
                commit,
                exit: Some(i32::from(attempt == AttemptNo(1))),
                output: Content::from("out"),
                millis: 1,
            }
            .into(),
            EffectKind::PrepareLanding => {
                let onto = self.state.integration_head().unwrap().clone();
                let merged = onto != CommitId("base".into());
                let commit = if merged {
                    CommitId(format!("m-{commit}"))
                } else {
                    commit
                };
                LandingPrepared {
                    task,
                    attempt,
                    onto,
                    commit,
                    merged,
                }
                .into()
            }
            EffectKind::Land => {
                let attempt_state = self.state.task(effect.task).attempt.as_ref();
                let commit = attempt_state
                    .and_then(|a| a.landing.clone())
                    .unwrap()
                    .commit;
                WorkLanded {
                    task,
                    attempt,
                    commit,
                }
                .into()
            }
        }
    }

    fn play(&mut self, mut end: impl FnMut(&AgentId) -> AttemptEnd) -> RunEnded {
        loop {
            let next = self.state.owed().next();
            let Some(effect) = next else { break };
            self.perform(effect, &mut end);
        }
        self.ended().expect("a run that owes nothing has ended")
    }
}

fn finished() -> AttemptEnd {
    AttemptEnd::Finished {
        text: Content::from("ok"),
    }
}

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
    use crate::record::CheckStage::{Merged, Own};
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
