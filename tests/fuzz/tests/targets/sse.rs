//! Server-sent events: however the network cuts a stream, the same events come out.

use crate::spell::spelled;
use engine_llm::sse::{Decoder, Event};

const WORDS: [&str; 16] = [
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "data:",
    "data: ",
    "event: ",
    ":",
    " ",
    "id: 7",
    "retry: 1",
    "\u{feff}",
    "{\"x\":1}",
    "🐋",
    "é",
    "[DONE]",
];

/// Reads the bytes whole, one at a time, and in two pieces.
///
/// # Panics
/// When the three do not come to the same.
pub(crate) fn check(bytes: &[u8]) {
    let stream = spelled(bytes, &WORDS);
    let whole = events([&stream[..]].into_iter());
    let single = events(stream.chunks(1));
    assert_eq!(single, whole, "one byte at a time: {stream:?}");
    let (first, rest) = stream.split_at(stream.len() / 2);
    assert_eq!(
        events([first, rest].into_iter()),
        whole,
        "in halves: {stream:?}"
    );
}

/// The events of a stream, and whether it was readable to its end.
pub(crate) fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Event>, bool) {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    let mut readable = true;
    for piece in pieces {
        readable &= decoder.feed(piece, &mut |event| events.push(event)).is_ok();
    }
    (events, readable)
}
