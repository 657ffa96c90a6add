//! The turn machine: from what is recorded of an agent and what has just happened to what is to be
//! done next. Events in, effects out as data; never waits, never performs an effect.
//!
//! What is owed follows from the [`Transcript`] alone, so a resume is nothing but a start over a
//! replayed one: recorded answers are never asked for again, and a request without outcome is
//! asked again as a new step.

mod calls;
mod io;
mod room;
#[cfg(test)]
mod tests;
mod words;

pub use io::{Preparation, Snapshot, ToolEnd, TurnEffect, TurnInput};
pub(crate) use words::is_nudge;

use crate::context::Window;
use crate::conversation::check_conversation;
use crate::failure::{FailureClass, ModelFailure};
use crate::ids::{CallId, StepNo};
use crate::message::{Message, Stop};
use crate::outcome::{AgentOutcome, Ending, FailureKind};
use crate::patience::{Patience, Sequel, Spread};
use crate::record::{AgentRecord, Billed, Json, ModelFailed, ModelResponded};
use crate::request::{ModelResponse, Purpose};
use crate::tool::{EffectClass, ToolSpec};
use crate::transcript::{CallState, Stage, Transcript};
use crate::verdict::verdict_tool;
use calls::Batch;

/// Answers in a row that the output limit may cut.
pub const MAX_CUT: u32 = 3;
/// Answers in a row that may hold arguments which are no JSON object.
pub const MAX_INVALID: u32 = 5;
/// Answers in a row that may be empty.
pub const MAX_EMPTY: u32 = 3;
/// Closing answers of a reviewer without a verdict: after the first it is asked for one.
pub const MAX_WITHOUT_VERDICT: u32 = 2;

/// What holds for a whole attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRules {
    /// The first message. Not blank. Used only while nothing was asked yet.
    pub first: String,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// What ends it.
    pub ending: Ending,
    /// Most model requests.
    pub steps: u32,
    /// What its model takes in, and what each request holds beside its conversation and catalog.
    pub window: Window,
    /// The run's seed; spreads waits.
    pub seed: u64,
}

/// One agent's turn machine.
#[derive(Debug, Clone)]
pub struct Turn {
    rules: TurnRules,
    transcript: Transcript,
    phase: Phase,
    /// What was said since the last request was formed.
    told: Vec<String>,
    /// Facts that go into the next line.
    unrecorded: Vec<AgentRecord>,
    /// What is sent instead of the conversation: that of a request for a summary.
    draft: Option<Vec<Message>>,
    patience: Patience,
    /// Calls that had started when the process before this one died, not yet dealt with.
    lost: Vec<(CallId, EffectClass)>,
    cancelled: bool,
}

/// Which input is awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    New,
    Admitting,
    Asking,
    Waiting,
    Preparing(Vec<CallId>),
    Running(Batch),
    Snapshotting(Batch),
    Restoring,
    Over,
}

impl Phase {
    fn name(&self) -> &'static str {
        match self {
            Self::New => "not started",
            Self::Admitting => "a request waits for admission",
            Self::Asking => "the model is being asked",
            Self::Waiting => "waiting before a resend",
            Self::Preparing(_) => "calls are being prepared",
            Self::Running(_) => "calls are running",
            Self::Snapshotting(_) => "the workspace is being kept",
            Self::Restoring => "the workspace is being put back",
            Self::Over => "the attempt is over",
        }
    }
}

/// An input that cannot happen now. The machine is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{input}` while {phase}")]
pub struct IllegalInput {
    /// Name of the input.
    pub input: &'static str,
    /// What the machine was at.
    pub phase: &'static str,
}

impl Turn {
    /// A machine that goes on where a transcript ends.
    #[must_use]
    pub fn new(mut rules: TurnRules, transcript: Transcript) -> Self {
        if rules.ending == Ending::Verdict {
            rules.tools.push(verdict_tool());
        }
        rules.window = rules.window.with_catalog(&rules.tools);
        let lost = match transcript.stage() {
            Stage::Calling { calls, .. } => calls
                .iter()
                .filter_map(|open| match open.state {
                    CallState::Started(effect) => Some((open.call.id.clone(), effect)),
                    CallState::Asked | CallState::Finished(_) => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        Self {
            rules,
            transcript,
            phase: Phase::New,
            told: Vec::new(),
            unrecorded: Vec::new(),
            draft: None,
            patience: Patience::default(),
            lost,
            cancelled: false,
        }
    }

    /// The conversation; when an admission is asked for, exactly what is to be sent.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.draft.as_deref().unwrap_or(self.transcript.messages())
    }

    /// Which turn of the conversation is asked for, from 1.
    #[must_use]
    pub fn next_turn(&self) -> u32 {
        self.transcript.next_turn()
    }

    /// The tools of each request: the given ones, and the verdict tool where a verdict is due.
    #[must_use]
    pub fn catalog(&self) -> &[ToolSpec] {
        &self.rules.tools
    }

    /// Takes in what happened; gives what is to be done now.
    ///
    /// # Errors
    /// When it cannot have happened now.
    pub fn handle(&mut self, input: TurnInput) -> Result<Vec<TurnEffect>, IllegalInput> {
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        Ok(match (phase, input) {
            (phase, TurnInput::Told(text)) => {
                self.phase = phase;
                self.listen(text)
            }
            (phase, TurnInput::Cancelled) => self.cancel(phase),
            (Phase::Asking, TurnInput::Unsent) => self.unsent(),
            (Phase::New, TurnInput::Start) | (Phase::Waiting, TurnInput::Waited) => self.go_on(),
            (Phase::Admitting, TurnInput::Admitted { max_output }) => {
                self.phase = Phase::Asking;
                self.summary_admitted();
                vec![TurnEffect::Ask { max_output }]
            }
            // The conversation made smaller without a summary may still fit the budget.
            (Phase::Admitting, TurnInput::Refused { .. }) if self.draft.is_some() => {
                self.compact_alone();
                self.go_on()
            }
            (Phase::Admitting, TurnInput::Refused { reason }) => {
                self.finish(AgentOutcome::Budget { reason })
            }
            (Phase::Asking, TurnInput::Answered(response)) => self.answered(response),
            (Phase::Asking, TurnInput::ModelFailed(failure)) => self.model_failed(failure),
            (Phase::Preparing(ids), TurnInput::Prepared(found)) if ids.len() == found.len() => {
                self.prepared(ids, found)
            }
            (Phase::Running(batch), TurnInput::ToolFinished { call, end })
                if batch.awaits(&call) =>
            {
                self.tool_finished(batch, &call, end)
            }
            (Phase::Snapshotting(batch), TurnInput::Snapshotted(kept)) => {
                self.snapshotted(batch, kept)
            }
            (Phase::Restoring, TurnInput::Restored(Ok(()))) => self.go_on(),
            (Phase::Restoring, TurnInput::Restored(Err(message))) => {
                self.fail(FailureKind::Workspace, message)
            }
            (phase, input) => {
                let illegal = IllegalInput {
                    input: input.name(),
                    phase: phase.name(),
                };
                self.phase = phase;
                return Err(illegal);
            }
        })
    }

    fn listen(&mut self, text: String) -> Vec<TurnEffect> {
        if !text.trim().is_empty() {
            self.told.push(text);
        }
        Vec::new()
    }

    /// What is owed now.
    fn go_on(&mut self) -> Vec<TurnEffect> {
        if self.cancelled {
            return self.stop();
        }
        match self.transcript.beneath() {
            Stage::Calling { .. } => self.go_on_calling(),
            // A summary never stands on another one.
            Stage::ToAsk | Stage::Asked { .. } | Stage::Summing { .. } => self.ask(None),
            Stage::Answered { text, stop } => {
                let (text, stop) = (text.clone(), *stop);
                self.after_answer(text, stop)
            }
            Stage::Withheld => self.fail_withheld(),
            Stage::Overflowed { message } => {
                let message = message.clone();
                self.relieve(&message)
            }
            Stage::Judged { verdict, findings } => {
                let (verdict, findings) = (*verdict, findings.clone());
                self.finish(AgentOutcome::Verdict { verdict, findings })
            }
        }
    }

    /// An answer without calls ends the attempt, unless it is not what is wanted.
    fn after_answer(&mut self, text: String, stop: Stop) -> Vec<TurnEffect> {
        match stop {
            Stop::Filtered => self.fail_withheld(),
            Stop::OutputLimit => self.ask(Some(words::WAS_CUT)),
            Stop::Paused => self.ask(Some(words::WAS_PAUSED)),
            Stop::End | Stop::Calls if text.is_empty() => self.ask(Some(words::WAS_EMPTY)),
            Stop::End | Stop::Calls if self.rules.ending == Ending::Verdict => {
                self.ask(Some(words::WANTS_VERDICT))
            }
            Stop::End | Stop::Calls if !self.told.is_empty() => self.ask(None),
            Stop::End | Stop::Calls => self.finish(AgentOutcome::Finished { text }),
        }
    }

    fn ask(&mut self, nudge: Option<&str>) -> Vec<TurnEffect> {
        if let Some((kind, message)) = self.dead_end() {
            return self.fail(kind, message);
        }
        if let Some(effects) = self.make_room() {
            return effects;
        }
        let mut told = Vec::new();
        if self.transcript.messages().is_empty() {
            told.push(self.rules.first.clone());
        }
        told.extend(nudge.map(str::to_owned));
        told.append(&mut self.told);
        let step = self.transcript.next_step();
        let texts: Vec<&str> = told.iter().map(String::as_str).collect();
        self.transcript
            .requested(step, &texts)
            .expect("asked only when it is the model's turn");
        debug_assert_eq!(check_conversation(self.messages()), Ok(()));
        self.phase = Phase::Admitting;
        self.then(TurnEffect::Admit {
            step,
            told,
            purpose: Purpose::Work,
            max_output: self.rules.window.max_output,
        })
    }

    /// Why no further request makes sense.
    fn dead_end(&self) -> Option<(FailureKind, String)> {
        let streaks = self.transcript.streaks();
        let verdict = self.rules.ending == Ending::Verdict;
        if streaks.cut >= MAX_CUT {
            let message = format!("the output limit cut {MAX_CUT} answers in a row");
            Some((FailureKind::OutputLimit, message))
        } else if streaks.invalid >= MAX_INVALID {
            let message = format!("{MAX_INVALID} answers in a row held invalid arguments");
            Some((FailureKind::InvalidArguments, message))
        } else if streaks.empty >= MAX_EMPTY {
            let message = format!("{MAX_EMPTY} answers in a row were empty");
            Some((FailureKind::EmptyAnswers, message))
        } else if verdict && streaks.without_calls >= MAX_WITHOUT_VERDICT {
            let message = "the review ended without a verdict, even when asked for it".to_owned();
            Some((FailureKind::NoVerdict, message))
        } else if self.transcript.requests() >= self.rules.steps {
            let message = format!(
                "the limit of {} model requests is reached",
                self.rules.steps
            );
            Some((FailureKind::StepLimit, message))
        } else {
            None
        }
    }

    fn answered(&mut self, response: ModelResponse) -> Vec<TurnEffect> {
        let step = self.asked_step();
        let summing = self.is_summing();
        let answer = self
            .transcript
            .responded(step, response.answer, response.usage)
            .expect("its request is open");
        let agent = self.transcript.agent();
        self.patience = Patience::default();
        self.unrecorded
            .push(AgentRecord::ModelResponded(ModelResponded {
                task: agent.task.clone(),
                attempt: agent.attempt,
                step,
                answer: Json::of(&answer).expect("an answer has only text keys"),
                usage: response.usage,
            }));
        if summing {
            self.summarised(&answer);
        }
        self.go_on()
    }

    fn model_failed(&mut self, failure: ModelFailure) -> Vec<TurnEffect> {
        let step = self.asked_step();
        let spread = Spread::of(self.rules.seed, self.transcript.agent(), step);
        let sequel = self.patience.bear(&failure, spread);
        let kind = match failure.class {
            FailureClass::Overflow => FailureKind::ContextTooLarge.name().to_owned(),
            _ => failure.kind,
        };
        let summing = self.is_summing();
        self.draft = None;
        self.record_model_failed(kind, failure.message, failure.billed);
        match sequel {
            // The next request is another one, and smaller.
            Sequel::GiveUp { kind, .. } if kind == FailureKind::ContextTooLarge && !summing => {
                self.go_on()
            }
            Sequel::GiveUp { kind, .. } if summing && !kind.is_of_provider() => {
                self.compact_alone();
                self.go_on()
            }
            // The next attempt begins with the same request.
            Sequel::GiveUp {
                kind: FailureKind::RequestRefused,
                message,
            } if !self.was_answered() => self.fail(FailureKind::RefusedForGood, message),
            Sequel::GiveUp { kind, message } => self.fail(kind, message),
            Sequel::AskAgain(wait) => match self.dead_end() {
                Some((kind, message)) => self.fail(kind, message),
                None => {
                    self.phase = Phase::Waiting;
                    self.then(TurnEffect::Wait(wait))
                }
            },
        }
    }

    fn record_model_failed(&mut self, kind: String, message: String, billed: Billed) {
        let agent = self.transcript.agent();
        self.note(AgentRecord::ModelFailed(ModelFailed {
            task: agent.task.clone(),
            attempt: agent.attempt,
            step: self.asked_step(),
            kind,
            message,
            billed,
        }));
    }

    fn was_answered(&self) -> bool {
        self.transcript.next_turn() > 1
    }

    fn asked_step(&self) -> StepNo {
        StepNo(self.transcript.requests())
    }

    fn cancel(&mut self, phase: Phase) -> Vec<TurnEffect> {
        self.cancelled = true;
        match phase {
            Phase::New | Phase::Admitting | Phase::Waiting => {
                self.finish(AgentOutcome::Interrupted)
            }
            Phase::Asking => {
                let message = "the agent was stopped".to_owned();
                self.record_model_failed("interrupted".to_owned(), message, Billed::Reservation);
                self.finish(AgentOutcome::Interrupted)
            }
            Phase::Preparing(_) => self.stop(),
            Phase::Running(_) | Phase::Snapshotting(_) | Phase::Restoring | Phase::Over => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    fn unsent(&mut self) -> Vec<TurnEffect> {
        self.cancelled = true;
        let message = "the agent was stopped before it was sent".to_owned();
        self.record_model_failed("unsent".to_owned(), message, Billed::Nothing);
        self.finish(AgentOutcome::Interrupted)
    }

    fn fail_withheld(&mut self) -> Vec<TurnEffect> {
        let message = "the provider withheld the answer".to_owned();
        self.fail(FailureKind::Filtered, message)
    }

    fn fail(&mut self, kind: FailureKind, message: String) -> Vec<TurnEffect> {
        self.finish(AgentOutcome::Failed { kind, message })
    }

    fn finish(&mut self, outcome: AgentOutcome) -> Vec<TurnEffect> {
        self.phase = Phase::Over;
        self.then(TurnEffect::Finish(outcome))
    }

    /// The facts so far as one line, then an effect.
    fn then(&mut self, effect: TurnEffect) -> Vec<TurnEffect> {
        let records = std::mem::take(&mut self.unrecorded);
        if records.is_empty() {
            vec![effect]
        } else {
            vec![TurnEffect::Record(records), effect]
        }
    }

    /// Adds a fact to the next line.
    fn note(&mut self, record: AgentRecord) {
        self.transcript
            .apply(&record)
            .expect("a record formed from the transcript fits it");
        self.unrecorded.push(record);
    }
}
