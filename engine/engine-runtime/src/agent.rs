//! The loop that carries out the turn machine's effects. Never decides what comes next.
//!
//! One future for each agent, no task and no thread of its own: calls that run side by side are
//! polled side by side. Stopping is noticed before each effect, and at once while the model is
//! asked, a wait runs or calls run; reports to the journal and work on the workspace are never cut.

use crate::ports::{Admission, JournalClosed, Ports, ReadyCall, RequestIntent, SnapshotError};
use crate::spec::AgentSpec;
use engine_core::context::Window;
use engine_core::failure::{ContentSeen, FailureClass, ModelFailure};
use engine_core::ids::{CallId, StepNo, Tokens};
use engine_core::message::ToolCall;
use engine_core::outcome::{AgentOutcome, FailureKind};
use engine_core::record::AgentRecord;
use engine_core::request::{ModelRequest, Purpose};
use engine_core::transcript::Transcript;
use engine_core::turn::{Preparation, ToolEnd, Turn, TurnEffect, TurnInput, TurnRules};
use engine_llm::errors::Seen;
use engine_llm::{ErrorClass, ModelError, Prepared};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long calls that were told to stop may take to end before they are dropped.
pub const STOP_GRACE: Duration = Duration::from_secs(3);

/// Drives one attempt to its end. `history` is what is recorded of it so far, in order, with the
/// contents read in: empty for a fresh attempt, else it goes on where that ends.
///
/// When `cancel` is cancelled, every open call gets a result, that is recorded, and the outcome is
/// [`AgentOutcome::Interrupted`].
///
/// # Errors
/// [`JournalClosed`] when nothing can be recorded any more; the attempt then stands where its
/// records end.
pub async fn run_agent(
    spec: AgentSpec,
    history: Vec<AgentRecord>,
    ports: Ports,
    cancel: CancellationToken,
) -> Result<AgentOutcome, JournalClosed> {
    let transcript = match Transcript::replay(spec.agent.clone(), &history) {
        Ok(transcript) => transcript,
        Err(illegal) => {
            return Ok(AgentOutcome::Failed {
                kind: FailureKind::History,
                message: illegal.to_string(),
            });
        }
    };
    drop(history);
    let rules = TurnRules {
        first: spec.first.clone(),
        tools: ports.tools.catalog().to_vec(),
        ending: spec.ending,
        steps: spec.steps,
        window: Window {
            context: spec.context,
            max_output: spec.max_output,
            fixed_bytes: spec.system.len() as u64,
        },
        seed: spec.seed,
    };
    let driver = Driver {
        turn: Turn::new(rules, transcript),
        spec,
        ports,
        cancel,
        request: None,
        ready: BTreeMap::new(),
    };
    driver.drive().await
}

/// A request that the turn machine wants to make.
struct Wanted {
    step: StepNo,
    purpose: Purpose,
    max_output: Tokens,
}

struct Driver {
    spec: AgentSpec,
    ports: Ports,
    cancel: CancellationToken,
    turn: Turn,
    /// The request that was admitted last.
    request: Option<Prepared>,
    /// Calls that were prepared and not yet run.
    ready: BTreeMap<CallId, ReadyCall>,
}

impl Driver {
    async fn drive(mut self) -> Result<AgentOutcome, JournalClosed> {
        let mut inputs = vec![TurnInput::Start];
        loop {
            let mut owed = Vec::new();
            self.hear();
            for input in inputs {
                owed.extend(self.give(input));
            }
            inputs = Vec::new();
            for effect in owed {
                match effect {
                    TurnEffect::Record(records) => self.ports.journal.record(records).await?,
                    TurnEffect::Finish(outcome) => return Ok(outcome),
                    other => inputs = self.carry_out(other).await?,
                }
            }
        }
    }

    /// Takes in what was said meanwhile.
    fn hear(&mut self) {
        while let Ok(text) = self.ports.inbox.try_recv() {
            self.give(TurnInput::Told(text));
        }
    }

    fn give(&mut self, input: TurnInput) -> Vec<TurnEffect> {
        self.turn
            .handle(input)
            .expect("each effect is answered by its own inputs")
    }

    async fn carry_out(&mut self, effect: TurnEffect) -> Result<Vec<TurnInput>, JournalClosed> {
        let keeps_workspace = matches!(effect, TurnEffect::Snapshot | TurnEffect::Restore);
        let runs = matches!(effect, TurnEffect::Run(_));
        if self.cancel.is_cancelled() && !keeps_workspace && !runs {
            return Ok(vec![match effect {
                TurnEffect::Ask { .. } => TurnInput::Unsent,
                _ => TurnInput::Cancelled,
            }]);
        }
        Ok(match effect {
            TurnEffect::Admit {
                step,
                told,
                purpose,
                max_output,
            } => {
                let wanted = Wanted {
                    step,
                    purpose,
                    max_output,
                };
                vec![self.admit(wanted, told).await?]
            }
            TurnEffect::Ask { max_output } => vec![self.ask(max_output).await],
            TurnEffect::Wait(wait) => vec![self.wait(wait).await],
            TurnEffect::Prepare(calls) => vec![self.prepare(&calls)],
            TurnEffect::Run(ids) => self.run(ids).await,
            TurnEffect::Snapshot => {
                let taken = self.ports.snapshots.take().await;
                vec![TurnInput::Snapshotted(taken.map_err(message))]
            }
            TurnEffect::Restore => {
                let restored = self.ports.snapshots.restore().await;
                vec![TurnInput::Restored(restored.map_err(message))]
            }
            TurnEffect::Record(_) | TurnEffect::Finish(_) => Vec::new(),
        })
    }

    async fn admit(
        &mut self,
        wanted: Wanted,
        told: Vec<String>,
    ) -> Result<TurnInput, JournalClosed> {
        let request = self.ports.model.prepare(&ModelRequest {
            agent: &self.spec.agent,
            step: wanted.step,
            turn: self.turn.next_turn(),
            purpose: wanted.purpose,
            model: &self.spec.model,
            system: &self.spec.system,
            messages: self.turn.messages(),
            tools: self.turn.catalog(),
            max_output: wanted.max_output,
            effort: self.spec.effort,
        });
        let intent = RequestIntent {
            agent: self.spec.agent.clone(),
            step: wanted.step,
            purpose: wanted.purpose,
            hash: request.hash.clone(),
            bytes: request.bytes,
            told,
            max_output: wanted.max_output,
        };
        self.request = Some(request);
        Ok(match self.ports.journal.admit(intent).await? {
            Admission::Granted { max_output } => TurnInput::Admitted { max_output },
            Admission::Refused { reason } => TurnInput::Refused { reason },
        })
    }

    async fn ask(&mut self, max_output: Tokens) -> TurnInput {
        let request = self.request.take().expect("a request was admitted before");
        let agent = &self.spec.agent;
        let observer = self.ports.observer.as_deref();
        let mut hear = |event| {
            if let Some(observer) = observer {
                observer.heard(agent, event);
            }
        };
        tracing::debug!(%agent, bytes = request.bytes, "asks");
        let answer = self.ports.model.ask(&request, max_output, &mut hear);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => TurnInput::Cancelled,
            answer = answer => match answer {
                Ok(response) => TurnInput::Answered(response),
                Err(error) => {
                    tracing::debug!(%agent, %error, "was not answered");
                    TurnInput::ModelFailed(failure(&error))
                }
            },
        }
    }

    async fn wait(&mut self, wait: Duration) -> TurnInput {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => TurnInput::Cancelled,
            () = tokio::time::sleep(wait) => TurnInput::Waited,
        }
    }

    fn prepare(&mut self, calls: &[ToolCall]) -> TurnInput {
        let mut found = Vec::with_capacity(calls.len());
        for call in calls {
            found.push(match self.ports.tools.clone().prepare(call) {
                Err(refusal) => Preparation::Refused { text: refusal.text },
                Ok(ready) => {
                    let (effect, summary) = (ready.effect, ready.summary.clone());
                    self.ready.insert(call.id.clone(), ready);
                    Preparation::Ready { effect, summary }
                }
            });
        }
        TurnInput::Prepared(found)
    }

    /// Runs prepared calls side by side; gives their ends in the order asked.
    async fn run(&mut self, ids: Vec<CallId>) -> Vec<TurnInput> {
        let stop = &self.cancel;
        let runs = ids.into_iter().map(|call| {
            let ready = self.ready.remove(&call);
            let ready = ready.expect("calls are prepared before they run");
            async move {
                let end = run_one(ready, stop.child_token()).await;
                TurnInput::ToolFinished { call, end }
            }
        });
        join_all(runs).await
    }
}

/// Runs one call to its end, which must come soon after it was told to stop.
async fn run_one(ready: ReadyCall, stop: CancellationToken) -> ToolEnd {
    let dropped = || ToolEnd::Stopped {
        output: String::new(),
    };
    if stop.is_cancelled() {
        return dropped();
    }
    let patience = stop.clone();
    let overdue = async move {
        patience.cancelled().await;
        tokio::time::sleep(STOP_GRACE).await;
    };
    tokio::select! {
        biased;
        end = (ready.run)(stop) => end,
        () = overdue => dropped(),
    }
}

fn message(error: SnapshotError) -> String {
    error.message
}

fn failure(error: &ModelError) -> ModelFailure {
    let content = |seen| match seen {
        Seen::Nothing => ContentSeen::No,
        Seen::Content => ContentSeen::Yes,
    };
    ModelFailure {
        class: match error.class() {
            ErrorClass::Overflow => FailureClass::Overflow,
            ErrorClass::Fatal => FailureClass::Fatal,
            ErrorClass::NotThere => FailureClass::NotThere,
            ErrorClass::KeyRefused => FailureClass::KeyRefused,
            ErrorClass::Unavailable => FailureClass::Unavailable,
            ErrorClass::RateLimited { after } | ErrorClass::Busy { after } => {
                FailureClass::Retry { after }
            }
            ErrorClass::StreamCut { seen } => FailureClass::StreamBroken {
                content: content(seen),
            },
            ErrorClass::Protocol => FailureClass::StreamBroken {
                content: ContentSeen::Yes,
            },
        },
        kind: error.kind().to_owned(),
        message: error.to_string(),
        billed: error.billed(),
    }
}
