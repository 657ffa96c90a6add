//! A manager without threads: the same order of decide, append, apply and perform as the real one, one
//! random step at a time. Never decides anything itself.

use crate::agent::Agent;
use crate::disk::Disk;
use crate::faults::{Bug, Faults};
use crate::random::Random;
use crate::world::World;
use engine_core::ids::AgentId;
use fleet_core::decide::{Input, Reply, decide};
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{Record, RunEnded, RunOpened};
use fleet_core::spec::TaskSpec;
use fleet_core::state::{FleetState, RunStatus, TaskIx};
use std::collections::BTreeMap;

/// Steps after which a run that has not ended counts as stuck.
const STEPS_MAX: usize = 20_000;

pub(crate) struct Sim {
    pub(crate) seed: u64,
    pub(crate) random: Random,
    pub(crate) disk: Disk,
    pub(crate) world: World,
    pub(crate) state: FleetState,
    /// Effects that are owed, each with the line that announces it.
    under_way: BTreeMap<TaskIx, (Effect, u64)>,
    pub(crate) agents: BTreeMap<AgentId, Agent>,
    /// A person has asked for a stop.
    pub(crate) stopping: bool,
    pub(crate) managers: u32,
    pub(crate) faults: Faults,
    pub(crate) bug: Option<Bug>,
    /// What was ordered, whatever the fold makes of it.
    pub(crate) opened: RunOpened,
    pub(crate) tasks: Vec<TaskSpec>,
}

impl Sim {
    pub(crate) fn new(seed: u64, faults: Faults, bug: Option<Bug>) -> Self {
        let mut random = Random::new(seed);
        let (opened, tasks) = crate::plan::plan(seed, &mut random);
        Self {
            seed,
            random,
            disk: Disk::default(),
            world: World::default(),
            state: FleetState::new(),
            under_way: BTreeMap::new(),
            agents: BTreeMap::new(),
            stopping: false,
            managers: 1,
            faults,
            bug,
            opened: *opened,
            tasks,
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(&mut self) -> Result<RunEnded, String> {
        self.input(Input::Open(Box::new(self.opened.clone())))?;
        self.queue()?;
        for _ in 0..STEPS_MAX {
            match self.ended() {
                Some(ended) if !ended.outcome.is_resumable() => {
                    self.check_end()?;
                    return Ok(ended);
                }
                Some(_) => self.restart()?,
                None if self.strikes(self.faults.kill_percent) => self.crash()?,
                None if !self.stopping && self.strikes(self.faults.stop_percent) => self.stop(),
                None if self.strikes(self.faults.wish_percent) => self.wish()?,
                None => self.step()?,
            }
            self.check_always()?;
        }
        let owed: Vec<Effect> = self.state.owed().collect();
        let stand: Vec<String> = self
            .state
            .tasks()
            .filter(|(_, task)| !task.is_ended())
            .map(|(_, task)| format!("{} {:?}", task.spec.id, task.phase))
            .collect();
        Err(format!(
            "not ended after {STEPS_MAX} steps, owing {owed:?}, with {stand:?}"
        ))
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
        percent > 0 && self.managers <= self.faults.max && self.random.chance(percent)
    }

    fn crash(&mut self) -> Result<(), String> {
        self.disk.crash(&mut self.random);
        if self.has(Bug::LosesAcknowledgedLines) {
            self.disk.lose_acknowledged();
        }
        self.check_announced()?;
        self.restart()
    }

    /// A person stops the run: nothing new is started, and what runs is told to end.
    fn stop(&mut self) {
        let open = self.state.run().map(|run| run.status.clone()) == Some(RunStatus::Open);
        self.stopping = open;
    }

    fn queue(&mut self) -> Result<(), String> {
        let queued = self.state.ordered() as usize;
        let missing = self.tasks[queued..].to_vec();
        for chunk in missing.chunks(2) {
            self.input(Input::Queue(chunk.to_vec()))?;
        }
        self.advance()
    }

    /// A new manager replays what is on the disk.
    fn restart(&mut self) -> Result<(), String> {
        self.managers += 1;
        self.disk.next_epoch();
        self.under_way.clear();
        self.agents.clear();
        self.stopping = false;
        self.state = self.replay()?;
        if self.state.run().is_some() && self.strikes(self.faults.wish_percent) {
            self.wish_unmanaged()?;
        }
        if self.state.run().is_none() {
            self.input(Input::Open(Box::new(self.opened.clone())))?;
        } else if self.state.is_unfinished() {
            self.input(Input::Resume {
                version: "0".into(),
                pid: self.managers,
            })?;
        } else {
            return Ok(());
        }
        self.queue()
    }

    fn replay(&self) -> Result<FleetState, String> {
        let mut state = FleetState::new();
        for line in self.disk.lines() {
            for record in line.records.iter().filter(|record| self.reads(record)) {
                state
                    .apply(line.stamp, &self.seen(record))
                    .map_err(|illegal| {
                        format!("replay refuses what was accepted live: {illegal}")
                    })?;
            }
        }
        Ok(state)
    }

    pub(crate) fn input(&mut self, input: Input) -> Result<Reply, String> {
        let decision = decide(&self.state, input);
        if !decision.records.is_empty() {
            self.append(decision.records)?;
        }
        Ok(decision.reply)
    }

    pub(crate) fn append(&mut self, records: Vec<Record>) -> Result<(), String> {
        let stamp = self.disk.stamp_of_next();
        let records = self.written(records);
        self.disk.append(records.clone());
        for record in &records {
            self.state
                .apply(stamp, &self.seen(record))
                .map_err(|illegal| format!("a decision does not fit: {illegal}"))?;
        }
        Ok(())
    }

    /// Records what the fleet states of its own accord, and notes what is newly owed.
    pub(crate) fn advance(&mut self) -> Result<(), String> {
        if self.stopping {
            let state = &self.state;
            self.under_way
                .retain(|ix, (effect, _)| state.owed_to(*ix) == Some(*effect));
            return Ok(());
        }
        while let Some(records) = self.state.advance() {
            self.append(records)?;
        }
        let announced_by = self.disk.last();
        let owed: Vec<Effect> = self
            .state
            .owed()
            .filter(|effect| self.takes_up(*effect))
            .collect();
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
        let early = self.has(Bug::ActsTooEarly);
        let mut ready: Vec<(Effect, u64)> = self
            .under_way
            .values()
            .filter(|(_, by)| *by <= durable || early)
            .copied()
            .collect();
        if self.stopping && self.under_way.is_empty() {
            let reason = "asked".to_owned();
            self.stopping = false;
            self.input(Input::Stop { reason, exit: 130 })?;
            return Ok(());
        }
        if ready.is_empty() || (self.disk.has_unsynced() && self.random.chance(30)) {
            self.disk.sync();
            return Ok(());
        }
        let (effect, announced_by) = ready.swap_remove(self.random.below(ready.len()));
        self.perform(effect, announced_by)?;
        self.advance()
    }

    fn perform(&mut self, effect: Effect, announced_by: u64) -> Result<(), String> {
        let agent = AgentId {
            task: self.state.task(effect.task).spec.id.clone(),
            attempt: effect.attempt,
        };
        let is_agent = effect.kind == EffectKind::RunAgent;
        let is_running = is_agent && self.agents.contains_key(&agent);
        if self.stopping && !is_running && (is_agent || self.random.chance(50)) {
            self.under_way.remove(&effect.task);
            return Ok(());
        }
        if is_agent {
            return self.agent_step(&agent, effect.task);
        }
        // A branch that was moved before a crash is found moved: that cannot be impossible.
        let is_done = effect.kind == EffectKind::Land && self.world.landed.contains(&agent.task);
        if !is_done && self.strikes(self.faults.impossible_percent) {
            self.input(Input::EffectFailed {
                task: agent.task,
                message: "it cannot be done".into(),
            })?;
            return Ok(());
        }
        let record = self.outcome(&agent, effect)?;
        self.world
            .act(announced_by, format!("{agent}: {:?}", effect.kind));
        self.deliver(&agent, record)
    }

    /// An outcome reaches the manager, once or twice; only the first counts.
    fn deliver(&mut self, agent: &AgentId, record: Record) -> Result<(), String> {
        match self.input(Input::Outcome(record.clone()))? {
            Reply::Accepted => {}
            other => {
                return Err(format!(
                    "{agent}: an outcome that was owed is answered by {other:?}"
                ));
            }
        }
        if self.strikes(self.faults.twice_percent) {
            match self.input(Input::Outcome(record))? {
                Reply::Late(_) => {}
                other => {
                    return Err(format!(
                        "{agent}: an outcome that came twice is answered by {other:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}
