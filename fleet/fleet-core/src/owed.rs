//! The present: what must be happening now, derived from the state alone. After a crash this *is* the
//! recovery. Never starts anything.

use crate::record::CheckStage;
use crate::state::{FleetState, Phase, RunStatus, TaskIx};
use engine_core::ids::AttemptNo;

/// Something outside the ledger that has to happen. Its outcome comes back as an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Effect {
    /// For which task.
    pub task: TaskIx,
    /// For which attempt at it.
    pub attempt: AttemptNo,
    /// What.
    pub kind: EffectKind,
}

/// What has to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Make the attempt's folder and branch, or find them again.
    PrepareWorkspace,
    /// Run the agent from its last durable step.
    RunAgent,
    /// Make the attempt's work a commit.
    Commit,
    /// Run a check in a clean checkout.
    RunCheck {
        /// On which tree.
        stage: CheckStage,
        /// Which, from 0.
        index: u32,
    },
    /// Merge the commit with what has landed, without moving anything.
    PrepareLanding,
    /// Move the integration branch.
    Land,
}

impl FleetState {
    /// What must be happening for one task.
    #[must_use]
    pub fn owed_to(&self, ix: TaskIx) -> Option<Effect> {
        let task = self.task(ix);
        let kind = match &task.phase {
            Phase::Preparing => EffectKind::PrepareWorkspace,
            Phase::Working => EffectKind::RunAgent,
            Phase::Committing => EffectKind::Commit,
            Phase::Checking { stage, index } => EffectKind::RunCheck {
                stage: *stage,
                index: *index,
            },
            Phase::Landing if self.landing.front() == Some(&ix) => EffectKind::PrepareLanding,
            Phase::Moving => EffectKind::Land,
            Phase::Landing
            | Phase::Waiting { .. }
            | Phase::Ready
            | Phase::Interrupted
            | Phase::WantsReview
            | Phase::InReview { .. }
            | Phase::Closing(_)
            | Phase::Ended(_) => return None,
        };
        Some(Effect {
            task: ix,
            attempt: task.attempt_no(),
            kind,
        })
    }

    /// Everything that must be happening now, in the order of the tasks.
    pub fn owed(&self) -> impl Iterator<Item = Effect> {
        let ended = self
            .run
            .as_ref()
            .is_none_or(|run| run.status != RunStatus::Open);
        self.active
            .iter()
            .filter(move |_| !ended)
            .filter_map(|ix| self.owed_to(*ix))
    }
}
