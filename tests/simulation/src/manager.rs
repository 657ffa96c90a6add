//! A manager without threads: the same order of decide, append, apply and perform as the real one, one
//! random step at a time, and the properties that must hold. Never decides anything itself.

use crate::agent::Agent;
use crate::disk::Disk;
use crate::plan::plan;
use crate::random::Random;
use crate::world::World;
use engine_core::ids::AgentId;
use fleet_core::decide::{Input, Reply, decide};
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{Record, RunEnded, RunOpened};
use fleet_core::spec::TaskSpec;
use fleet_core::state::{FleetState, RunStatus, TaskIx};
use std::collections::BTreeMap;

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

pub(crate) struct Sim {
    pub(crate) seed: u64,
    pub(crate) random: Random,
    pub(crate) disk: Disk,
    pub(crate) world: World,
    pub(crate) state: FleetState,
    under_way: BTreeMap<TaskIx, (Effect, u64)>,
    pub(crate) agents: BTreeMap<AgentId, Agent>,
    pub(crate) kills: u32,
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

    pub(crate) fn input(&mut self, input: Input) -> Result<Reply, String> {
        let decision = decide(&self.state, input);
        if !decision.records.is_empty() {
            self.append(decision.records)?;
        }
        Ok(decision.reply)
    }

    fn append(&mut self, records: Vec<Record>) -> Result<(), String> {
        let stamp = self.disk.stamp_of_next();
        for record in &records {
            self.state
                .apply(stamp, record)
                .map_err(|illegal| format!("a decision does not fit: {illegal}"))?;
        }
        self.disk.append(records);
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
}
