//! A person who asks things of the run: of its manager, and of the ledger while nobody is at work on it.
//! Never asks for what the program refuses without looking.

use crate::manager::Sim;
use fleet_core::decide::{Decline, Input, Reply, Wish};
use fleet_core::state::{Phase, Task};

impl Sim {
    /// A person asks the manager.
    pub(crate) fn wish(&mut self) -> Result<(), String> {
        self.grant()?;
        self.advance()
    }

    /// A person asks while nobody is at work on the run: what follows is recorded in the manager's place.
    pub(crate) fn wish_unmanaged(&mut self) -> Result<(), String> {
        let queued = self.state.ordered() as usize;
        if queued < self.tasks.len() {
            self.input(Input::Queue(self.tasks[queued..].to_vec()))?;
        }
        self.grant()?;
        while let Some(records) = self.state.conclude() {
            self.append(records)?;
        }
        self.disk.next_epoch();
        Ok(())
    }

    /// Something is asked; it is done, or declined for the right reason.
    fn grant(&mut self) -> Result<(), String> {
        let at = self.random.below(self.state.tasks().len().max(1));
        let Some((_, task)) = self.state.tasks().nth(at) else {
            return Ok(());
        };
        let task = task.spec.id.clone();
        let reply = self.input(Input::Wish(Wish::Cancel { task: task.clone() }))?;
        let (_, after) = self.state.find(&task).ok_or("the task is gone")?;
        if fits(after, &reply) {
            return Ok(());
        }
        let stands = &after.phase;
        Err(format!(
            "cancelling `{task}`, now {stands:?}, is answered by {reply:?}"
        ))
    }
}

fn fits(after: &Task, reply: &Reply) -> bool {
    match reply {
        Reply::Accepted => after.is_ended(),
        Reply::Declined(Decline::Landing(_)) => after.phase == Phase::Moving,
        Reply::Declined(Decline::Ended { .. }) => {
            matches!(after.phase, Phase::Ended(_) | Phase::Closing(_))
        }
        _ => false,
    }
}
