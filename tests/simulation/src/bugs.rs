//! Where a planted bug changes what the played manager does. Without one, everything here hands on
//! what it was given. Never changes the core itself: a bug of the core is played by what the core gets
//! to read.

use crate::faults::Bug;
use crate::manager::Sim;
use engine_core::ids::Tokens;
use engine_core::record::AgentRecord;
use engine_core::tool::EffectClass;
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{AttemptEnd, Record};
use fleet_core::state::Phase;

impl Sim {
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// What is written.
    pub(crate) fn written(&self, mut records: Vec<Record>) -> Vec<Record> {
        if self.has(Bug::ForgetsLostRequests) {
            let resumed = matches!(records.first(), Some(Record::RunResumed(_)));
            records.retain(|record| !(resumed && matches!(record, Record::ModelFailed(_))));
        }
        for record in &mut records {
            match record {
                Record::ModelRequested(r) if self.has(Bug::ReservesTooLittle) => {
                    r.reserved = Tokens(r.reserved.0 / 2);
                }
                Record::CheckFinished(r) if self.has(Bug::PassesEveryCheck) => r.exit = Some(0),
                Record::AttemptFinished(r)
                    if self.has(Bug::CountsInterruptions) && r.end == AttemptEnd::Interrupted =>
                {
                    r.end = AttemptEnd::Failed {
                        kind: "interrupted".into(),
                        message: "it was stopped".into(),
                    };
                }
                _ => {}
            }
        }
        records
    }

    /// What the fold sees of a record.
    pub(crate) fn seen(&self, record: &Record) -> Record {
        let mut record = record.clone();
        match &mut record {
            Record::RunOpened(r) if self.has(Bug::ForgetsTheAgentLimit) => {
                r.plan.limits.agents += 1;
            }
            Record::WorkCommitted(r) if self.has(Bug::OverlooksMarks) => r.unresolved.clear(),
            Record::LandingConflicted(r) if self.has(Bug::DropsTheOtherSide) => {
                if let Some(returned) = &mut r.returned {
                    returned.marked = returned.commit.clone();
                }
            }
            Record::TaskQueued(r) if self.has(Bug::StartsBeforeNeeds) => r.spec.needs.clear(),
            Record::TaskQueued(r) if self.has(Bug::ForgetsReviews) => r.spec.review = None,
            _ => {}
        }
        record
    }

    /// Whether a replay reads a record at all.
    pub(crate) fn reads(&self, record: &Record) -> bool {
        !(self.has(Bug::ForgetsEnds) && matches!(record, Record::TaskEnded(_)))
    }

    /// What a resumed agent knows of what it did.
    pub(crate) fn remembered(&self, mut history: Vec<AgentRecord>) -> Vec<AgentRecord> {
        if self.has(Bug::AsksAnsweredAgain) {
            history.clear();
        }
        if self.has(Bug::ForgetsCompactions) {
            history.retain(|record| !matches!(record, AgentRecord::ContextCompacted(_)));
        }
        if self.has(Bug::RepeatsWhatReachedOutside) {
            for record in &mut history {
                if let AgentRecord::ToolStarted(r) = record
                    && r.effect == EffectClass::Reaches
                {
                    r.effect = EffectClass::Reads;
                }
            }
        }
        history
    }

    /// Whether an owed effect is taken up.
    pub(crate) fn takes_up(&self, effect: Effect) -> bool {
        let forgotten = self.has(Bug::ForgetsInterrupted)
            && effect.kind == EffectKind::PrepareWorkspace
            && self.managers > 1
            && self.state.task(effect.task).phase == Phase::Preparing
            && self
                .state
                .task(effect.task)
                .attempt
                .as_ref()
                .is_some_and(|attempt| attempt.path.is_some());
        !forgotten
    }
}
