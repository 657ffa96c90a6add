//! How a conversation stays inside what its model can take in: how large it is, when it is made
//! smaller, and what is left of it then. Never asks a model and never decides to ask one.
//!
//! The figures are estimates: a provider counts tokens, an agent sees bytes. Where an estimate is too
//! low, the provider refuses the request, and the refusal teaches the size.

mod bite;
mod digest;
mod shorten;
mod size;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use bite::{Bite, Left, Opening, Plan, plan, squeeze, whole};
pub(crate) use digest::digest;
pub(crate) use shorten::shorten_text;
pub use size::bytes_of;
pub(crate) use words::WANTS_SUMMARY;

use crate::ids::Tokens;
use crate::tool::ToolSpec;

/// Bytes that are taken for one token where nothing was measured: English text has about four, source
/// code about three, and an estimate that is too high only shortens a little early.
pub const BYTES_PER_TOKEN: u64 = 3;
/// A conversation is made smaller before it takes more than this much of the room, in percent.
pub const FULL_PERCENT: u64 = 80;
/// What it is to take of the room then, in percent: large bites are rare, and each costs the provider's
/// cache of the conversation.
pub const GOAL_PERCENT: u64 = 50;
/// What it is to take of a size that was refused more than once, in percent.
pub const LOW_GOAL_PERCENT: u64 = 12;
/// Most output tokens of a summary.
pub const SUMMARY_OUTPUT: Tokens = Tokens(4_096);
/// Most bytes of a summary that are kept.
pub const SUMMARY_MAX_BYTES: usize = 8 * 1024;
/// Requests that were too large, and summaries, since the last answer to a request for work: with
/// this many of them, the attempt fails.
pub const MAX_EFFORTS: u32 = 4;

/// What a model takes in, as far as it is known, and what each request to it holds anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Most tokens of a request and its answer together; `None`: not known.
    pub context: Option<Tokens>,
    /// Most output tokens of an answer.
    pub max_output: Tokens,
    /// Bytes of each request beside its conversation: instructions and catalog.
    pub fixed_bytes: u64,
}

/// What an answered request measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Bytes of its conversation.
    pub bytes: u64,
    /// Input tokens that the provider reported.
    pub input: Tokens,
}

/// What is known of the sizes of one conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Of the last request that was answered.
    pub measured: Option<Measured>,
    /// Bytes of the smallest conversation that was refused as too large.
    pub refused: Option<u64>,
}

impl Window {
    /// The same with the bytes of a catalog in each request.
    #[must_use]
    pub fn with_catalog(mut self, tools: &[ToolSpec]) -> Self {
        let bytes =
            |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.parameters.len();
        let all: usize = tools.iter().map(bytes).sum();
        self.fixed_bytes = self.fixed_bytes.saturating_add(all as u64);
        self
    }

    /// Input tokens of a request with a conversation of `bytes`.
    #[must_use]
    pub fn estimate(&self, bytes: u64, sizes: Sizes) -> Tokens {
        Tokens(match sizes.measured {
            None => (bytes + self.fixed_bytes) / BYTES_PER_TOKEN,
            Some(seen) if seen.bytes <= bytes => {
                seen.input.0 + (bytes - seen.bytes) / BYTES_PER_TOKEN
            }
            Some(seen) => scaled(
                seen.input.0,
                bytes + self.fixed_bytes,
                seen.bytes + self.fixed_bytes,
            ),
        })
    }

    /// Most input tokens of a request: the context without the room of an answer, or less where less
    /// was refused. `None`: nothing is known.
    #[must_use]
    pub fn room(&self, sizes: Sizes) -> Option<Tokens> {
        let known = self.context.map(|context| {
            let answer = self.max_output.0.min(context.0 / 4);
            Tokens(context.0 - answer)
        });
        let refused = sizes.refused.map(|bytes| self.estimate(bytes, sizes));
        match (known, refused) {
            (Some(known), Some(refused)) => Some(known.min(refused)),
            (known, refused) => known.or(refused),
        }
    }

    /// Whether a conversation of `bytes` is to be made smaller before it is sent.
    #[must_use]
    pub fn is_full(&self, bytes: u64, sizes: Sizes) -> bool {
        let estimate = self.estimate(bytes, sizes);
        let room = self.room(sizes);
        room.is_some_and(|room| estimate.0 > room.0 / 100 * FULL_PERCENT)
    }

    /// Whether a conversation of `bytes` fits at all, as far as one can tell.
    #[must_use]
    pub fn fits(&self, bytes: u64, sizes: Sizes) -> bool {
        let estimate = self.estimate(bytes, sizes);
        self.room(sizes).is_some_and(|room| estimate < room)
    }

    /// Bytes that a conversation of `bytes` is to have when it has been made smaller.
    #[must_use]
    pub fn goal(&self, bytes: u64, sizes: Sizes, percent: u64) -> u64 {
        let estimate = self.estimate(bytes, sizes);
        let room = self.room(sizes).unwrap_or(estimate).min(estimate);
        let all = scaled(bytes + self.fixed_bytes, room.0, estimate.0.max(1));
        (all / 100 * percent).saturating_sub(self.fixed_bytes)
    }

    /// Most output tokens of a summary.
    #[must_use]
    pub fn summary_output(&self) -> Tokens {
        let quarter = self.context.map_or(SUMMARY_OUTPUT, |all| Tokens(all.0 / 4));
        SUMMARY_OUTPUT.min(self.max_output).min(quarter)
    }
}

/// `value * part / whole` without overflow.
fn scaled(value: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
