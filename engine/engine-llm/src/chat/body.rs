//! Writes a request as the JSON body of this wire. Never sends anything empty or blank, nor
//! arguments that are not a JSON object: servers refuse the whole conversation for one of them.

use super::dialect::{Dialect, EffortField, LimitField, ReasoningBack, UsageReport};
use crate::arguments::{NO_OUTPUT, is_blank, object_text, schema_of};
use engine_core::ids::Tokens;
use engine_core::message::{Answer, Block, Message, ToolCall, ToolResult};
use engine_core::request::{Effort, ModelRequest};
use engine_core::tool::ToolSpec;
use serde::Serialize;
use serde_json::value::RawValue;

/// The body of a request without its output limit: a JSON object.
#[must_use]
pub fn body(request: &ModelRequest<'_>, dialect: Dialect) -> String {
    let effort = match dialect.effort {
        EffortField::ReasoningEffort => request.effort,
        EffortField::Unknown => None,
    };
    let body = Body {
        model: request.model,
        messages: messages(request, dialect.reasoning),
        tools: request.tools.iter().map(Tool::of).collect(),
        stream: true,
        stream_options: match dialect.usage {
            UsageReport::Asked => Some(StreamOptions {
                include_usage: true,
            }),
            UsageReport::Unasked => None,
        },
        reasoning_effort: effort.map(|effort| match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }),
    };
    serde_json::to_string(&body).expect("texts, flags and checked JSON can always be written")
}

/// The same body with its output limit as the last field.
///
/// # Panics
/// When `body` is no JSON object with at least one field.
#[must_use]
pub fn with_output_limit(body: &str, limit: Tokens, field: LimitField) -> String {
    let open = body
        .strip_suffix('}')
        .expect("the body of a request is a JSON object");
    format!("{open},\"{}\":{limit}}}", field.name())
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self {
            kind: "function",
            function: OfferedFunction {
                name: &spec.name,
                description: &spec.description,
                parameters: schema_of(spec),
            },
        }
    }
}

fn messages<'a>(request: &ModelRequest<'a>, reasoning: ReasoningBack) -> Vec<Said<'a>> {
    let mut said = Vec::with_capacity(request.messages.len() + 1);
    if !is_blank(request.system) {
        said.push(Said::System {
            content: request.system,
        });
    }
    for message in request.messages {
        match message {
            Message::User { text } => push_user(&mut said, text),
            Message::Model(answer) => said.extend(assistant(answer, reasoning)),
            Message::Results { results } => said.extend(results.iter().map(tool)),
        }
    }
    said
}

/// Texts of the person that follow each other become one message: some chat templates refuse two
/// in a row, and an unsent blank answer between them leaves such a pair.
fn push_user(said: &mut Vec<Said<'_>>, text: &str) {
    if is_blank(text) {
        return;
    }
    if let Some(Said::User { content }) = said.last_mut() {
        content.push_str("\n\n");
        content.push_str(text);
    } else {
        said.push(Said::User {
            content: text.to_owned(),
        });
    }
}

fn assistant(answer: &Answer, reasoning: ReasoningBack) -> Option<Said<'_>> {
    let text = answer.text();
    let content = (!is_blank(&text)).then_some(text);
    let tool_calls: Vec<Call<'_>> = answer.calls().map(call).collect();
    if content.is_none() && tool_calls.is_empty() {
        return None;
    }
    let reasoning_content = match reasoning {
        ReasoningBack::WithCalls if !tool_calls.is_empty() => reasoning_of(answer),
        ReasoningBack::WithCalls | ReasoningBack::Never => None,
    };
    Some(Said::Assistant {
        content,
        reasoning_content,
        tool_calls,
    })
}

fn reasoning_of(answer: &Answer) -> Option<String> {
    let texts: Vec<&str> = answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Reasoning { text, .. } => Some(text.as_str()),
            Block::Text { .. } | Block::Call(_) => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.concat())
}

fn call(call: &ToolCall) -> Call<'_> {
    Call {
        id: &call.id.0,
        kind: "function",
        function: CalledFunction {
            name: &call.name,
            arguments: object_text(&call.arguments),
        },
    }
}

fn tool(result: &ToolResult) -> Said<'_> {
    Said::Tool {
        tool_call_id: &result.call.0,
        content: if is_blank(&result.text) {
            NO_OUTPUT
        } else {
            &result.text
        },
    }
}
