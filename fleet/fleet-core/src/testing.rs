//! A run in memory for tests: plans, effects of a perfect world, and every record that was made.

use crate::decide::{Input, Reply, decide};
use crate::ids::{BranchName, CommitId, RunId, TreeId};
use crate::owed::{Effect, EffectKind};
use crate::record::{
    AttemptEnd, CheckFinished, LandingPrepared, Record, RunEnded, RunOpened, WorkCommitted,
    WorkLanded, WorkspaceReady,
};
use crate::spec::{Budget, Limits, RoleSpec, RunSpec, TaskSpec, WorkspaceSpec};
use crate::state::FleetState;
use crate::time::{Stamp, Timestamp};
use engine_core::content::Content;
use engine_core::ids::{AgentId, AttemptNo, ModelName, RoleName};
use engine_core::record::{AgentRecord, Json, VerdictGiven};
use engine_core::tool::Access;
use std::collections::BTreeMap;

/// A run in memory: applies what is decided, and keeps it.
pub(crate) struct Bench {
    pub(crate) state: FleetState,
    pub(crate) records: Vec<Record>,
}

pub(crate) fn role(access: Access, gives_verdict: bool) -> RoleSpec {
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

pub(crate) fn task(id: &str, role: &str, needs: &[&str]) -> TaskSpec {
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

impl Bench {
    pub(crate) fn new(tasks: Vec<TaskSpec>, change: impl FnOnce(&mut RunSpec)) -> Self {
        let mut plan = RunSpec {
            name: "t".into(),
            goal: None,
            base: None,
            limits: Limits::default(),
            budget: Budget::default(),
            workspace: WorkspaceSpec::default(),
            providers: BTreeMap::new(),
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
            base_branch: None,
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

    pub(crate) fn line(&mut self, records: Vec<Record>) {
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

    pub(crate) fn input(&mut self, input: Input) -> Reply {
        let decision = decide(&self.state, input);
        if !decision.records.is_empty() {
            self.line(decision.records);
        }
        while let Some(records) = self.state.advance() {
            self.line(records);
        }
        decision.reply
    }

    pub(crate) fn word(&self, id: &str) -> &'static str {
        let (_, task) = self.state.find(&id.parse().unwrap()).unwrap();
        crate::view::state_word(task, crate::view::Manager::Alive)
    }

    pub(crate) fn ended(&self) -> Option<RunEnded> {
        self.records.iter().rev().find_map(|record| match record {
            Record::RunEnded(ended) => Some(ended.clone()),
            _ => None,
        })
    }

    pub(crate) fn agent(&self, effect: Effect) -> AgentId {
        AgentId {
            task: self.state.task(effect.task).spec.id.clone(),
            attempt: effect.attempt,
        }
    }

    /// Performs one owed effect as a perfect world would; `end` says how agents end.
    pub(crate) fn perform(&mut self, effect: Effect, end: &mut dyn FnMut(&AgentId) -> AttemptEnd) {
        let agent = self.agent(effect);
        if effect.kind == EffectKind::RunAgent {
            let end = end(&agent);
            self.end_agent(agent, end);
            return;
        }
        let outcome = self.outcome(effect, agent);
        assert_eq!(self.input(Input::Outcome(outcome)), Reply::Accepted);
    }

    pub(crate) fn end_agent(&mut self, agent: AgentId, end: AttemptEnd) {
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
                unresolved: Vec::new(),
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
                unconfined: None,
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

    pub(crate) fn play(&mut self, mut end: impl FnMut(&AgentId) -> AttemptEnd) -> RunEnded {
        loop {
            let next = self.state.owed().next();
            let Some(effect) = next else { break };
            self.perform(effect, &mut end);
        }
        self.ended().expect("a run that owes nothing has ended")
    }
}

pub(crate) fn finished() -> AttemptEnd {
    AttemptEnd::Finished {
        text: Content::from("ok"),
    }
}
