//! The stream of chat completions: whatever a server sends, an answer that is taken can be recorded, read
//! back and sent again.

use crate::spelled;
use crate::sse::events;
use engine_core::message::{Answer, Arguments};
use engine_core::record::Json;
use engine_llm::chat::Assembler;
use engine_llm::wire::{Assemble as _, Progress};

const WORDS: [&str; 32] = [
    "data: {\"choices\":[{\"index\":0,\"delta\":{",
    "}}]}\n\n",
    "},\"finish_reason\":\"stop\"}]}\n\n",
    "},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "},\"finish_reason\":\"length\"}]}\n\n",
    "},\"finish_reason\":\"error\"}]}\n\n",
    "data: [DONE]\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\n",
    "data: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n",
    "\"content\":\"x\"",
    "\"content\":null",
    "\"content\":\" \"",
    "\"reasoning_content\":\"r\"",
    "\"role\":\"assistant\"",
    "\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]",
    "\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"grep\",\"arguments\":\"{}\"}}]",
    "\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"p\\\":\"}}]",
    "\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]",
    "\"tool_calls\":[{\"function\":{\"arguments\":\"\\\"\"}}]",
    "\"tool_calls\":[{\"id\":\"\",\"function\":{\"name\":\"\",\"arguments\":{\"p\":1}}}]",
    "\"tool_calls\":[{\"index\":7,\"id\":null,\"function\":{\"name\":null,\"arguments\":null}}]",
    "\"tool_calls\":[",
    "]",
    "{",
    "}",
    ",",
    "\n\n",
    "data: ",
    "\"",
    "null",
    "1e99",
    "\\ud800",
];

/// Puts the stream together and looks at what comes out.
///
/// # Panics
/// When an answer that was taken cannot be recorded and read back as it is, or holds arguments that pass for
/// a JSON object and are none.
pub fn check(bytes: &[u8]) {
    let stream = spelled(bytes, &WORDS);
    let mut assembler = Assembler::default();
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

/// What must hold of an answer, whatever wire it came over.
pub(crate) fn check_answer(answer: &Answer) {
    let recorded = Json::of(answer).expect("an answer can be written");
    let read: Answer = recorded.read().expect("a written answer can be read");
    assert_eq!(read, *answer);
    for call in answer.calls() {
        assert!(!call.name.is_empty(), "a call without a name: {answer:?}");
        if let Arguments::Object(text) = &call.arguments {
            let object: Result<std::collections::BTreeMap<String, Json>, _> =
                serde_json::from_str(text);
            assert!(object.is_ok(), "{text:?} passes for an object");
        }
    }
}
