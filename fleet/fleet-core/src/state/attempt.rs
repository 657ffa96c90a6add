//! Attempts, checks and landings in the fold: which phase follows which record. Never decides
//! whether something starts: that is in `decide`.

use super::task::{Attempt, ChangeSize, Finding, FindingSource, Landing, Phase, TaskIx};
use super::{FleetState, Urgency};
use crate::record::{
    AttemptEnd, AttemptFinished, AttemptStarted, CheckFinished, CheckStage, EndState,
    LandingPrepared, Record, WorkCommitted, WorkLanded,
};
use crate::spec::Site;
use crate::time::Stamp;
use engine_core::content::Content;

impl FleetState {
    pub(super) fn apply_to_attempt(&mut self, stamp: Stamp, record: &Record) {
        let Some((ix, _)) = record.task().and_then(|task| self.find(task)) else {
            return;
        };
        match record {
            Record::AttemptStarted(r) => self.on_attempt_started(stamp, ix, r),
            Record::AttemptResumed(_) => self.occupy(ix),
            Record::WorkspaceReady(r) => {
                self.with_attempt(ix, |attempt| {
                    attempt.path = Some(r.path.clone());
                    attempt.branch.clone_from(&r.branch);
                });
                self.set_phase(ix, Phase::Working);
            }
            Record::AttemptFinished(r) => {
                self.with_attempt(ix, |attempt| attempt.finished_at = Some(stamp.at));
                self.on_attempt_finished(ix, r);
            }
            Record::WorkCommitted(r) => self.on_committed(ix, r),
            Record::WorkUnchanged(r) => self.on_unchanged(ix, r),
            Record::CheckFinished(r) => self.on_check_finished(ix, r),
            Record::LandingPrepared(r) => self.on_landing_prepared(ix, r),
            Record::LandingConflicted(r) => self.on_landing_conflicted(ix, r),
            Record::WorkLanded(r) => self.on_landed(ix, r),
            other => self.apply_agent_record(ix, other),
        }
    }

    fn occupy(&mut self, ix: TaskIx) {
        let role = self.tasks[ix.at()].spec.role.clone();
        self.ready.remove(&role, ix);
        self.ready.occupy(&role);
        self.set_phase(ix, Phase::Preparing);
    }

    fn on_attempt_started(&mut self, stamp: Stamp, ix: TaskIx, record: &AttemptStarted) {
        let task = &mut self.tasks[ix.at()];
        task.started_at.get_or_insert(stamp.at);
        task.next_from = None;
        let told = task.told.len();
        task.attempt = Some(Attempt {
            told_before: told,
            heard: told,
            no: record.attempt,
            base: record.base.clone(),
            start: record.start.clone(),
            path: None,
            branch: None,
            snapshot: None,
            open_request: None,
            observed: None,
            steps: 0,
            activity: None,
            finished_at: None,
            verdict: None,
            commit: None,
            unchanged: false,
            change: None,
            landing: None,
        });
        self.occupy(ix);
    }

    fn on_attempt_finished(&mut self, ix: TaskIx, record: &AttemptFinished) {
        let role = self.tasks[ix.at()].spec.role.clone();
        self.ready.free(&role);
        // An agent that was stopped between request and answer: it may have been paid.
        self.settle_request(ix, None);
        match &record.end {
            AttemptEnd::Finished { text } => {
                self.tasks[ix.at()].result = Some(text.clone());
                let here = self
                    .run
                    .as_ref()
                    .is_some_and(|r| r.plan.workspace.site == Site::Here);
                if self.tasks[ix.at()].writes() && !here {
                    self.set_phase(ix, Phase::Committing);
                } else {
                    self.close(ix, EndState::Settled, None, None);
                }
            }
            AttemptEnd::Verdict { .. } => {
                let task = &mut self.tasks[ix.at()];
                task.result = task
                    .attempt
                    .as_ref()
                    .and_then(|attempt| attempt.verdict.as_ref())
                    .map(|(_, findings)| findings.clone());
                self.close(ix, EndState::Settled, None, None);
            }
            AttemptEnd::Failed { kind, message } => {
                let text = Content::from(format!("{kind}: {message}"));
                self.fail_attempt(
                    ix,
                    FindingSource::Failure,
                    text,
                    &format!("{kind}: {message}"),
                );
            }
            AttemptEnd::Refused { message } => {
                let task = &mut self.tasks[ix.at()];
                task.findings.push(Finding {
                    attempt: record.attempt,
                    source: FindingSource::Failure,
                    text: Content::from(message.clone()),
                });
                self.close(ix, EndState::Failed, Some(message.clone()), None);
            }
            AttemptEnd::Interrupted => self.make_ready(ix, Urgency::Resume),
            AttemptEnd::Provider { message } => {
                if let Some(run) = &mut self.run
                    && let Some(spec) = run.plan.roles.get(&role)
                {
                    let provider = spec.model.provider.clone();
                    run.providers_down
                        .entry(provider)
                        .or_insert_with(|| message.clone());
                }
                self.make_ready(ix, Urgency::Resume);
            }
            AttemptEnd::Budget { message } => {
                self.close(ix, EndState::Budget, Some(message.clone()), None);
            }
        }
    }

    fn on_committed(&mut self, ix: TaskIx, record: &WorkCommitted) {
        self.with_attempt(ix, |attempt| {
            attempt.commit = Some((record.commit.clone(), record.tree.clone()));
            attempt.change = Some(ChangeSize {
                files: record.files,
                insertions: record.insertions,
                deletions: record.deletions,
            });
        });
        if record.unresolved.is_empty() {
            self.begin_own_checks(ix);
        } else {
            let reason = format!(
                "marks of the conflict are left in {}",
                record.unresolved.join(", ")
            );
            let text = Content::from(reason.clone());
            self.fail_attempt(ix, FindingSource::Failure, text, &reason);
        }
    }

    pub(super) fn begin_own_checks(&mut self, ix: TaskIx) {
        if self.tasks[ix.at()].spec.check.is_empty() {
            self.after_own_checks(ix);
        } else {
            self.set_phase(
                ix,
                Phase::Checking {
                    stage: CheckStage::Own,
                    index: 0,
                },
            );
        }
    }

    fn on_check_finished(&mut self, ix: TaskIx, record: &CheckFinished) {
        if record.exit == Some(0) {
            let next = record.index + 1;
            let stage = record.stage;
            if (next as usize) < self.tasks[ix.at()].spec.check.len() {
                self.set_phase(ix, Phase::Checking { stage, index: next });
            } else if stage == CheckStage::Own {
                self.after_own_checks(ix);
            } else {
                self.set_phase(ix, Phase::Moving);
            }
            return;
        }
        let how = record.exit.map_or_else(
            || "did not end in time".to_owned(),
            |code| format!("exited {code}"),
        );
        let on = match record.stage {
            CheckStage::Own => "",
            CheckStage::Merged => " on the merged tree",
        };
        let reason = format!("check `{}` {how}{on}", record.command);
        let source = FindingSource::Check {
            command: record.command.clone(),
            exit: record.exit,
            stage: record.stage,
        };
        self.fail_attempt(ix, source, record.output.clone(), &reason);
    }

    /// Own checks passed, or there are none: review, land, or end where nothing was changed.
    fn after_own_checks(&mut self, ix: TaskIx) {
        let task = &self.tasks[ix.at()];
        let changed = task.attempt.as_ref().is_some_and(|attempt| {
            attempt.commit.as_ref().map(|(commit, _)| commit) != attempt.base.as_ref()
        });
        if task
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.unchanged)
        {
            self.after_unchanged(ix);
        } else if !changed {
            // A ledger of an older version, which said of this only that the base was committed.
            let state = if task.spec.check.is_empty() || task.spec.review.is_some() {
                EndState::Settled
            } else {
                EndState::Verified
            };
            self.close(ix, state, Some("nothing was changed".to_owned()), None);
        } else if task.spec.review.is_some() {
            self.set_phase(ix, Phase::WantsReview);
        } else {
            self.enter_landing(ix);
        }
    }

    fn on_landing_prepared(&mut self, ix: TaskIx, record: &LandingPrepared) {
        self.with_attempt(ix, |attempt| {
            attempt.landing = Some(Landing {
                onto: record.onto.clone(),
                commit: record.commit.clone(),
            });
        });
        if record.merged && !self.tasks[ix.at()].spec.check.is_empty() {
            self.set_phase(
                ix,
                Phase::Checking {
                    stage: CheckStage::Merged,
                    index: 0,
                },
            );
        } else {
            self.set_phase(ix, Phase::Moving);
        }
    }

    fn on_landed(&mut self, ix: TaskIx, record: &WorkLanded) {
        self.landing.retain(|waiting| *waiting != ix);
        if let Some(run) = &mut self.run {
            run.head = Some(record.commit.clone());
        }
        self.close(ix, EndState::Landed, None, None);
    }

    /// The attempt was not good enough: the next one starts from what it left, or the task is over.
    pub(super) fn fail_attempt(
        &mut self,
        ix: TaskIx,
        source: FindingSource,
        text: Content,
        reason: &str,
    ) {
        self.landing.retain(|waiting| *waiting != ix);
        let allowed = self.run.as_ref().map_or(1, |run| run.plan.limits.attempts);
        let task = &mut self.tasks[ix.at()];
        let Some(attempt) = &task.attempt else {
            return;
        };
        let own = attempt
            .commit
            .as_ref()
            .or(attempt.snapshot.as_ref())
            .map(|(commit, _)| commit)
            // It changed nothing: what it began with still counts.
            .or(attempt.start.as_ref());
        task.next_from = match (&source, &attempt.landing, own, &attempt.base) {
            (FindingSource::Conflict { onto, marked, .. }, ..) => {
                Some((onto.clone(), marked.clone()))
            }
            // It left nothing to go on from.
            (FindingSource::Unchanged, ..) => None,
            (_, Some(landing), _, _) => Some((landing.onto.clone(), landing.commit.clone())),
            (_, None, Some(own), Some(base)) if task.access != engine_core::tool::Access::Read => {
                Some((base.clone(), own.clone()))
            }
            _ => None,
        };
        let no = attempt.no;
        let end = match source {
            FindingSource::Conflict { .. } => EndState::Conflict,
            _ => EndState::Failed,
        };
        task.findings.push(Finding {
            attempt: no,
            source,
            text,
        });
        if task.attempts_counted() < allowed {
            self.make_ready(ix, Urgency::Retry);
        } else {
            self.close(ix, end, Some(reason.to_owned()), None);
        }
    }
}
