//! One block of an answer that is still coming. Never knows its neighbours.

use super::event::Delta;
use super::thinking::Thinking;
use crate::StreamEvent;
use crate::arguments::arguments;
use engine_core::ids::CallId;
use engine_core::message::{Block, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A block as far as it has come.
#[derive(Debug)]
pub(super) enum Draft {
    Text(String),
    Reasoning {
        text: String,
        thinking: Thinking,
        /// The end of the signature was announced, even where the signature is empty.
        signed: Signed,
    },
    Call {
        id: String,
        name: String,
        /// The input that stood in the block when it was opened.
        whole: String,
        pieces: String,
    },
    /// Of a kind that nothing here asks for.
    Foreign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signed {
    NotYet,
    Yes,
}

/// What a block may hold when it is opened.
#[derive(Debug, Deserialize)]
struct Opening<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl Draft {
    /// Opens a block; what it already holds is heard.
    pub(super) fn open(
        block: &RawValue,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<Self, serde_json::Error> {
        if let Some((thinking, text)) = Thinking::begun(block) {
            if !text.is_empty() {
                on_event(StreamEvent::Reasoning(text.clone()));
            }
            let signed = if thinking.is_signed() {
                Signed::Yes
            } else {
                Signed::NotYet
            };
            return Ok(Self::Reasoning {
                text,
                thinking,
                signed,
            });
        }
        let opening: Opening<'_> = serde_json::from_str(block.get())?;
        Ok(match opening.kind.as_deref() {
            Some("text") => {
                let text = opening.text.unwrap_or_default();
                if !text.is_empty() {
                    on_event(StreamEvent::Text(text.clone()));
                }
                Self::Text(text)
            }
            Some("tool_use") => {
                let name = opening.name.unwrap_or_default();
                on_event(StreamEvent::Call { name: name.clone() });
                Self::Call {
                    id: opening.id.unwrap_or_default(),
                    name,
                    whole: opening
                        .input
                        .map(input_text)
                        .transpose()?
                        .unwrap_or_default(),
                    pieces: String::new(),
                }
            }
            _ => Self::Foreign,
        })
    }

    /// Takes the next piece. One that does not fit the block's kind adds nothing.
    pub(super) fn add(&mut self, delta: &Delta, on_event: &mut dyn FnMut(StreamEvent)) {
        match self {
            Self::Text(text) => {
                if let Some(more) = delta.text.as_deref().filter(|more| !more.is_empty()) {
                    text.push_str(more);
                    on_event(StreamEvent::Text(more.to_owned()));
                }
            }
            Self::Reasoning {
                text,
                thinking,
                signed,
            } => {
                if let Some(more) = delta.thinking.as_deref().filter(|more| !more.is_empty()) {
                    text.push_str(more);
                    on_event(StreamEvent::Reasoning(more.to_owned()));
                }
                if let Some(piece) = &delta.signature {
                    thinking.sign(piece);
                    *signed = Signed::Yes;
                }
            }
            Self::Call { pieces, .. } => {
                pieces.push_str(delta.partial_json.as_deref().unwrap_or(""));
            }
            Self::Foreign => {}
        }
    }

    /// The block when nothing more will come; `None`: it holds nothing.
    pub(super) fn finish(self) -> Option<Block> {
        match self {
            Self::Text(text) => (!text.trim().is_empty()).then_some(Block::Text { text }),
            Self::Reasoning {
                text,
                thinking,
                signed,
            } => {
                let signed = (signed == Signed::Yes).then(|| thinking.kept());
                let holds = signed.is_some() || !text.trim().is_empty();
                holds.then_some(Block::Reasoning { text, signed })
            }
            Self::Call {
                id,
                name,
                whole,
                pieces,
            } => Some(Block::Call(ToolCall {
                id: CallId(id),
                name,
                arguments: arguments(if pieces.trim().is_empty() {
                    whole
                } else {
                    pieces
                }),
            })),
            Self::Foreign => None,
        }
    }
}

/// The text of an input: of the object that it is, or that it holds as a text.
fn input_text(input: &RawValue) -> Result<String, serde_json::Error> {
    match input.get() {
        "null" => Ok(String::new()),
        text if text.starts_with('"') => serde_json::from_str(text),
        object => Ok(object.to_owned()),
    }
}
