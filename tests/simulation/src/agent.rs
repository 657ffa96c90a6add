//! Agents of the simulation: the real turn machine, whose effects are carried out one small step at a
//! time and may be cut off between any two. Never remembers across a crash what the ledger does not hold.

use crate::faults::Bug;
use crate::manager::Sim;
use crate::model::{MESSAGE_BYTES, catalog, mark_of};
use crate::world::World;
use engine_core::content::Content;
use engine_core::context::Window;
use engine_core::ids::{AgentId, CallId, Tokens};
use engine_core::message::ToolCall;
use engine_core::outcome::{AgentOutcome, Ending};
use engine_core::record::AgentRecord;
use engine_core::tool::EffectClass;
use engine_core::transcript::Transcript;
use engine_core::turn::{ToolEnd, Turn, TurnEffect, TurnInput, TurnRules};
use fleet_core::decide::{Ask, Input, Reply};
use fleet_core::ids::CommitId;
use fleet_core::record::AttemptEnd;
use fleet_core::state::TaskIx;
use std::collections::{BTreeMap, VecDeque};

/// Most output tokens an agent asks for.
const OUTPUT_MAX: Tokens = Tokens(1_500);

/// An agent under way.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) turn: Turn,
    pub(crate) effects: VecDeque<TurnEffect>,
    /// The line that must be durable before it goes on.
    pub(crate) gate: u64,
    /// What its model is about to say.
    pub(crate) arriving: Option<TurnInput>,
    /// Calls that were looked at.
    pub(crate) calls: BTreeMap<CallId, (ToolCall, EffectClass)>,
    /// Calls that run; true for those that have begun.
    pub(crate) running: Vec<(CallId, bool)>,
}

impl Agent {
    /// Gives the machine what happened.
    pub(crate) fn give(&mut self, input: TurnInput) -> Result<(), String> {
        let effects = self.turn.handle(input);
        self.effects
            .extend(effects.map_err(|illegal| illegal.to_string())?);
        Ok(())
    }
}

impl Sim {
    /// An agent takes one step.
    pub(crate) fn agent_step(&mut self, id: &AgentId, ix: TaskIx) -> Result<(), String> {
        let mut agent = match self.agents.remove(id) {
            Some(agent) => agent,
            None => return self.start_agent(id, ix),
        };
        if agent.gate > self.disk.durable() && !self.has(Bug::RepliesTooEarly) {
            self.agents.insert(id.clone(), agent);
            return Ok(());
        }
        let over = if agent.arriving.is_some() {
            self.hear(&mut agent)?;
            false
        } else if agent.running.is_empty() {
            self.carry_out(id, &mut agent)?
        } else {
            self.run_one(id, &mut agent)?;
            false
        };
        if !over {
            self.agents.insert(id.clone(), agent);
        }
        Ok(())
    }

    fn start_agent(&mut self, id: &AgentId, ix: TaskIx) -> Result<(), String> {
        *self.world.started.entry(id.clone()).or_default() += 1;
        let task = self.state.task(ix);
        let ending = match task.review_of {
            Some(_) => Ending::Verdict,
            None => Ending::Answer,
        };
        let rules = TurnRules {
            first: task.spec.prompt.clone(),
            tools: catalog(task.access),
            ending,
            steps: 200,
            window: Window {
                // Some models that take in little are known to do so.
                context: World::takes(self.seed)
                    .filter(|_| self.seed.is_multiple_of(2))
                    .map(|bytes| Tokens(bytes / 3)),
                max_output: OUTPUT_MAX,
                fixed_bytes: 0,
            },
            seed: self.seed,
        };
        let history = self.remembered(self.history(id));
        let transcript =
            Transcript::replay(id.clone(), &history).map_err(|illegal| illegal.to_string())?;
        let mut agent = Agent {
            turn: Turn::new(rules, transcript),
            effects: VecDeque::new(),
            gate: 0,
            arriving: None,
            calls: BTreeMap::new(),
            running: Vec::new(),
        };
        agent.give(TurnInput::Start)?;
        self.agents.insert(id.clone(), agent);
        Ok(())
    }

    /// The model's answer, or its failure, comes in; a stop comes before it.
    fn hear(&mut self, agent: &mut Agent) -> Result<(), String> {
        let Some(arriving) = agent.arriving.take() else {
            return Ok(());
        };
        agent.give(if self.stopping {
            TurnInput::Cancelled
        } else {
            arriving
        })
    }

    /// Carries out the next effect; true when the agent is over.
    fn carry_out(&mut self, id: &AgentId, agent: &mut Agent) -> Result<bool, String> {
        let Some(effect) = agent.effects.pop_front() else {
            return Err(format!("{id} has nothing to do and is not over"));
        };
        if self.stopping && can_be_dropped(&effect) {
            let unsent = matches!(effect, TurnEffect::Ask { .. });
            agent.give(if unsent {
                TurnInput::Unsent
            } else {
                TurnInput::Cancelled
            })?;
            return Ok(false);
        }
        match effect {
            TurnEffect::Record(records) => self.record(id, agent, records)?,
            TurnEffect::Admit { .. } => self.admit(id, agent, effect)?,
            TurnEffect::Ask { max_output } => {
                let messages = agent.turn.messages();
                let arriving = match self.refuse(id, messages)? {
                    Some(refusal) => refusal,
                    None => self.ask(id, agent.gate, messages.len(), max_output)?,
                };
                agent.arriving = Some(arriving);
            }
            TurnEffect::Wait(_) => agent.give(TurnInput::Waited)?,
            TurnEffect::Prepare(calls) => prepare(agent, calls)?,
            TurnEffect::Run(ids) => agent.running = ids.into_iter().map(|id| (id, false)).collect(),
            TurnEffect::Snapshot => {
                let taken = self.take_snapshot(id)?;
                agent.give(TurnInput::Snapshotted(Ok(taken)))?;
            }
            TurnEffect::Restore => {
                self.restore(id);
                agent.give(TurnInput::Restored(Ok(())))?;
            }
            TurnEffect::Finish(outcome) => {
                self.finish(id, outcome)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn record(
        &mut self,
        id: &AgentId,
        agent: &mut Agent,
        records: Vec<AgentRecord>,
    ) -> Result<(), String> {
        match self.input(Input::Report(records))? {
            Reply::Accepted => {
                agent.gate = self.disk.last();
                Ok(())
            }
            other => Err(format!("{id}: a report is answered by {other:?}")),
        }
    }

    fn admit(&mut self, id: &AgentId, agent: &mut Agent, wanted: TurnEffect) -> Result<(), String> {
        let TurnEffect::Admit {
            step,
            told,
            purpose,
            max_output,
        } = &wanted
        else {
            return Err(format!("{id} asks for no admission"));
        };
        let asked = self
            .state
            .find(&id.task)
            .and_then(|(_, task)| task.attempt.as_ref())
            .map_or(0, |attempt| attempt.steps);
        if step.0 != asked + 1 {
            return Err(format!("{id} asks step {step:?} after {asked} requests"));
        }
        let ask = Ask {
            agent: id.clone(),
            step: *step,
            purpose: *purpose,
            hash: String::new(),
            bytes: MESSAGE_BYTES * agent.turn.messages().len() as u64,
            told: told.iter().cloned().map(Content::from).collect(),
            max_output: *max_output,
        };
        let overrun = self.state.account().spent.overrun > Tokens(0);
        match self.input(Input::Admit(ask))? {
            Reply::Granted { .. } if overrun && self.state.account().cap.is_some() => {
                Err(format!("{id} is admitted after an overrun"))
            }
            Reply::Granted { max_output } => {
                agent.gate = self.disk.last();
                agent.give(TurnInput::Admitted { max_output })
            }
            Reply::Wait => {
                agent.effects.push_front(wanted);
                Ok(())
            }
            Reply::Refused { message } => agent.give(TurnInput::Refused { reason: message }),
            other => Err(format!("{id}: admission is answered by {other:?}")),
        }
    }

    /// One of the calls that run begins, or comes to its end.
    fn run_one(&mut self, id: &AgentId, agent: &mut Agent) -> Result<(), String> {
        let at = self.random.below(agent.running.len());
        let (call, begun) = agent.running[at].clone();
        let (asked, effect) = agent.calls[&call].clone();
        let mark = mark_of(&asked);
        if !begun && !self.stopping {
            agent.running[at].1 = true;
            self.begin_call(id, agent.gate, effect, &mark);
            return Ok(());
        }
        agent.running.swap_remove(at);
        let end = if begun {
            self.end_call(id, effect, &mark)
        } else {
            ToolEnd::Stopped {
                output: String::new(),
            }
        };
        agent.give(TurnInput::ToolFinished { call, end })
    }

    fn finish(&mut self, id: &AgentId, outcome: AgentOutcome) -> Result<(), String> {
        let agent = id.clone();
        let end = AttemptEnd::from(outcome);
        match self.input(Input::AttemptEnded { agent, end })? {
            Reply::Accepted => Ok(()),
            other => Err(format!("{id}: its end is answered by {other:?}")),
        }
    }

    /// What the ledger holds of an attempt.
    pub(crate) fn history(&self, id: &AgentId) -> Vec<AgentRecord> {
        let records = self.disk.lines().iter().flat_map(|line| &line.records);
        records
            .filter(|record| record.task() == Some(&id.task))
            .filter_map(|record| record.clone().into_agent())
            .filter(|record| record.agent() == *id)
            .collect()
    }

    /// Turns of an attempt whose answers the ledger holds; summaries are none.
    pub(crate) fn answered(&self, id: &AgentId) -> u32 {
        let (mut answered, mut work) = (0, true);
        for record in self.history(id) {
            match record {
                AgentRecord::ModelRequested(r) => work = r.purpose.is_work(),
                AgentRecord::ModelResponded(_) if work => answered += 1,
                _ => {}
            }
        }
        answered
    }

    /// Whether the request under way is one for a summary.
    pub(crate) fn is_summing(&self, id: &AgentId) -> bool {
        let history = self.history(id);
        let requested = history.iter().rev().find_map(|record| match record {
            AgentRecord::ModelRequested(r) => Some(r.purpose),
            _ => None,
        });
        requested.is_some_and(|purpose| !purpose.is_work())
    }

    fn restore(&mut self, id: &AgentId) {
        if self.has(Bug::SkipsRestore) {
            return;
        }
        let attempt = self
            .state
            .find(&id.task)
            .and_then(|(_, task)| task.attempt.as_ref());
        let kept: Option<CommitId> = attempt.and_then(|attempt| {
            let snapshot = attempt.snapshot.as_ref().map(|(commit, _)| commit.clone());
            snapshot.or_else(|| attempt.start.clone())
        });
        let content = kept.map(|name| self.world.content(&name));
        self.world
            .folders
            .insert(id.clone(), content.unwrap_or_default());
    }
}

fn prepare(agent: &mut Agent, calls: Vec<ToolCall>) -> Result<(), String> {
    let found = calls.into_iter().map(|call| agent.look_at(call)).collect();
    agent.give(TurnInput::Prepared(found))
}

/// A stop comes before these; work on the workspace and calls that run are never cut.
fn can_be_dropped(effect: &TurnEffect) -> bool {
    matches!(
        effect,
        TurnEffect::Admit { .. }
            | TurnEffect::Ask { .. }
            | TurnEffect::Wait(_)
            | TurnEffect::Prepare(_)
    )
}
