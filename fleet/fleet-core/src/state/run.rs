//! The run as a whole in the fold. Never of a single task's inside.

use super::task::TaskIx;
use super::{FleetState, Urgency};
use crate::ids::{BranchName, CommitId, RunId};
use crate::record::{RunEnded, RunLanded, RunOpened, RunRejected};
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
    /// The person's branch that stood there.
    pub base_branch: Option<BranchName>,
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
    /// Where the person last took its work.
    pub taken: Option<Taken>,
    /// Set when the person does not want its work: why, or an empty text.
    pub rejected: Option<String>,
}

/// Work of a run on a branch of the person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Their branch.
    pub branch: BranchName,
    /// The commit that brought it.
    pub commit: CommitId,
    /// The head of the work that was taken.
    pub head: CommitId,
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
            base_branch: record.base_branch.clone(),
            integration: record.integration.clone(),
            head: record.base.clone(),
            seed: record.seed,
            plan: record.plan.clone(),
            task_count: record.task_count,
            status: RunStatus::Open,
            opened_at: stamp.at,
            resumed_at: stamp.at,
            providers_down: BTreeMap::new(),
            taken: None,
            rejected: None,
        });
    }

    /// A new manager: what the old one had under way is interrupted, whatever it did not get to say.
    pub(super) fn on_resumed(&mut self, stamp: Stamp) {
        if let Some(run) = &mut self.run {
            run.resumed_at = stamp.at;
            run.status = RunStatus::Open;
            run.providers_down.clear();
            // Whoever goes on with a run wants its work after all.
            run.rejected = None;
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

    pub(super) fn on_run_landed(&mut self, record: &RunLanded) {
        if let Some(run) = &mut self.run {
            run.rejected = None;
            run.taken = Some(Taken {
                branch: record.branch.clone(),
                commit: record.commit.clone(),
                head: record.head.clone(),
            });
        }
    }

    pub(super) fn on_run_rejected(&mut self, record: &RunRejected) {
        if let Some(run) = &mut self.run {
            run.rejected = Some(record.reason.clone().unwrap_or_default());
        }
    }

    /// True when the ledger leaves something to do.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        match self.run.as_ref().map(|run| &run.status) {
            None => false,
            Some(RunStatus::Open) => true,
            Some(RunStatus::Ended(end)) => end.outcome.is_resumable() || self.unended() > 0,
        }
    }
}
