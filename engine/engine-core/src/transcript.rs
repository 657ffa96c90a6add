//! What an agent's records add up to: its conversation and what is open in it. The fold used live
//! and in replay. Never decides what comes next: the turn machine does.

mod compacting;
#[cfg(test)]
mod tests;

use compacting::{Compacting, SummaryCost, is_overflow};

use crate::answer::{CallIds, recordable, sendable};
use crate::content::Content;
use crate::ids::{AgentId, CallId, StepNo};
use crate::message::{Answer, Arguments, Message, Stop, ToolCall, ToolResult, Usage};
use crate::record::{
    AgentRecord, ModelResponded, ToolFinished, ToolStarted, Verdict, VerdictGiven,
};
use crate::request::Purpose;
use crate::tool::EffectClass;

/// Stands for the text of a result that had none.
pub const NO_OUTPUT: &str = "(no output)";

/// What an agent's records add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    agent: AgentId,
    messages: Vec<Message>,
    requests: u32,
    turns: u32,
    stage: Stage,
    streaks: Streaks,
    ids: CallIds,
    compacting: Compacting,
}

/// What is open in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Nothing: it is the model's turn.
    ToAsk,
    /// A request has no outcome yet.
    Asked {
        /// Which.
        step: StepNo,
    },
    /// A request for a summary has no outcome yet.
    Summing {
        /// Which.
        step: StepNo,
        /// What is open apart from it.
        then: Box<Stage>,
    },
    /// Calls of the last answer have no result yet.
    Calling {
        /// All its calls, in the order asked.
        calls: Vec<OpenCall>,
        /// Why that answer ended.
        stop: Stop,
    },
    /// The last answer held no call.
    Answered {
        /// Its text; empty when it had none.
        text: String,
        /// Why it ended.
        stop: Stop,
    },
    /// The provider withheld the rest of an answer that held calls.
    Withheld,
    /// The last request was too large for the model's window.
    Overflowed {
        /// The provider's words.
        message: String,
    },
    /// A verdict was given: nothing follows.
    Judged {
        /// The verdict.
        verdict: Verdict,
        /// Its findings.
        findings: String,
    },
}

impl Stage {
    fn name(&self) -> &'static str {
        match self {
            Self::ToAsk => "the model is to be asked",
            Self::Asked { .. } => "a request is open",
            Self::Summing { .. } => "a summary is asked for",
            Self::Calling { .. } => "calls are open",
            Self::Answered { .. } => "an answer without calls was given",
            Self::Withheld => "an answer was withheld",
            Self::Overflowed { .. } => "the conversation is too large",
            Self::Judged { .. } => "a verdict was given",
        }
    }
}

/// A call of the last answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// The call as the model asked for it, its id made unique.
    pub call: ToolCall,
    /// How far it has come.
    pub state: CallState,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallState {
    /// Nothing was done.
    Asked,
    /// It is about to run, runs, or ran when the process died.
    Started(EffectClass),
    /// It has its result.
    Finished(ToolResult),
}

/// How often in a row the model did what leads nowhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Streaks {
    /// Answers cut by the output limit.
    pub cut: u32,
    /// Answers with arguments that are no JSON object.
    pub invalid: u32,
    /// Answers with neither text nor call.
    pub empty: u32,
    /// Complete answers without a call; not reset by what follows.
    pub without_calls: u32,
}

/// Why a record cannot follow the ones before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalRecord {
    /// It is of another attempt.
    #[error("a record of {found} among those of {expected}")]
    Foreign {
        /// Whose transcript this is.
        expected: AgentId,
        /// Whose record it is.
        found: AgentId,
    },
    /// It does not fit what is open.
    #[error("`{record}` while {stage}")]
    OutOfPlace {
        /// Type of the record.
        record: &'static str,
        /// What is open.
        stage: &'static str,
    },
    /// Its step is not the one that is due.
    #[error("`{record}` of step {found} where step {expected} is due")]
    WrongStep {
        /// Type of the record.
        record: &'static str,
        /// The step that is due.
        expected: u32,
        /// The step it names.
        found: u32,
    },
    /// It names a call that is not open.
    #[error("`{record}` of call `{call}`, which is not open")]
    NotOpen {
        /// Type of the record.
        record: &'static str,
        /// The call.
        call: CallId,
    },
    /// Its content lies in a blob that was not read in.
    #[error("the content of `{record}` was not read in")]
    NotInlined {
        /// Type of the record.
        record: &'static str,
    },
    /// Its answer cannot be read.
    #[error("the answer to step {step} cannot be read: {reason}")]
    Unreadable {
        /// The step.
        step: u32,
        /// What is wrong with it.
        reason: String,
    },
}

impl Transcript {
    /// An attempt of which nothing is recorded.
    #[must_use]
    pub fn new(agent: AgentId) -> Self {
        Self {
            agent,
            messages: Vec::new(),
            requests: 0,
            turns: 0,
            stage: Stage::ToAsk,
            streaks: Streaks::default(),
            ids: CallIds::default(),
            compacting: Compacting::default(),
        }
    }

    /// Replays records; their contents must have been read in from the blobs.
    ///
    /// # Errors
    /// The first record that cannot follow the ones before it.
    pub fn replay(agent: AgentId, records: &[AgentRecord]) -> Result<Self, IllegalRecord> {
        let mut transcript = Self::new(agent);
        for record in records {
            transcript.apply(record)?;
        }
        Ok(transcript)
    }

    /// Whose it is.
    #[must_use]
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// The conversation. Valid to be sent when it is the model's turn and it was told something.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Requests made so far, lost and failed ones included.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Which turn of the conversation is asked for next, from 1: its answers so far and one more,
    /// whether they still stand in it or not.
    #[must_use]
    pub fn next_turn(&self) -> u32 {
        self.turns.saturating_add(1)
    }

    /// What is open.
    #[must_use]
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// How often in a row the model did what leads nowhere.
    #[must_use]
    pub fn streaks(&self) -> Streaks {
        self.streaks
    }

    /// The step of the next request.
    #[must_use]
    pub fn next_step(&self) -> StepNo {
        StepNo(self.requests.saturating_add(1))
    }

    /// Takes in one more record.
    ///
    /// # Errors
    /// When it cannot follow the ones before it; nothing has changed then.
    pub fn apply(&mut self, record: &AgentRecord) -> Result<(), IllegalRecord> {
        let found = record.agent();
        if found != self.agent {
            let expected = self.agent.clone();
            return Err(IllegalRecord::Foreign { expected, found });
        }
        match record {
            AgentRecord::ModelRequested(r) => {
                let told = texts("model.requested", &r.told)?;
                match r.purpose {
                    Purpose::Work => self.requested(r.step, &told),
                    Purpose::Compaction => self.summary_requested(r.step),
                }
            }
            AgentRecord::ModelResponded(r) => self.apply_responded(r),
            AgentRecord::ModelFailed(r) => self.failed(r.step, &r.kind, &r.message),
            AgentRecord::ToolStarted(r) => self.started(r),
            AgentRecord::ToolFinished(r) => self.finished(r),
            AgentRecord::WorkspaceSnapshotted(_) => Ok(()),
            AgentRecord::ContextCompacted(r) => self.compacted(r),
            AgentRecord::VerdictGiven(r) => self.judged(r),
        }
    }

    /// A request was made; an open one before it counts as lost.
    pub(crate) fn requested(&mut self, step: StepNo, told: &[&str]) -> Result<(), IllegalRecord> {
        match self.beneath() {
            Stage::ToAsk | Stage::Asked { .. } | Stage::Answered { .. } => {}
            _ => return Err(self.out_of_place("model.requested")),
        }
        expect_step("model.requested", self.next_step(), step)?;
        self.requests = step.0;
        for text in told {
            self.tell(text);
        }
        self.measure();
        self.stage = Stage::Asked { step };
        Ok(())
    }

    /// Texts in a row become one message: providers want the roles to alternate.
    fn tell(&mut self, more: &str) {
        if more.trim().is_empty() || self.tell_opening(more) {
            return;
        }
        if let Some(Message::User { text }) = self.messages.last_mut() {
            text.push_str("\n\n");
            text.push_str(more);
        } else {
            self.messages.push(Message::User {
                text: more.to_owned(),
            });
        }
    }

    fn apply_responded(&mut self, record: &ModelResponded) -> Result<(), IllegalRecord> {
        self.expect_asked("model.responded", record.step)?;
        let answer = record.answer.read::<Answer>().map_err(|error| {
            if record.answer.as_blob().is_some() {
                let record = "model.responded";
                return IllegalRecord::NotInlined { record };
            }
            IllegalRecord::Unreadable {
                step: record.step.0,
                reason: error.to_string(),
            }
        })?;
        self.responded(record.step, answer, record.usage)
            .map(|_| ())
    }

    /// The open request was answered. Returns the answer as it is to be recorded.
    pub(crate) fn responded(
        &mut self,
        step: StepNo,
        answer: Answer,
        usage: Option<Usage>,
    ) -> Result<Answer, IllegalRecord> {
        self.expect_asked("model.responded", step)?;
        let answer = recordable(answer, &mut self.ids);
        if let Stage::Summing { .. } = self.stage {
            self.end_summing(SummaryCost::Effort);
            return Ok(answer);
        }
        self.compacting.answered(usage);
        let calls: Vec<OpenCall> = answer
            .calls()
            .map(|call| OpenCall {
                call: call.clone(),
                state: CallState::Asked,
            })
            .collect();
        self.streaks.count(&answer);
        if let Some(sendable) = sendable(&answer) {
            self.messages.push(Message::Model(sendable));
            self.turns = self.turns.saturating_add(1);
        }
        self.stage = if calls.is_empty() {
            Stage::Answered {
                text: answer.text(),
                stop: answer.stop,
            }
        } else {
            Stage::Calling {
                calls,
                stop: answer.stop,
            }
        };
        Ok(answer)
    }

    fn failed(&mut self, step: StepNo, kind: &str, message: &str) -> Result<(), IllegalRecord> {
        self.expect_asked("model.failed", step)?;
        match self.stage {
            Stage::Summing { .. } if is_overflow(kind) => self.end_summing(SummaryCost::Effort),
            Stage::Summing { .. } => self.end_summing(SummaryCost::None),
            _ if is_overflow(kind) => self.overflowed(message),
            _ => self.stage = Stage::ToAsk,
        }
        Ok(())
    }

    fn started(&mut self, record: &ToolStarted) -> Result<(), IllegalRecord> {
        let open = self.open_call("tool.started", &record.call)?;
        open.state = CallState::Started(record.effect);
        Ok(())
    }

    fn finished(&mut self, record: &ToolFinished) -> Result<(), IllegalRecord> {
        let text = text("tool.finished", &record.text)?;
        let open = self.open_call("tool.finished", &record.call)?;
        open.state = CallState::Finished(ToolResult {
            call: record.call.clone(),
            text: or_placeholder(text),
            status: record.status,
        });
        self.close_calls();
        Ok(())
    }

    /// When the last call has its result, the results become a message.
    fn close_calls(&mut self) {
        let Stage::Calling { calls, stop } = &self.stage else {
            return;
        };
        let results: Option<Vec<ToolResult>> = calls
            .iter()
            .map(|open| match &open.state {
                CallState::Finished(result) => Some(result.clone()),
                CallState::Asked | CallState::Started(_) => None,
            })
            .collect();
        if let Some(results) = results {
            let withheld = *stop == Stop::Filtered;
            self.messages.push(Message::Results { results });
            self.stage = if withheld {
                Stage::Withheld
            } else {
                Stage::ToAsk
            };
        }
    }

    fn judged(&mut self, record: &VerdictGiven) -> Result<(), IllegalRecord> {
        let called = matches!(self.messages.last(), Some(Message::Results { .. }));
        if self.stage != Stage::ToAsk || !called {
            return Err(self.out_of_place("review.given"));
        }
        self.stage = Stage::Judged {
            verdict: record.verdict,
            findings: text("review.given", &record.findings)?.to_owned(),
        };
        Ok(())
    }

    fn open_call(
        &mut self,
        record: &'static str,
        id: &CallId,
    ) -> Result<&mut OpenCall, IllegalRecord> {
        let stage = self.stage.name();
        let Stage::Calling { calls, .. } = &mut self.stage else {
            return Err(IllegalRecord::OutOfPlace { record, stage });
        };
        calls
            .iter_mut()
            .find(|open| open.call.id == *id && !open.is_finished())
            .ok_or_else(|| IllegalRecord::NotOpen {
                record,
                call: id.clone(),
            })
    }

    fn expect_asked(&self, record: &'static str, found: StepNo) -> Result<(), IllegalRecord> {
        match self.stage {
            Stage::Asked { step } | Stage::Summing { step, .. } => expect_step(record, step, found),
            _ => Err(self.out_of_place(record)),
        }
    }

    fn out_of_place(&self, record: &'static str) -> IllegalRecord {
        let stage = self.stage.name();
        IllegalRecord::OutOfPlace { record, stage }
    }
}

impl OpenCall {
    /// True when it has its result.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.state, CallState::Finished(_))
    }
}

impl Streaks {
    fn count(&mut self, answer: &Answer) {
        let mut in_a_row = |streak: fn(&mut Self) -> &mut u32, goes_on: bool| {
            let streak = streak(self);
            *streak = if goes_on { streak.saturating_add(1) } else { 0 };
        };
        let cut = answer.stop == Stop::OutputLimit;
        let has_calls = answer.calls().next().is_some();
        let has_text = !answer.text().is_empty();
        let is_invalid = |call: &ToolCall| matches!(call.arguments, Arguments::Invalid { .. });
        in_a_row(|s| &mut s.cut, cut);
        in_a_row(|s| &mut s.invalid, !cut && answer.calls().any(is_invalid));
        in_a_row(|s| &mut s.empty, !cut && !has_calls && !has_text);
        if !cut && !has_calls && has_text {
            self.without_calls = self.without_calls.saturating_add(1);
        }
    }
}

/// The text of a result as the model reads it: never blank.
pub(crate) fn or_placeholder(text: &str) -> String {
    if text.trim().is_empty() {
        NO_OUTPUT.to_owned()
    } else {
        text.to_owned()
    }
}

fn expect_step(record: &'static str, expected: StepNo, found: StepNo) -> Result<(), IllegalRecord> {
    if expected == found {
        return Ok(());
    }
    Err(IllegalRecord::WrongStep {
        record,
        expected: expected.0,
        found: found.0,
    })
}

fn text<'a>(record: &'static str, content: &'a Content) -> Result<&'a str, IllegalRecord> {
    content.inline().ok_or(IllegalRecord::NotInlined { record })
}

fn texts<'a>(record: &'static str, contents: &'a [Content]) -> Result<Vec<&'a str>, IllegalRecord> {
    contents
        .iter()
        .map(|content| text(record, content))
        .collect()
}
