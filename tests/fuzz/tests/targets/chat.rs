//! The stream of chat completions.

use crate::answers::put_together;
use engine_llm::chat::Assembler;

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
/// As [`put_together`].
pub(crate) fn check(bytes: &[u8]) {
    put_together(Assembler::default(), bytes, &WORDS);
}
