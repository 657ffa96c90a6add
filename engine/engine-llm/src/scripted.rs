//! The scripted provider: answers from a file of turns, for demonstrations and tests. Never asks
//! anybody, never guesses a turn that is not written, never makes up usage.

mod turns;

pub use turns::ScriptError;

use crate::arguments::arguments;
use crate::chat::{self, Dialect};
use crate::errors::{Fault, ModelError, Seen, told};
use crate::retry_after::Hints;
use crate::{Model, Prepared, StreamEvent};
use engine_core::ids::{CallId, Tokens};
use engine_core::message::{Answer, Block, Stop, ToolCall};
use engine_core::request::{ModelRequest, ModelResponse, Purpose};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use turns::{Turn, Turns};

/// A script that was read and found good.
#[derive(Debug)]
pub(crate) struct Script {
    path: String,
    turns: Turns,
}

impl Script {
    /// Reads the whole file.
    pub(crate) fn open(path: &Path) -> Result<Self, ScriptError> {
        Ok(Self {
            path: path.display().to_string(),
            turns: Turns::read(path)?,
        })
    }

    async fn answer(
        &self,
        prepared: &Prepared,
        on_event: &mut (dyn FnMut(StreamEvent) + Send),
    ) -> Result<ModelResponse, Fault> {
        let agent = prepared.agent();
        let (task, attempt, turn) = (agent.task.as_str(), agent.attempt.0, prepared.turn());
        // A script holds no summaries: its agents do without.
        let found = match prepared.purpose() {
            Purpose::Work => self.turns.find(task, attempt, turn),
            Purpose::Compaction => None,
        };
        let Some(found) = found else {
            return Err(Fault::NoSuchTurn {
                task: task.to_owned(),
                attempt,
                turn,
            });
        };
        if found.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(found.delay_ms)).await;
        }
        found.fail()?;
        let answer = found.answer();
        for block in &answer.blocks {
            on_event(match block {
                Block::Text { text } => StreamEvent::Text(text.clone()),
                Block::Reasoning { text, .. } => StreamEvent::Reasoning(text.clone()),
                Block::Call(call) => StreamEvent::Call {
                    name: call.name.clone(),
                },
            });
        }
        Ok(ModelResponse {
            answer,
            usage: found.usage,
        })
    }
}

impl Model for Script {
    fn prepare(&self, request: &ModelRequest<'_>) -> Prepared {
        Prepared::new(request, chat::body(request, Dialect::default()))
    }

    fn ask<'a>(
        &'a self,
        prepared: &'a Prepared,
        _max_output: Tokens,
        on_event: &'a mut (dyn FnMut(StreamEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        async move {
            let answer = self.answer(prepared, on_event).await;
            answer.map_err(|fault| ModelError {
                host: self.path.clone(),
                fault,
                seen: Seen::Nothing,
            })
        }
        .boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        std::future::ready(Ok(())).boxed()
    }
}

impl Turn {
    /// Fails as often as the script says, counted in this process.
    fn fail(&self) -> Result<(), Fault> {
        let Some(error) = &self.error else {
            return Ok(());
        };
        let failed = self.failed.fetch_add(1, Ordering::Relaxed);
        if error.times.is_some_and(|times| failed >= times) {
            return Ok(());
        }
        let secs = error.retry_after_secs.map(|secs| secs.to_string());
        let hints = Hints {
            retry_after: secs.as_deref(),
            ..Hints::default()
        };
        let now = SystemTime::UNIX_EPOCH;
        Err(told::by_status(error.status, &error.message, hints, now))
    }

    fn answer(&self) -> Answer {
        let mut blocks = Vec::new();
        if !self.reasoning.is_empty() {
            blocks.push(Block::Reasoning {
                text: self.reasoning.clone(),
                signed: None,
            });
        }
        if !self.text.trim().is_empty() {
            blocks.push(Block::Text {
                text: self.text.clone(),
            });
        }
        for (at, call) in self.calls.iter().enumerate() {
            let id = call.id.clone();
            blocks.push(Block::Call(ToolCall {
                id: CallId(id.unwrap_or_else(|| format!("call_{}_{}", self.turn, at + 1))),
                name: call.name.clone(),
                arguments: arguments(call.arguments_text()),
            }));
        }
        let by_calls = if self.calls.is_empty() {
            Stop::End
        } else {
            Stop::Calls
        };
        Answer {
            blocks,
            stop: self.stop.unwrap_or(by_calls),
        }
    }
}
