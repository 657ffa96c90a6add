//! Puts the events of a stream together to one answer. Never waits, never asks again, and never
//! takes a stream for whole that did not say so itself.

use super::block::Draft;
use super::event::{RawUsage, Told};
use crate::StreamEvent;
use crate::errors::{Fault, Seen, told};
use crate::sse::Event;
use crate::wire::{Assemble, Progress};
use engine_core::message::{Answer, Block, Stop};
use engine_core::request::ModelResponse;

/// An answer that is still coming.
#[derive(Debug, Default)]
pub struct Assembler {
    /// In the order in which they were opened, with the index that names each. Blocks may be open
    /// side by side, and a server may give an index again.
    drafts: Vec<(u64, Draft)>,
    stop_reason: Option<String>,
    usage: RawUsage,
    ended: bool,
}

impl Assemble for Assembler {
    fn take(
        &mut self,
        event: &Event,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<Progress, Fault> {
        let data = event.data.trim();
        if event.name == "ping" || data.is_empty() || data.starts_with(':') {
            return Ok(Progress::Ignored);
        }
        if data == "[DONE]" {
            return Ok(self.end());
        }
        if event.name == "error" {
            return Err(told::in_stream(data));
        }
        let told: Told<'_> = serde_json::from_str(data).map_err(|error| not_valid(&error))?;
        let kind = told.kind.clone().unwrap_or_else(|| event.name.clone());
        if kind == "error" || told.error.is_some() {
            return Err(told::in_stream(data));
        }
        match kind.as_str() {
            "message_start" => {
                let usage = told.message.and_then(|message| message.usage);
                self.usage.update(usage.unwrap_or_default().of_start());
            }
            "message" => self.take_whole(told, on_event)?,
            "content_block_start" => {
                let index = told.index.unwrap_or(self.drafts.len() as u64);
                let block = told
                    .content_block
                    .ok_or_else(|| odd("a block without content"))?;
                let draft = Draft::open(block, on_event).map_err(|error| not_valid(&error))?;
                self.drafts.push((index, draft));
            }
            "content_block_delta" => self.take_piece(&told, on_event)?,
            "content_block_stop" => {}
            "message_delta" => {
                self.usage.update(told.usage.unwrap_or_default());
                let reason = told.delta.and_then(|delta| delta.stop_reason);
                self.stop_reason = reason.or(self.stop_reason.take());
            }
            "message_stop" => return Ok(self.end()),
            // The wire says that new kinds may be added and are to be passed over.
            _ => return Ok(Progress::Ignored),
        }
        Ok(match self.stop_reason {
            Some(_) => Progress::Whole,
            None => Progress::Open,
        })
    }

    fn seen(&self) -> Seen {
        if self.drafts.is_empty() {
            Seen::Nothing
        } else {
            Seen::Content
        }
    }

    /// The answer, when nothing more will come.
    ///
    /// # Errors
    /// [`Fault::StreamCut`] when neither a stop reason came nor an end mark after some content;
    /// [`Fault::Protocol`] for a call without a name.
    fn finish(self) -> Result<ModelResponse, Fault> {
        let whole = self.stop_reason.is_some() || (self.ended && !self.drafts.is_empty());
        if !whole {
            return Err(Fault::StreamCut {
                cause: "it ended without its end mark".to_owned(),
            });
        }
        let drafts = self.drafts.into_iter();
        let blocks: Vec<Block> = drafts.filter_map(|(_, draft)| draft.finish()).collect();
        let mut answer = Answer {
            blocks,
            stop: Stop::End,
        };
        if answer.calls().any(|call| call.name.is_empty()) {
            return Err(odd("a tool call has no name"));
        }
        answer.stop = stop(self.stop_reason.as_deref(), &answer);
        Ok(ModelResponse {
            answer,
            usage: self.usage.usage(),
        })
    }
}

impl Assembler {
    fn end(&mut self) -> Progress {
        self.ended = true;
        Progress::Ended
    }

    /// A piece belongs to the block that was opened last under its index.
    fn take_piece(
        &mut self,
        told: &Told<'_>,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), Fault> {
        let Some(delta) = &told.delta else {
            return Ok(());
        };
        let mut drafts = self.drafts.iter_mut().rev();
        let draft = match told.index {
            Some(index) => drafts.find(|(known, _)| *known == index),
            None => drafts.next(),
        };
        let (_, draft) = draft.ok_or_else(|| odd("a piece of a block that was not opened"))?;
        draft.add(delta, on_event);
        Ok(())
    }

    /// A message that came at once.
    fn take_whole(
        &mut self,
        told: Told<'_>,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), Fault> {
        for (index, block) in (0..).zip(told.content.unwrap_or_default()) {
            let draft = Draft::open(block, on_event).map_err(|error| not_valid(&error))?;
            self.drafts.push((index, draft));
        }
        self.usage.update(told.usage.unwrap_or_default());
        self.stop_reason = told.stop_reason;
        Ok(())
    }
}

/// Calls decide over the reason, unless it says that they may be incomplete.
fn stop(reason: Option<&str>, answer: &Answer) -> Stop {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::OutputLimit,
        Some("refusal") => Stop::Filtered,
        _ if answer.calls().next().is_some() => Stop::Calls,
        Some("pause_turn") => Stop::Paused,
        _ => Stop::End,
    }
}

fn odd(detail: &str) -> Fault {
    Fault::Protocol {
        detail: detail.to_owned(),
    }
}

fn not_valid(error: &serde_json::Error) -> Fault {
    odd(&format!("an event is not of the messages wire: {error}"))
}
