//! Work that comes back to its task in the fold: in conflict with what landed, or with nothing in it.
//! Never decides whether a further attempt starts.

use super::FleetState;
use super::task::{ChangeSize, FindingSource, TaskIx};
use crate::record::{EndState, LandingConflicted, WorkUnchanged};
use engine_core::content::Content;

/// What an attempt is told whose predecessor changed nothing.
const NOTHING_CHANGED: &str = "No file differs from where the task started. If the task asks for a change, make it. If none is needed, say in your last message why not.";

impl FleetState {
    /// The next attempt starts on what landed, with both sides in its files.
    pub(super) fn on_landing_conflicted(&mut self, ix: TaskIx, record: &LandingConflicted) {
        self.landing.retain(|waiting| *waiting != ix);
        let reason = format!("does not merge in {}", record.paths.join(", "));
        let Some(returned) = &record.returned else {
            self.close(ix, EndState::Conflict, Some(reason), None);
            return;
        };
        let source = FindingSource::Conflict {
            onto: record.onto.clone(),
            commit: returned.commit.clone(),
            marked: returned.marked.clone(),
        };
        self.fail_attempt(ix, source, returned.report.clone(), &reason);
    }

    /// Nothing to commit: the checks run all the same, on the tree as it is.
    pub(super) fn on_unchanged(&mut self, ix: TaskIx, record: &WorkUnchanged) {
        self.with_attempt(ix, |attempt| {
            attempt.unchanged = true;
            attempt.change = Some(ChangeSize::default());
            attempt.commit = attempt.base.clone().map(|base| (base, record.tree.clone()));
        });
        self.begin_own_checks(ix);
    }

    /// The checks passed on files that nobody changed. The agent's word alone makes that no success: a
    /// reviewer judges it; without one it is asked again, and then the checks have to do.
    pub(super) fn after_unchanged(&mut self, ix: TaskIx) {
        let allowed = self.run.as_ref().map_or(1, |run| run.plan.limits.attempts);
        let task = &self.tasks[ix.at()];
        let was_told = task.findings.iter().any(|finding| {
            finding.source == FindingSource::Unchanged && finding.attempt.0 > task.attempts_before
        });
        let is_last = was_told || task.attempts_counted() >= allowed;
        if task.spec.review.is_some() {
            self.set_phase(ix, super::Phase::WantsReview);
        } else if is_last && !task.spec.check.is_empty() {
            self.close_unchanged(ix);
        } else if was_told {
            let reason = "nothing was changed, and no check or review says that nothing is needed";
            self.close(ix, EndState::Failed, Some(reason.to_owned()), None);
        } else {
            self.fail_attempt(
                ix,
                FindingSource::Unchanged,
                Content::from(NOTHING_CHANGED),
                "nothing was changed",
            );
        }
    }

    /// Its reviewer approved: it lands, or ends where there is nothing to land.
    pub(super) fn after_approval(&mut self, ix: TaskIx) {
        let task = &self.tasks[ix.at()];
        if task
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.unchanged)
        {
            self.close_unchanged(ix);
        } else {
            self.enter_landing(ix);
        }
    }

    fn close_unchanged(&mut self, ix: TaskIx) {
        let reason = "nothing was changed".to_owned();
        self.close(ix, EndState::Verified, Some(reason), None);
    }
}
