//! The run as a whole in the fold. Never of a single task's inside.

use super::task::TaskIx;
use super::{FleetState, Urgency};
use crate::ids::{BranchName, CommitId, RunId};
use crate::record::{RunEnded, RunOpened};
use crate::spec::RunSpec;
use crate::time::{Stamp, Timestamp};
use std::collections::BTreeMap;

/// Who a run is and how it stands.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Version of the product that opened it.
    pub version: String,
    /// The folder it works on.
    pub repository: String,
    /// The commit it started from.
    pub base: Option<CommitId>,
    /// Where results are landed.
    pub integration: Option<BranchName>,
    /// Head of what has landed; the base at first.
    pub head: Option<CommitId>,
    /// Seed of all its randomness.
    pub seed: u64,
    /// What was ordered, without its tasks.
    pub plan: RunSpec,
    /// How many tasks were ordered.
    pub task_count: u32,
    /// How it stands.
    pub status: RunStatus,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When the newest manager took it.
    pub resumed_at: Timestamp,
    /// Providers that are taken for unusable until the next resume, and why.
    pub providers_down: BTreeMap<String, String>,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// Not ended; whether a manager lives is not in the ledger.
    Open,
    /// Ended.
    Ended(RunEnded),
}

impl FleetState {
    pub(super) fn on_opened(&mut self, stamp: Stamp, record: &RunOpened) {
        self.account.cap = record.plan.budget.tokens;
        self.run = Some(Run {
            id: record.run.clone(),
            version: record.version.clone(),
            repository: record.repository.clone(),
            base: record.base.clone(),
            integration: record.integration.clone(),
            head: record.base.clone(),
            seed: record.seed,
            plan: record.plan.clone(),
            task_count: record.task_count,
            status: RunStatus::Open,
            opened_at: stamp.at,
            resumed_at: stamp.at,
            providers_down: BTreeMap::new(),
        });
    }

    /// A new manager: what the old one had under way is interrupted, whatever it did not get to say.
    pub(super) fn on_resumed(&mut self, stamp: Stamp) {
        if let Some(run) = &mut self.run {
            run.resumed_at = stamp.at;
            run.status = RunStatus::Open;
            run.providers_down.clear();
        }
        let live: Vec<TaskIx> = self
            .tasks()
            .filter(|(_, task)| task.is_live())
            .map(|(ix, _)| ix)
            .collect();
        for ix in live {
            let role = self.task(ix).spec.role.clone();
            self.ready.free(&role);
            self.make_ready(ix, Urgency::Resume);
        }
    }

    pub(super) fn on_run_ended(&mut self, _stamp: Stamp, record: &RunEnded) {
        if let Some(run) = &mut self.run {
            run.status = RunStatus::Ended(record.clone());
        }
    }

    /// True when the ledger leaves something to do.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        match self.run.as_ref().map(|run| &run.status) {
            None => false,
            Some(RunStatus::Open) => true,
            Some(RunStatus::Ended(end)) => end.outcome.is_resumable(),
        }
    }
}
