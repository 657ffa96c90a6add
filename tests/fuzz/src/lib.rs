//! What must hold of any bytes that reach the product from outside: one function for each reader of such
//! bytes, which panics when it does not hold. Never reads a file, never asks anybody.
//!
//! Bytes at random are seldom anything. So each target reads its bytes as [`spelled`] text: small values stand
//! for the words of its format, all others for themselves.

pub mod answers;
pub mod chat;
pub mod ledgers;
pub mod messages;
pub mod patches;
pub mod rosters;
pub mod sse;

/// The text that bytes spell: a value below the number of `words` stands for that word, any other for
/// itself.
#[must_use]
pub fn spelled(bytes: &[u8], words: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in bytes {
        match words.get(usize::from(*byte)) {
            Some(word) => text.extend_from_slice(word.as_bytes()),
            None => text.push(*byte),
        }
    }
    text
}
