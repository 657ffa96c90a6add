//! Bytes at random are seldom anything. So each target reads its bytes as text that they spell: small values
//! stand for the words of its format, all others for themselves. Never reads the text.

/// The text that bytes spell: a value below the number of `words` stands for that word, any other for
/// itself.
pub(crate) fn spelled(bytes: &[u8], words: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in bytes {
        match words.get(usize::from(*byte)) {
            Some(word) => text.extend_from_slice(word.as_bytes()),
            None => text.push(*byte),
        }
    }
    text
}
