//! The JSON of one stream event, read leniently: every field may be absent or null. Never keeps
//! anything from one event to the next.

use engine_core::ids::Tokens;
use engine_core::message::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event's data, or a whole message that was not streamed.
#[derive(Debug, Deserialize)]
pub(super) struct Told<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) index: Option<u64>,
    /// Of `message_start`: the message before its content.
    pub(super) message: Option<Head>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    pub(super) delta: Option<Delta>,
    pub(super) usage: Option<RawUsage>,
    /// Of a whole message.
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    /// Of a whole message.
    pub(super) stop_reason: Option<String>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) usage: Option<RawUsage>,
}

/// What an event adds to a block, or to the message.
#[derive(Debug, Deserialize)]
pub(super) struct Delta {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) stop_reason: Option<String>,
}

/// Counts of tokens as far as they were told. Later counts replace earlier ones: they are sums.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct RawUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl RawUsage {
    /// The counts of the start: those of the output are not those of the answer yet.
    pub(super) fn of_start(self) -> Self {
        Self {
            output_tokens: None,
            ..self
        }
    }

    /// Takes in later counts.
    pub(super) fn update(&mut self, later: Self) {
        let newer = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        newer(&mut self.input_tokens, later.input_tokens);
        newer(
            &mut self.cache_creation_input_tokens,
            later.cache_creation_input_tokens,
        );
        newer(
            &mut self.cache_read_input_tokens,
            later.cache_read_input_tokens,
        );
        newer(&mut self.output_tokens, later.output_tokens);
    }

    /// The usage, when both sides were told. This wire counts cached input beside the other.
    pub(super) fn usage(self) -> Option<Usage> {
        let read = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let input = self.input_tokens?.saturating_add(read);
        Some(Usage {
            input: Tokens(input.saturating_add(written)),
            output: Tokens(self.output_tokens?),
            cached: Tokens(read),
        })
    }
}
