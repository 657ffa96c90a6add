//! Agents of the simulation: each takes one small step at a time and may be cut off between any two.
//! Never remembers across a crash what the ledger does not hold.

use crate::manager::Sim;
use crate::world::World;
use engine_core::content::Content;
use engine_core::ids::{AgentId, StepNo, Tokens};
use engine_core::message::Usage;
use engine_core::record::{AgentRecord, Json, ModelResponded, VerdictGiven};
use fleet_core::decide::{Ask, Input, Reply};
use fleet_core::owed::Effect;
use fleet_core::record::{AttemptEnd, Record};

/// An agent under way: where it stands between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
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

impl Sim {
    /// An agent takes one step: asks for admission, sends, reports, or ends.
    pub(crate) fn agent_step(&mut self, agent: &AgentId, effect: Effect) -> Result<(), String> {
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
        if self.answered(agent) >= turn {
            return Err(format!(
                "{agent} asks turn {turn} again, whose answer is recorded"
            ));
        }
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
        let end = if self.strikes(self.faults.outage_percent) {
            AttemptEnd::Provider {
                message: "no route".into(),
            }
        } else if World::attempt_fails(agent, self.seed) {
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
}
