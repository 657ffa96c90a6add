//! A person who asks things of the run: of its manager, and of the ledger while nobody is at work on it.
//! Never asks for what the program refuses without looking.

use crate::manager::Sim;
use engine_core::ids::TaskId;
use fleet_core::decide::{Decline, Input, Reply, Wish};
use fleet_core::record::Record;
use fleet_core::state::{Phase, RunStatus, Task};

impl Sim {
    /// A person asks the manager, which takes nothing once it has stated the end of the run.
    pub(crate) fn wish(&mut self) -> Result<(), String> {
        if self.state.run().map(|run| &run.status) != Some(&RunStatus::Open) {
            return Ok(());
        }
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
        let wish = self.some_wish(&task);
        let before = task_of(self, &task)?;
        let reply = self.input(Input::Wish(wish.clone()))?;
        let after = task_of(self, &task)?;
        if fits(&wish, &before, &after, &reply) {
            return Ok(());
        }
        Err(format!(
            "{wish:?}, from {:?} to {:?}, is answered by {reply:?}",
            before.phase, after.phase
        ))
    }

    /// How often a task was to be tried again.
    pub(crate) fn retries(&self, task: &TaskId) -> u32 {
        let records = self.disk.lines().iter().flat_map(|line| &line.records);
        let of_task =
            records.filter(|record| matches!(record, Record::TaskRetried(r) if r.task == *task));
        u32::try_from(of_task.count()).unwrap_or(u32::MAX)
    }

    fn some_wish(&mut self, task: &TaskId) -> Wish {
        let task = task.clone();
        match self.random.below(4) {
            0 => Wish::Cancel { task },
            1 => Wish::Retry {
                task,
                instructions: self.random.chance(50).then(|| "again".to_owned()),
            },
            2 => Wish::RetryFailed,
            _ => Wish::Tell {
                task,
                text: "mind this".to_owned(),
            },
        }
    }
}

fn task_of(sim: &Sim, task: &TaskId) -> Result<Task, String> {
    let (_, task) = sim.state.find(task).ok_or("the task is gone")?;
    Ok(task.clone())
}

/// Whether a task may stand so after such an answer.
fn fits(wish: &Wish, before: &Task, after: &Task, reply: &Reply) -> bool {
    let is_over = |task: &Task| matches!(task.phase, Phase::Ended(_) | Phase::Closing(_));
    match (wish, reply) {
        (Wish::Cancel { .. }, Reply::Accepted) => after.is_ended() && !before.is_ended(),
        (Wish::Retry { .. }, Reply::Accepted) => {
            before.is_ended() && !before.succeeded() && !after.is_ended()
        }
        (Wish::Tell { .. }, Reply::Accepted) => after.told.len() == before.told.len() + 1,
        (Wish::RetryFailed, Reply::Accepted | Reply::Declined(Decline::NothingFailed)) => true,
        (_, Reply::Declined(Decline::Landing(_))) => before.phase == Phase::Moving,
        (_, Reply::Declined(Decline::Ended { .. })) => is_over(before),
        (_, Reply::Declined(Decline::NotEnded { .. })) => !before.is_ended(),
        (_, Reply::Declined(Decline::Review { .. })) => before.review_of.is_some(),
        (_, Reply::Declined(Decline::Judged(_))) => !is_over(before),
        _ => false,
    }
}
