//! Puts the events of a stream together to one answer. Never waits, never asks again, and never
//! takes a stream for whole that did not say so itself.

use super::calls::{Calls, Placed};
use super::chunk::{Choice, Chunk, Delta};
use crate::StreamEvent;
use crate::errors::{Fault, Seen, told};
use crate::sse::Event;
use crate::wire::{Assemble, Progress};
use engine_core::message::{Answer, Block, Stop, Usage};
use engine_core::request::ModelResponse;

/// An answer that is still coming.
#[derive(Debug, Default)]
pub struct Assembler {
    parts: Vec<Part>,
    calls: Calls,
    finish_reason: Option<String>,
    usage: Option<Usage>,
    done: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Reasoning(String),
    Call(usize),
}

impl Assemble for Assembler {
    fn take(
        &mut self,
        event: &Event,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<Progress, Fault> {
        let data = event.data.trim();
        let known = matches!(event.name.as_str(), "" | "message" | "error");
        if !known || data.is_empty() || data.starts_with(':') {
            return Ok(Progress::Ignored);
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(Progress::Ended);
        }
        if event.name == "error" {
            return Err(told::in_stream(data));
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| not_valid(&error))?;
        if chunk.is_error() {
            return Err(told::in_stream(data));
        }
        self.usage = chunk.usage().or(self.usage);
        let first = |choice: &&Choice<'_>| choice.index.unwrap_or(0) == 0;
        for choice in chunk.choices.iter().flatten().filter(first) {
            if let Some(delta) = choice.delta.as_ref().or(choice.message.as_ref()) {
                self.take_delta(delta, on_event)
                    .map_err(|error| not_valid(&error))?;
            }
            if let Some(reason) = choice.finish_reason.as_deref().filter(|r| !r.is_empty()) {
                self.finish_reason = Some(reason.to_owned());
            }
        }
        Ok(match self.finish_reason {
            Some(_) => Progress::Whole,
            None => Progress::Open,
        })
    }

    fn seen(&self) -> Seen {
        if self.parts.is_empty() {
            Seen::Nothing
        } else {
            Seen::Content
        }
    }

    /// The answer, when nothing more will come.
    ///
    /// # Errors
    /// [`Fault::StreamCut`] when neither a finish reason came nor an end mark after some content;
    /// [`Fault::Busy`] when the provider gave `error` as its reason; [`Fault::Protocol`] for a call
    /// without a name.
    fn finish(mut self) -> Result<ModelResponse, Fault> {
        let whole = self.finish_reason.is_some() || (self.done && !self.parts.is_empty());
        if !whole {
            return Err(Fault::StreamCut {
                cause: "it ended without its end mark".to_owned(),
            });
        }
        let mut blocks = Vec::with_capacity(self.parts.len());
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => blocks.push(Block::Text { text }),
                Part::Reasoning(text) => blocks.push(Block::Reasoning { text, signed: None }),
                Part::Call(position) => blocks.extend(self.calls.finish(position).map(Block::Call)),
            }
        }
        let mut answer = Answer {
            blocks,
            stop: Stop::End,
        };
        if answer.calls().any(|call| call.name.is_empty()) {
            return Err(Fault::Protocol {
                detail: "a tool call has no name".to_owned(),
            });
        }
        answer.stop = stop(self.finish_reason.as_deref(), &answer)?;
        Ok(ModelResponse {
            answer,
            usage: self.usage,
        })
    }
}

impl Assembler {
    fn take_delta(
        &mut self,
        delta: &Delta<'_>,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), serde_json::Error> {
        let content = delta.content()?;
        let aside = delta.reasoning_content.as_deref();
        let aside = aside.or(delta.reasoning.as_deref()).unwrap_or("");
        for thought in [aside, &content.reasoning] {
            if !thought.is_empty() {
                self.add_reasoning(thought);
                on_event(StreamEvent::Reasoning(thought.to_owned()));
            }
        }
        for text in [&content.text, delta.refusal.as_deref().unwrap_or("")] {
            if !text.is_empty() {
                self.add_text(text);
                on_event(StreamEvent::Text(text.to_owned()));
            }
        }
        for piece in delta.tool_calls.iter().flatten() {
            if let Placed::Opened(position) = self.calls.take(piece)? {
                self.parts.push(Part::Call(position));
                on_event(StreamEvent::Call {
                    name: self.calls.name(position).to_owned(),
                });
            }
        }
        Ok(())
    }

    fn add_text(&mut self, more: &str) {
        if let Some(Part::Text(text)) = self.parts.last_mut() {
            text.push_str(more);
        } else {
            self.parts.push(Part::Text(more.to_owned()));
        }
    }

    fn add_reasoning(&mut self, more: &str) {
        if let Some(Part::Reasoning(text)) = self.parts.last_mut() {
            text.push_str(more);
        } else {
            self.parts.push(Part::Reasoning(more.to_owned()));
        }
    }
}

/// Calls decide over the reason: some servers say `stop` beside a call, or `tool_calls` beside none.
fn stop(reason: Option<&str>, answer: &Answer) -> Result<Stop, Fault> {
    Ok(match reason {
        Some("length" | "max_tokens" | "model_length") => Stop::OutputLimit,
        Some("content_filter") => Stop::Filtered,
        Some(reason @ ("error" | "insufficient_system_resource")) => {
            return Err(Fault::Busy {
                status: 500,
                after: None,
                words: format!("it ended its answer with the reason `{reason}`"),
            });
        }
        _ if answer.calls().next().is_some() => Stop::Calls,
        _ => Stop::End,
    })
}

fn not_valid(error: &serde_json::Error) -> Fault {
    Fault::Protocol {
        detail: format!("an event is not a chat completion: {error}"),
    }
}
