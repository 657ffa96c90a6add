//! Answers that come in over a wire: whatever a server sends, an answer that is taken can be recorded, read
//! back and sent again.

use crate::spell::spelled;
use crate::sse::events;
use engine_core::message::{Answer, Arguments};
use engine_core::record::Json;
use engine_llm::wire::{Assemble, Progress};
use std::collections::BTreeMap;

/// Puts the stream that bytes spell together and looks at what comes out.
///
/// # Panics
/// When an answer that was taken cannot be recorded and read back as it is, holds a call without a name, or
/// arguments that pass for a JSON object and are none.
pub(crate) fn put_together(mut assembler: impl Assemble, bytes: &[u8], words: &[&str]) {
    let stream = spelled(bytes, words);
    for event in events([&stream[..]].into_iter()).0 {
        match assembler.take(&event, &mut |_| {}) {
            Ok(Progress::Ended) => break,
            Ok(_) => {}
            Err(_) => return,
        }
    }
    if let Ok(response) = assembler.finish() {
        check_answer(&response.answer);
    }
}

fn check_answer(answer: &Answer) {
    let recorded = Json::of(answer).expect("an answer can be written");
    let read: Answer = recorded.read().expect("a written answer can be read");
    assert_eq!(read, *answer);
    for call in answer.calls() {
        assert!(!call.name.is_empty(), "a call without a name: {answer:?}");
        if let Arguments::Object(text) = &call.arguments {
            let object: Result<BTreeMap<String, Json>, _> = serde_json::from_str(text);
            assert!(object.is_ok(), "{text:?} passes for an object");
        }
    }
}
