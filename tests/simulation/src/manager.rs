//! A manager without threads: the same order of decide, append, apply and perform as the real one, one
//! random step at a time, and the properties that must hold. Never decides anything itself.

use crate::disk::Disk;
use crate::plan::plan;
use crate::random::Random;
use crate::world::World;
use engine_core::content::Content;
use engine_core::ids::{AgentId, StepNo, Tokens};
use engine_core::message::Usage;
use engine_core::record::{AgentRecord, Json, ModelResponded, VerdictGiven};
use fleet_core::decide::{Ask, Input, Reply, decide};
use fleet_core::ids::{CommitId, TreeId};
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{
    AttemptEnd, CheckFinished, LandingConflicted, LandingPrepared, Record, RunEnded, RunOpened,
    WorkCommitted, WorkLanded, WorkspaceReady,
};
use fleet_core::spec::TaskSpec;
use fleet_core::state::{FleetState, RunStatus, TaskIx};
use std::collections::{BTreeMap, BTreeSet};

/// How often things go wrong, in percent of steps, and how often at most.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// Chance of a kill at each step.
    pub kill_percent: u64,
    /// Most kills of one run.
    pub kills_max: u32,
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Its end.
    pub ended: RunEnded,
    /// Lines of its ledger.
    pub lines: usize,
    /// Kills it survived.
    pub kills: u32,
}

/// A property that did not hold, with the seed that shows it.
#[derive(Debug, thiserror::Error)]
#[error("seed {seed}: {what}")]
pub struct Violation {
    /// Reproduces it.
    pub seed: u64,
    /// Which property, and how.
    pub what: String,
}

/// Steps after which a run that has not ended counts as stuck.
const STEPS_MAX: usize = 20_000;

/// An agent under way: where it stands between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    /// The next turn has to be admitted.
    Wants(u32),
    /// Admitted; may be sent once the line is durable.
    Admitted {
        turn: u32,
        reserved: Tokens,
        by: u64,
    },
    /// Answered; goes on once the line is durable.
    Answered { turn: u32, by: u64 },
    /// It has reported its end.
    Over,
}

struct Sim {
    seed: u64,
    random: Random,
    disk: Disk,
    world: World,
    state: FleetState,
    under_way: BTreeMap<TaskIx, (Effect, u64)>,
    agents: BTreeMap<AgentId, Agent>,
    kills: u32,
}

/// Plays the run of a seed to its end.
///
/// # Errors
/// The first property that does not hold.
pub fn play(seed: u64, faults: Faults) -> Result<Report, Violation> {
    let mut random = Random::new(seed);
    let (opened, tasks) = plan(seed, &mut random);
    let mut sim = Sim {
        seed,
        random,
        disk: Disk::default(),
        world: World::default(),
        state: FleetState::new(),
        under_way: BTreeMap::new(),
        agents: BTreeMap::new(),
        kills: 0,
    };
    sim.run(&opened, &tasks, faults)
        .map_err(|what| Violation { seed, what })
}

impl Sim {
    fn run(
        &mut self,
        opened: &RunOpened,
        tasks: &[TaskSpec],
        faults: Faults,
    ) -> Result<Report, String> {
        self.input(Input::Open(Box::new(opened.clone())))?;
        self.queue(tasks)?;
        for _ in 0..STEPS_MAX {
            if let Some(RunStatus::Ended(ended)) = self.state.run().map(|run| run.status.clone())
                && !self.disk.has_unsynced()
            {
                self.check_end()?;
                return Ok(Report {
                    ended,
                    lines: self.disk.lines().len(),
                    kills: self.kills,
                });
            }
            if self.kills < faults.kills_max && self.random.chance(faults.kill_percent) {
                self.kill(opened, tasks)?;
            } else {
                self.step()?;
            }
            self.check_always()?;
        }
        Err(format!(
            "not ended after {STEPS_MAX} steps: {:?}",
            self.state.owed().collect::<Vec<_>>()
        ))
    }

    fn queue(&mut self, tasks: &[TaskSpec]) -> Result<(), String> {
        let queued = self.state.ordered() as usize;
        for chunk in tasks[queued..].chunks(2) {
            self.input(Input::Queue(chunk.to_vec()))?;
        }
        self.advance()
    }

    /// The process dies; a new one replays what survived.
    fn kill(&mut self, opened: &RunOpened, tasks: &[TaskSpec]) -> Result<(), String> {
        self.kills += 1;
        self.disk.crash(&mut self.random);
        self.under_way.clear();
        self.agents.clear();
        self.state = FleetState::new();
        for line in self.disk.lines() {
            for record in &line.records {
                self.state.apply(line.stamp, record).map_err(|illegal| {
                    format!("replay refuses what was accepted live: {illegal}")
                })?;
            }
        }
        if self.state.run().is_none() {
            self.input(Input::Open(Box::new(opened.clone())))?;
        } else if self.state.is_unfinished() {
            self.input(Input::Resume {
                version: "0".into(),
                pid: self.kills,
            })?;
        } else {
            return Ok(());
        }
        self.queue(tasks)
    }

    fn input(&mut self, input: Input) -> Result<Reply, String> {
        let decision = decide(&self.state, input);
        if !decision.records.is_empty() {
            self.append(decision.records)?;
        }
        Ok(decision.reply)
    }

    fn append(&mut self, records: Vec<Record>) -> Result<(), String> {
        let stamp = self.disk.append(records.clone());
        for record in &records {
            self.state
                .apply(stamp, record)
                .map_err(|illegal| format!("a decision does not fit: {illegal}"))?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), String> {
        while let Some(records) = self.state.advance() {
            self.append(records)?;
        }
        let announced_by = self.disk.lines().len() as u64;
        let owed: Vec<Effect> = self.state.owed().collect();
        self.under_way
            .retain(|_, (effect, _)| owed.contains(effect));
        for effect in owed {
            self.under_way
                .entry(effect.task)
                .or_insert((effect, announced_by));
        }
        Ok(())
    }

    /// One thing happens: a sync, or progress of one effect whose announcement is durable.
    fn step(&mut self) -> Result<(), String> {
        let durable = self.disk.durable();
        let mut ready: Vec<Effect> = self
            .under_way
            .values()
            .filter(|(_, by)| *by <= durable)
            .map(|(effect, _)| *effect)
            .collect();
        if ready.is_empty() || (self.disk.has_unsynced() && self.random.chance(30)) {
            self.disk.sync();
            return Ok(());
        }
        let effect = ready.swap_remove(self.random.below(ready.len()));
        self.perform(effect)?;
        self.advance()
    }

    fn perform(&mut self, effect: Effect) -> Result<(), String> {
        let agent = AgentId {
            task: self.state.task(effect.task).spec.id.clone(),
            attempt: effect.attempt,
        };
        if effect.kind == EffectKind::RunAgent {
            return self.agent_step(&agent, effect);
        }
        let record = self.outcome(&agent, effect)?;
        match self.input(Input::Outcome(record))? {
            Reply::Accepted => Ok(()),
            other => Err(format!(
                "{agent}: an outcome that was owed is answered by {other:?}"
            )),
        }
    }

    fn outcome(&mut self, agent: &AgentId, effect: Effect) -> Result<Record, String> {
        let (task, attempt) = (agent.task.clone(), agent.attempt);
        let state = self
            .state
            .task(effect.task)
            .attempt
            .clone()
            .ok_or("no attempt")?;
        let commit = CommitId(format!("{task}-{attempt}"));
        Ok(match effect.kind {
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
                exit: Some(i32::from(!World::check_passes(agent, index, self.seed))),
                output: Content::from("out"),
                millis: 1,
            }
            .into(),
            EffectKind::PrepareLanding => {
                let onto = self.state.integration_head().ok_or("no head")?.clone();
                if World::conflicts(agent, self.seed) {
                    LandingConflicted {
                        task,
                        attempt,
                        onto,
                        paths: vec!["f".into()],
                    }
                    .into()
                } else {
                    let merged = Some(&onto) != state.base.as_ref();
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
            }
            EffectKind::Land => {
                let landing = state.landing.ok_or("no landing")?;
                if !self.world.land(&task, &landing.onto, &landing.commit) {
                    return Err(format!("{agent}: the branch is not where the intent says"));
                }
                WorkLanded {
                    task,
                    attempt,
                    commit: landing.commit,
                }
                .into()
            }
        })
    }

    /// An agent takes one step: asks for admission, sends, reports, or ends.
    fn agent_step(&mut self, agent: &AgentId, effect: Effect) -> Result<(), String> {
        let durable = self.disk.durable();
        let Some(stands) = self.agents.get(agent).copied() else {
            *self.world.started.entry(agent.clone()).or_default() += 1;
            let answered = self.answered(agent);
            self.agents.insert(
                agent.clone(),
                Agent::Answered {
                    turn: answered,
                    by: 0,
                },
            );
            return Ok(());
        };
        let next = match stands {
            Agent::Wants(turn) => self.admit(agent, turn)?,
            Agent::Admitted { turn, reserved, by } if by <= durable => {
                self.send(agent, turn, reserved)?
            }
            Agent::Answered { turn, by } if by <= durable => {
                if turn < World::turns(agent, self.seed) {
                    Agent::Wants(turn + 1)
                } else {
                    self.end(agent, effect)?
                }
            }
            waiting => waiting,
        };
        self.agents.insert(agent.clone(), next);
        Ok(())
    }

    fn admit(&mut self, agent: &AgentId, turn: u32) -> Result<Agent, String> {
        let step = self
            .state
            .find(&agent.task)
            .and_then(|(_, task)| task.attempt.as_ref())
            .map_or(0, |a| a.steps);
        let ask = Ask {
            agent: agent.clone(),
            step: StepNo(step + 1),
            hash: String::new(),
            bytes: 200 * u64::from(turn),
            told: Vec::new(),
            max_output: Tokens(1_500),
        };
        match self.input(Input::Admit(ask))? {
            Reply::Granted { .. } => {
                let open = self
                    .state
                    .find(&agent.task)
                    .and_then(|(_, task)| task.attempt.as_ref()?.open_request);
                let reserved = open.ok_or("granted without a reservation")?.reserved;
                Ok(Agent::Admitted {
                    turn,
                    reserved,
                    by: self.disk.lines().len() as u64,
                })
            }
            Reply::Wait => Ok(Agent::Wants(turn)),
            Reply::Refused { message } => {
                let agent = agent.clone();
                self.input(Input::AttemptEnded {
                    agent,
                    end: AttemptEnd::Budget { message },
                })?;
                Ok(Agent::Over)
            }
            other => Err(format!("{agent}: admission is answered by {other:?}")),
        }
    }

    fn send(&mut self, agent: &AgentId, turn: u32, reserved: Tokens) -> Result<Agent, String> {
        let used = self.world.ask(agent, turn, reserved, &mut self.random);
        let step = self
            .state
            .find(&agent.task)
            .and_then(|(_, task)| task.attempt.as_ref()?.open_request);
        let responded = AgentRecord::ModelResponded(ModelResponded {
            task: agent.task.clone(),
            attempt: agent.attempt,
            step: step.ok_or("no request under way")?.step,
            answer: Json::of(&turn).map_err(|error| error.to_string())?,
            usage: Some(Usage {
                input: used,
                output: Tokens(0),
                cached: Tokens(0),
            }),
        });
        match self.input(Input::Report(vec![responded]))? {
            Reply::Accepted => Ok(Agent::Answered {
                turn,
                by: self.disk.lines().len() as u64,
            }),
            other => Err(format!("{agent}: a report is answered by {other:?}")),
        }
    }

    fn end(&mut self, agent: &AgentId, effect: Effect) -> Result<Agent, String> {
        let is_review = self.state.task(effect.task).review_of.is_some();
        let end = if World::attempt_fails(agent, self.seed) {
            AttemptEnd::Failed {
                kind: "planted".into(),
                message: "it failed".into(),
            }
        } else if is_review {
            let verdict = World::verdict(agent, self.seed);
            let given = AgentRecord::VerdictGiven(VerdictGiven {
                task: agent.task.clone(),
                attempt: agent.attempt,
                verdict,
                findings: Content::from("because"),
            });
            self.input(Input::Report(vec![given]))?;
            AttemptEnd::Verdict { verdict }
        } else {
            AttemptEnd::Finished {
                text: Content::from("ok"),
            }
        };
        match self.input(Input::AttemptEnded {
            agent: agent.clone(),
            end,
        })? {
            Reply::Accepted => Ok(Agent::Over),
            other => Err(format!("{agent}: its end is answered by {other:?}")),
        }
    }

    /// Turns of an attempt whose answers the ledger holds.
    fn answered(&self, agent: &AgentId) -> u32 {
        let records = self.disk.lines().iter().flat_map(|line| &line.records);
        let mine = records.filter(|record| {
            matches!(record, Record::ModelResponded(r) if r.task == agent.task && r.attempt == agent.attempt)
        });
        u32::try_from(mine.count()).unwrap_or(u32::MAX)
    }

    fn check_always(&self) -> Result<(), String> {
        let run = self.state.run().ok_or("no run")?;
        if self.state.live() > run.plan.limits.agents {
            return Err(format!(
                "{} agents live, {} allowed",
                self.state.live(),
                run.plan.limits.agents
            ));
        }
        let account = self.state.account();
        if let Some(cap) = account.cap {
            let booked = account.spent.total().plus(account.reserved);
            if booked > cap || self.world.billed > cap {
                return Err(format!(
                    "booked {booked}, billed {}, cap {cap}",
                    self.world.billed
                ));
            }
        }
        for ((agent, turn), times) in &self.world.asked {
            if *times > self.kills + 1 {
                return Err(format!(
                    "{agent} turn {turn} was asked {times} times with {} kills",
                    self.kills
                ));
            }
        }
        Ok(())
    }

    /// What must be true of a run that ended.
    fn check_end(&self) -> Result<(), String> {
        if let Some((_, task)) = self.state.tasks().find(|(_, task)| !task.is_ended()) {
            return Err(format!("the run ended before task `{}`", task.spec.id));
        }
        let once: BTreeSet<_> = self.world.landed.iter().collect();
        if once.len() != self.world.landed.len() {
            return Err(format!("landed twice: {:?}", self.world.landed));
        }
        let recorded: Vec<_> = self
            .disk
            .lines()
            .iter()
            .flat_map(|line| &line.records)
            .filter_map(|record| match record {
                Record::WorkLanded(r) => Some(r.task.clone()),
                _ => None,
            })
            .collect();
        if recorded != self.world.landed {
            return Err(format!(
                "recorded {recorded:?}, landed {:?}",
                self.world.landed
            ));
        }
        if self.state.account().reserved != Tokens(0) {
            return Err(format!(
                "{} tokens stay reserved",
                self.state.account().reserved
            ));
        }
        for (_, task) in self.state.tasks().filter(|(_, task)| task.succeeded()) {
            let unmet = task
                .spec
                .needs
                .iter()
                .find(|need| !self.state.find(need).is_some_and(|(_, t)| t.succeeded()));
            if let Some(need) = unmet {
                return Err(format!(
                    "`{}` succeeded although `{need}` did not",
                    task.spec.id
                ));
            }
        }
        Ok(())
    }
}
