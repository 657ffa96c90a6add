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
