//! The part of the turn machine that makes room: when a conversation is about to outgrow its model, or
//! was refused as too large, it is made smaller, and no body that was refused is sent again.
//!
//! The cheapest way comes first: results and arguments of older calls are cut. Where that is not
//! enough, the model itself is asked for a summary; where it gives none, a list of what was done
//! stands in its place. Never parts a call from its result.

use super::io::TurnEffect;
use super::{Phase, Turn};
use crate::context::{
    Bite, GOAL_PERCENT, LOW_GOAL_PERCENT, Left, MAX_EFFORTS, Plan, SUMMARY_MAX_BYTES,
    WANTS_SUMMARY, bytes_of, plan, shorten_text, squeeze, whole,
};
use crate::message::{Answer, Message};
use crate::outcome::FailureKind;
use crate::record::{AgentRecord, ContextCompacted, Older, SummaryBy};
use crate::request::Purpose;
use crate::transcript::Stage;

impl Turn {
    /// Makes room before a request that would not leave enough of it. `None`: the request may be
    /// formed, perhaps over a conversation that is smaller now.
    pub(super) fn make_room(&mut self) -> Option<Vec<TurnEffect>> {
        let transcript = &self.transcript;
        let told: usize = self.told.iter().map(String::len).sum();
        let bytes = bytes_of(transcript.messages()) + told as u64;
        let tried = transcript.efforts() + transcript.compactions() > 0;
        if tried || !self.rules.window.is_full(bytes, transcript.sizes()) {
            return None;
        }
        self.compact(self.plan())
    }

    /// The last request was too large: the next one is smaller, or there is none.
    pub(super) fn relieve(&mut self, message: &str) -> Vec<TurnEffect> {
        let planned = self.plan();
        if planned.is_none() || self.transcript.efforts() >= MAX_EFFORTS {
            let message = match self.transcript.efforts() {
                0 | 1 => message.to_owned(),
                _ => format!("{message} (also when the conversation had been made smaller)"),
            };
            return self.fail(FailureKind::ContextTooLarge, message);
        }
        self.compact(planned).unwrap_or_else(|| self.ask(None))
    }

    fn goal(&self) -> u64 {
        let transcript = &self.transcript;
        let percent = match transcript.efforts() {
            0 | 1 => GOAL_PERCENT,
            _ => LOW_GOAL_PERCENT,
        };
        let bytes = bytes_of(transcript.messages());
        self.rules.window.goal(bytes, transcript.sizes(), percent)
    }

    fn plan(&self) -> Option<Plan> {
        let transcript = &self.transcript;
        plan(transcript.opening(), transcript.messages(), self.goal())
    }

    /// Carries a plan out: at once, or by asking for a summary.
    fn compact(&mut self, planned: Option<Plan>) -> Option<Vec<TurnEffect>> {
        match planned? {
            Plan::Take(bite) => {
                self.note_compacted(bite, SummaryBy::Fleet);
                None
            }
            Plan::Summarise { .. } if !self.may_ask_for_summary() => {
                self.compact_alone();
                None
            }
            Plan::Summarise { .. } => {
                self.draft = Some(self.draft());
                self.phase = Phase::Admitting;
                let step = self.transcript.next_step();
                let max_output = self.rules.window.summary_output();
                Some(self.then(TurnEffect::Admit {
                    step,
                    told: Vec::new(),
                    purpose: Purpose::Compaction,
                    max_output,
                }))
            }
        }
    }

    /// A summary is worth asking for only when a request with it can still follow.
    fn may_ask_for_summary(&self) -> bool {
        let left = self.rules.steps.saturating_sub(self.transcript.requests());
        left >= 2 && self.transcript.efforts() + 1 < MAX_EFFORTS
    }

    /// What is sent to get a summary: the conversation as it is, so that the provider's cache of it
    /// serves once more; or a smaller one, where that would not fit.
    fn draft(&self) -> Vec<Message> {
        let transcript = &self.transcript;
        let bytes = bytes_of(transcript.messages()) + WANTS_SUMMARY.len() as u64;
        let fits = self.rules.window.fits(bytes, transcript.sizes());
        let mut draft = if fits {
            transcript.messages().to_vec()
        } else {
            squeeze(transcript.opening(), transcript.messages(), self.goal())
        };
        match draft.last_mut() {
            Some(Message::User { text }) => {
                text.push_str("\n\n");
                text.push_str(WANTS_SUMMARY);
            }
            _ => draft.push(Message::User {
                text: WANTS_SUMMARY.to_owned(),
            }),
        }
        draft
    }

    /// The request for a summary was admitted: it is about to be sent.
    pub(super) fn summary_admitted(&mut self) {
        if self.draft.is_some() {
            let step = self.transcript.next_step();
            self.transcript
                .summary_requested(step)
                .expect("asked only when it is the model's turn");
        }
    }

    /// The model's summary takes the place of what it summarises.
    pub(super) fn summarised(&mut self, answer: &Answer) {
        self.draft = None;
        let text = answer.text();
        let planned = self.plan();
        match planned {
            Some(Plan::Summarise { kept, kept_max }) if !text.trim().is_empty() => {
                let max =
                    SUMMARY_MAX_BYTES.min(usize::try_from(self.goal() / 4).unwrap_or(usize::MAX));
                let left = Left::Summary(shorten_text(&text, max));
                let bite = Bite {
                    kept,
                    kept_max,
                    left,
                };
                self.note_compacted(bite, SummaryBy::Model);
            }
            _ => self.compact_alone(),
        }
    }

    /// Makes the conversation smaller without the model: it gave no summary, or cannot be asked.
    pub(super) fn compact_alone(&mut self) {
        self.draft = None;
        let transcript = &self.transcript;
        let (opening, messages) = (transcript.opening(), transcript.messages());
        let bite = match self.plan() {
            None => return,
            Some(Plan::Take(bite)) => bite,
            Some(Plan::Summarise { kept, kept_max }) => {
                whole(opening, messages, (kept, kept_max), self.goal())
            }
        };
        self.note_compacted(bite, SummaryBy::Fleet);
    }

    fn note_compacted(&mut self, bite: Bite, by: SummaryBy) {
        let transcript = &self.transcript;
        let agent = transcript.agent();
        let messages = transcript.messages();
        let (_, after) = bite.take(transcript.opening(), messages);
        let record = ContextCompacted {
            task: agent.task.clone(),
            attempt: agent.attempt,
            kept: bite.kept,
            kept_max: bite.kept_max,
            older: match bite.left {
                Left::Cut(max) => Older::Cut { max },
                Left::Summary(summary) => Older::Replaced {
                    summary: summary.into(),
                    by,
                },
            },
            before: bytes_of(messages),
            after: bytes_of(&after),
        };
        self.note(AgentRecord::ContextCompacted(record));
    }

    /// True while the request under way is one for a summary.
    pub(super) fn is_summing(&self) -> bool {
        matches!(self.transcript.stage(), Stage::Summing { .. })
    }
}
