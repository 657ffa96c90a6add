//! What must hold of every run: always, after each crash, and at its end. Judged by what was ordered
//! and what happened in the world, not by what the fold makes of it. Never changes anything.

use crate::manager::Sim;
use crate::model::mark_of;
use crate::world::World;
use engine_core::ids::{AgentId, TaskId, Tokens};
use engine_core::message::{Answer, ToolStatus};
use engine_core::record::Verdict;
use fleet_core::record::{EndState, Record};
use fleet_core::state::Phase;
use std::collections::{BTreeMap, BTreeSet};

impl Sim {
    pub(crate) fn check_always(&self) -> Result<(), String> {
        self.check_slots()?;
        self.check_money()?;
        self.check_needs()?;
        self.check_repeats()
    }

    /// True when a cap may end a task, whose end then depends on the order of things.
    pub(crate) fn is_capped(&self) -> bool {
        self.opened.plan.budget.tokens.is_some()
            || self.tasks.iter().any(|task| task.budget.tokens.is_some())
    }

    fn check_slots(&self) -> Result<(), String> {
        let plan = &self.opened.plan;
        let working = self
            .state
            .tasks()
            .filter(|(_, task)| matches!(task.phase, Phase::Preparing | Phase::Working));
        let mut live = 0;
        let mut of_role: BTreeMap<_, u32> = BTreeMap::new();
        for (_, task) in working {
            live += 1;
            *of_role.entry(task.spec.role.clone()).or_default() += 1;
        }
        if live > plan.limits.agents {
            return Err(format!(
                "{live} agents live, {} allowed",
                plan.limits.agents
            ));
        }
        for (name, role) in &plan.roles {
            let live = of_role.get(name).copied().unwrap_or(0);
            if role.agents.is_some_and(|cap| live > cap) {
                return Err(format!("{live} agents of role {name} live"));
            }
        }
        Ok(())
    }

    fn check_money(&self) -> Result<(), String> {
        let account = self.state.account();
        let booked = account.spent.total().plus(account.reserved);
        let beyond = self.world.beyond;
        if self.faults.overrun_percent == 0 && beyond > Tokens(0) {
            return Err(format!("{beyond} tokens more were used than set aside"));
        }
        let billed = self.world.billed.minus(beyond);
        if billed > booked {
            return Err(format!("billed {billed}, booked only {booked}"));
        }
        match account.cap {
            Some(cap) if booked.minus(account.spent.overrun) > cap || billed > cap => {
                Err(format!("booked {booked}, billed {billed}, cap {cap}"))
            }
            _ => Ok(()),
        }
    }

    fn check_needs(&self) -> Result<(), String> {
        let succeeded = |id: &TaskId| {
            self.state
                .find(id)
                .is_some_and(|(_, needed)| needed.succeeded())
        };
        for ordered in &self.tasks {
            let started = self
                .state
                .find(&ordered.id)
                .is_some_and(|(_, task)| task.attempt.is_some());
            let unmet = ordered.needs.iter().find(|need| !succeeded(need));
            if let Some(need) = unmet.filter(|_| started) {
                return Err(format!("`{}` started before `{need}`", ordered.id));
            }
        }
        Ok(())
    }

    /// Nothing is done more often than there were managers to lose it; outside, nothing is done twice.
    fn check_repeats(&self) -> Result<(), String> {
        let most = self.managers;
        for (agent, times) in &self.world.started {
            if *times > most {
                return Err(format!(
                    "{agent} was started {times} times by {most} managers"
                ));
            }
            let most = self.opened.plan.limits.attempts;
            if agent.attempt.0 > most && agent.attempt.0 > most * (1 + self.retries(&agent.task)) {
                return Err(format!("{agent} is one attempt too many"));
            }
        }
        for ((agent, turn), times) in &self.world.answered {
            if *times > most {
                return Err(format!(
                    "{agent} turn {turn} was answered {times} times with {most} managers"
                ));
            }
        }
        match self.world.reached.iter().find(|(_, times)| **times > 1) {
            Some((mark, times)) => Err(format!("{mark} reached outside {times} times")),
            None => Ok(()),
        }
    }

    /// After a crash: nothing was done that the ledger does not know of.
    pub(crate) fn check_announced(&mut self) -> Result<(), String> {
        let last = self.disk.last();
        let acts = std::mem::take(&mut self.world.acts);
        match acts.into_iter().find(|act| act.announced_by > last) {
            Some(act) => Err(format!(
                "{}, announced by line {} of {last}",
                act.what, act.announced_by
            )),
            None => Ok(()),
        }
    }

    /// What must be true of a run that ended.
    pub(crate) fn check_end(&self) -> Result<(), String> {
        if let Some((_, task)) = self.state.tasks().find(|(_, task)| !task.is_ended()) {
            return Err(format!("the run ended before task `{}`", task.spec.id));
        }
        if self.state.account().reserved != Tokens(0) {
            let reserved = self.state.account().reserved;
            return Err(format!("{reserved} tokens stay reserved"));
        }
        self.check_ends_once()?;
        self.check_landings()?;
        for commit in self.committed() {
            self.check_work(&commit)?;
        }
        Ok(())
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.disk.lines().iter().flat_map(|line| &line.records)
    }

    /// Each task ends once, unless a person has it tried again: that and what was skipped ends anew.
    fn check_ends_once(&self) -> Result<(), String> {
        let mut ended = BTreeMap::new();
        for record in self.records() {
            match record {
                Record::TaskEnded(r) if ended.insert(&r.task, r.state).is_some() => {
                    return Err(format!("`{}` ended twice", r.task));
                }
                Record::TaskRetried(r) => {
                    ended.remove(&r.task);
                    ended.retain(|_, state| *state != EndState::Skipped);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What landed did so once, is recorded, passed its checks and was approved where that was ordered;
    /// and the branch holds all of it.
    fn check_landings(&self) -> Result<(), String> {
        let landed = &self.world.landed;
        let recorded: Vec<TaskId> = self
            .records()
            .filter_map(|record| match record {
                Record::WorkLanded(r) => Some(r.task.clone()),
                _ => None,
            })
            .collect();
        let once: BTreeSet<_> = landed.iter().collect();
        if recorded != *landed || once.len() != landed.len() {
            return Err(format!("recorded {recorded:?}, landed {landed:?}"));
        }
        let branch = match &self.world.branch {
            Some(head) => self.world.content(head),
            None => Vec::new(),
        };
        for task in landed {
            let (_, state) = self.state.find(task).ok_or("an unknown task landed")?;
            let agent = AgentId {
                task: task.clone(),
                attempt: state.attempt_no(),
            };
            self.check_judged(&agent)?;
            let missing = self
                .world
                .folder(&agent)
                .into_iter()
                .find(|mark| !branch.contains(mark));
            if let Some(mark) = missing {
                return Err(format!("{agent} landed, and {mark} is not on the branch"));
            }
        }
        Ok(())
    }

    fn check_judged(&self, agent: &AgentId) -> Result<(), String> {
        let ordered = self.tasks.iter().find(|task| task.id == agent.task);
        let ordered = ordered.ok_or("a task landed that was not ordered")?;
        let checks = u32::try_from(ordered.check.len()).unwrap_or(u32::MAX);
        if let Some(index) = (0..checks).find(|i| !World::check_passes(agent, *i, self.seed)) {
            return Err(format!("{agent} landed, and its check {index} fails"));
        }
        if ordered.review.is_none() {
            return Ok(());
        }
        let reviews: Vec<&TaskId> = self
            .records()
            .filter_map(|record| match record {
                Record::TaskQueued(r) => {
                    let of = r.review_of.as_ref()?;
                    (of.task == agent.task && of.attempt == agent.attempt).then_some(&r.spec.id)
                }
                _ => None,
            })
            .collect();
        let approved = self.records().any(|record| {
            matches!(record, Record::ReviewGiven(r)
                if r.verdict == Verdict::Approve && reviews.contains(&&r.task))
        });
        if approved {
            Ok(())
        } else {
            Err(format!(
                "{agent} landed without the review that was ordered"
            ))
        }
    }

    fn committed(&self) -> Vec<AgentId> {
        self.records()
            .filter_map(|record| match record {
                Record::WorkCommitted(r) => Some(AgentId {
                    task: r.task.clone(),
                    attempt: r.attempt,
                }),
                _ => None,
            })
            .collect()
    }

    /// A folder holds each edit that was reported as done once, in the order asked; what else it holds
    /// of this attempt is of calls that were reported as stopped.
    fn check_work(&self, agent: &AgentId) -> Result<(), String> {
        let mut done = Vec::new();
        let mut stopped = BTreeSet::new();
        for (mark, status) in self.edits(agent) {
            match status {
                ToolStatus::Ok => done.push(mark),
                ToolStatus::Error => {
                    stopped.insert(format!("{mark}~"));
                    stopped.insert(mark);
                }
            }
        }
        let own = format!("{{\"at\":\"{agent}.");
        let found: Vec<String> = self
            .world
            .folder(agent)
            .into_iter()
            .filter(|mark| mark.starts_with(&own) && !stopped.contains(mark))
            .collect();
        if found == done {
            Ok(())
        } else {
            Err(format!(
                "{agent}: its folder has {found:?}, it did {done:?}"
            ))
        }
    }

    /// The calls of an attempt that change its folder, in the order asked, with their outcome.
    fn edits(&self, agent: &AgentId) -> Vec<(String, ToolStatus)> {
        let history = self.history(agent);
        let mut outcomes = BTreeMap::new();
        let mut asked = Vec::new();
        for record in history {
            match record {
                engine_core::record::AgentRecord::ModelResponded(r) => {
                    let answer: Answer = r.answer.read().expect("an answer was recorded");
                    asked.extend(answer.calls().cloned());
                }
                engine_core::record::AgentRecord::ToolFinished(r) => {
                    outcomes.insert(r.call, r.status);
                }
                _ => {}
            }
        }
        asked
            .iter()
            .filter(|call| matches!(call.name.as_str(), "edit" | "run"))
            .filter_map(|call| Some((mark_of(call), *outcomes.get(&call.id)?)))
            .collect()
    }
}
