//! Records of an agent, folded into its attempt: tokens, steps, snapshots, verdicts. Never its talk:
//! transcripts are read back from the ledger.

use super::FleetState;
use super::task::{Attempt, OpenRequest, TaskIx};
use crate::budget::Observed;
use crate::ids::{CommitId, TreeId};
use crate::record::Record;
use engine_core::ids::Tokens;
use engine_core::message::Usage;
use engine_core::record::Billed;

impl FleetState {
    pub(super) fn apply_agent_record(&mut self, ix: TaskIx, record: &Record) {
        match record {
            Record::ModelRequested(r) => {
                self.note_heard(ix, &r.told);
                self.account.reserve(r.reserved);
                self.tasks[ix.at()].account.reserve(r.reserved);
                self.with_attempt(ix, |attempt| {
                    attempt.steps += 1;
                    attempt.open_request = Some(OpenRequest {
                        step: r.step,
                        reserved: r.reserved,
                        bytes: r.bytes,
                    });
                });
            }
            Record::ModelResponded(r) => self.settle_request(ix, r.usage),
            Record::ModelFailed(r) => match r.billed {
                Billed::Reservation => self.settle_request(ix, None),
                Billed::Nothing => {
                    let reserved = self.take_open(ix).map_or(Tokens(0), |open| open.reserved);
                    self.account.release(reserved);
                    self.tasks[ix.at()].account.release(reserved);
                }
            },
            // What was measured before says nothing of a conversation with other messages.
            Record::ContextCompacted(_) => self.with_attempt(ix, |attempt| {
                attempt.observed = None;
                attempt.activity = Some("made its conversation smaller".to_owned());
            }),
            Record::ToolStarted(r) => {
                let line = if r.summary.is_empty() {
                    r.tool.clone()
                } else {
                    format!("{} {}", r.tool, r.summary)
                };
                self.with_attempt(ix, |attempt| attempt.activity = Some(line));
            }
            Record::WorkspaceSnapshotted(r) => self.with_attempt(ix, |attempt| {
                attempt.snapshot = Some((CommitId(r.commit.clone()), TreeId(r.tree.clone())));
            }),
            Record::ReviewGiven(r) => self.with_attempt(ix, |attempt| {
                attempt.verdict = Some((r.verdict, r.findings.clone()));
            }),
            _ => {}
        }
    }

    pub(super) fn settle_request(&mut self, ix: TaskIx, usage: Option<Usage>) {
        let Some(open) = self.take_open(ix) else {
            return;
        };
        self.account.settle(open.reserved, usage);
        self.tasks[ix.at()].account.settle(open.reserved, usage);
        if let Some(usage) = usage {
            self.with_attempt(ix, |attempt| {
                attempt.observed = Some(Observed {
                    bytes: open.bytes,
                    input: usage.input,
                });
            });
        }
    }

    fn take_open(&mut self, ix: TaskIx) -> Option<OpenRequest> {
        self.tasks[ix.at()]
            .attempt
            .as_mut()
            .and_then(|attempt| attempt.open_request.take())
    }

    pub(super) fn with_attempt(&mut self, ix: TaskIx, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = &mut self.tasks[ix.at()].attempt {
            change(attempt);
        }
    }
}
