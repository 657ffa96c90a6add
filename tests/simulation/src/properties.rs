//! What must hold of every run: always, and at its end. Never changes anything.

use crate::manager::Sim;
use engine_core::ids::Tokens;
use fleet_core::record::Record;
use std::collections::BTreeSet;

impl Sim {
    pub(crate) fn check_always(&self) -> Result<(), String> {
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
        for (name, role) in &run.plan.roles {
            let live = self
                .state
                .tasks()
                .filter(|(_, task)| task.is_live() && task.spec.role == *name);
            let live = u32::try_from(live.count()).unwrap_or(u32::MAX);
            if role.agents.is_some_and(|cap| live > cap) {
                return Err(format!("{live} agents of role {name} live"));
            }
        }
        for (_, task) in self
            .state
            .tasks()
            .filter(|(_, task)| task.attempt.is_some())
        {
            let is_met = |need| {
                self.state
                    .find(need)
                    .is_some_and(|(_, needed)| needed.succeeded())
            };
            if let Some(need) = task.spec.needs.iter().find(|need| !is_met(need)) {
                return Err(format!(
                    "`{}` was started before `{need}` succeeded",
                    task.spec.id
                ));
            }
        }
        for (agent, times) in &self.world.started {
            if *times > self.managers {
                return Err(format!(
                    "{agent} was started {times} times by {} managers",
                    self.managers
                ));
            }
        }
        for ((agent, turn), times) in &self.world.asked {
            if *times > self.managers {
                return Err(format!(
                    "{agent} turn {turn} was asked {times} times with {} managers",
                    self.managers
                ));
            }
        }
        Ok(())
    }

    /// What must be true of a run that ended.
    pub(crate) fn check_end(&self) -> Result<(), String> {
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
        Ok(())
    }
}
