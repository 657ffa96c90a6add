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
use fleet_core::record::{AttemptEnd, Record, RunEnded, RunOpened};
use fleet_core::spec::TaskSpec;
use fleet_core::state::{FleetState, RunStatus, TaskIx};
use std::collections::BTreeMap;

/// How often things go wrong, in percent of steps, and how often at most.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Chance of a kill at each step.
    pub kill_percent: u64,
    /// Chance that a person stops the run at each step.
    pub stop_percent: u64,
    /// Chance that an agent finds its provider gone when it would end.
    pub outage_percent: u64,
    /// Most of all of them in one run.
    pub max: u32,
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Its end.
    pub ended: RunEnded,
    /// Lines of its ledger.
    pub lines: usize,
    /// Managers it took: one more than it was killed, stopped or left without a provider.
    pub managers: u32,
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
    pub(crate) managers: u32,
    pub(crate) faults: Faults,
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
        managers: 1,
        faults,
    };
    sim.run(&opened, &tasks)
        .map_err(|what| Violation { seed, what })
}

impl Sim {
    fn run(&mut self, opened: &RunOpened, tasks: &[TaskSpec]) -> Result<Report, String> {
        self.input(Input::Open(Box::new(opened.clone())))?;
        self.queue(tasks)?;
        for _ in 0..STEPS_MAX {
            match self.ended() {
                Some(ended) if !ended.outcome.is_resumable() => {
                    self.check_end()?;
                    let (lines, managers) = (self.disk.lines().len(), self.managers);
                    return Ok(Report {
                        ended,
                        lines,
                        managers,
                    });
                }
                Some(_) => self.restart(opened, tasks)?,
                None if self.strikes(self.faults.kill_percent) => {
                    self.disk.crash(&mut self.random);
                    self.restart(opened, tasks)?;
                }
                None if self.strikes(self.faults.stop_percent) => self.stop()?,
                None => self.step()?,
            }
            self.check_always()?;
        }
        let owed: Vec<Effect> = self.state.owed().collect();
        Err(format!("not ended after {STEPS_MAX} steps, owing {owed:?}"))
    }

    /// The run's end, once it is durable.
    fn ended(&self) -> Option<RunEnded> {
        match &self.state.run()?.status {
            RunStatus::Ended(ended) if !self.disk.has_unsynced() => Some(ended.clone()),
            _ => None,
        }
    }

    /// Whether a fault of this chance strikes now.
    pub(crate) fn strikes(&mut self, percent: u64) -> bool {
        self.managers <= self.faults.max && self.random.chance(percent)
    }

    /// A person stops the run: agents end as interrupted, and nothing new is started.
    fn stop(&mut self) -> Result<(), String> {
        if self
            .state
            .run()
            .is_some_and(|run| run.status != RunStatus::Open)
        {
            return Ok(());
        }
        let working: Vec<AgentId> = self
            .state
            .owed()
            .filter(|effect| effect.kind == EffectKind::RunAgent)
            .map(|effect| AgentId {
                task: self.state.task(effect.task).spec.id.clone(),
                attempt: effect.attempt,
            })
            .collect();
        for agent in working {
            let end = AttemptEnd::Interrupted;
            self.input(Input::AttemptEnded { agent, end })?;
        }
        self.under_way.clear();
        let reason = "asked".to_owned();
        self.input(Input::Stop { reason, exit: 130 })?;
        Ok(())
    }

    fn queue(&mut self, tasks: &[TaskSpec]) -> Result<(), String> {
        let queued = self.state.ordered() as usize;
        for chunk in tasks[queued..].chunks(2) {
            self.input(Input::Queue(chunk.to_vec()))?;
        }
        self.advance()
    }

    /// A new manager replays what is on the disk.
    fn restart(&mut self, opened: &RunOpened, tasks: &[TaskSpec]) -> Result<(), String> {
        self.managers += 1;
        self.disk.next_epoch();
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
                pid: self.managers,
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
