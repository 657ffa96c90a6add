//! Reasoning that a provider signed: how it is kept in an answer, and how it goes back. The provider
//! refuses a conversation in which one character of it has changed. Never reads what is signed.

use serde::Deserialize as _;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Kind of a block whose reasoning can be read.
const THINKING: &str = "thinking";
/// Kind of a block whose reasoning cannot.
const REDACTED: &str = "redacted_thinking";

/// A block of signed reasoning but for its readable text: a JSON object with everything else that
/// came with it, so that what a later version of the wire adds goes back too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thinking(Map<String, Value>);

impl Thinking {
    /// Takes the fields with which a block began; gives its readable text apart. `None`: it is no
    /// block of reasoning.
    pub(super) fn begun(block: &RawValue) -> Option<(Self, String)> {
        let mut fields: Map<String, Value> = serde_json::from_str(block.get()).ok()?;
        let kind = fields.get("type").and_then(Value::as_str)?;
        if kind != THINKING && kind != REDACTED {
            return None;
        }
        let text = match fields.remove(THINKING) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        Some((Self(fields), text))
    }

    /// Adds a piece of the signature.
    pub(super) fn sign(&mut self, piece: &str) {
        let signature = self.0.entry("signature").or_insert_with(|| "".into());
        match signature {
            Value::String(text) => text.push_str(piece),
            other => *other = piece.into(),
        }
    }

    /// Whether it holds what makes it acceptable again. A block that broke off does not.
    pub(super) fn is_signed(&self) -> bool {
        let holds = |field: &str| {
            let text = self.0.get(field).and_then(Value::as_str);
            text.is_some_and(|text| !text.is_empty())
        };
        holds("signature") || holds("data")
    }

    /// As it is kept beside the readable text in an answer.
    pub(super) fn kept(&self) -> String {
        serde_json::to_string(&self.0).expect("an object with text keys can be written")
    }

    /// The block as it goes back. `None`: what was kept is of another wire.
    pub(super) fn sent_back(kept: &str, text: &str) -> Option<Box<RawValue>> {
        let mut reader = serde_json::Deserializer::from_str(kept);
        let mut fields = Map::deserialize(&mut reader).ok()?;
        match fields.get("type").and_then(Value::as_str)? {
            REDACTED => {}
            THINKING => {
                fields.insert(THINKING.to_owned(), text.into());
            }
            _ => return None,
        }
        serde_json::value::to_raw_value(&fields).ok()
    }
}
