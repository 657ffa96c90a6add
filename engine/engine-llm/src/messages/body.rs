//! Writes a request as the JSON body of this wire. Never sends anything empty or blank, nor input
//! that is not a JSON object: servers refuse the whole conversation for one of them.

use super::effort::{self, EffortStyle};
use super::thinking::Thinking;
use crate::arguments::{NO_OUTPUT, is_blank, object_of, schema_of};
use engine_core::ids::{CallId, Tokens};
use engine_core::message::{Answer, Block, Message, ToolResult, ToolStatus};
use engine_core::request::{Effort, ModelRequest};
use engine_core::tool::ToolSpec;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::Write as _;

/// How many of the last messages of the person's side end with a marker: the newest, up to which the
/// provider shall remember, and the one before, up to which it remembers already. With the
/// instructions and the tools these are the four markers that a request may have.
const MARKED_MESSAGES: usize = 2;

/// The body of a request without its output limit and without the thinking that depends on it.
#[must_use]
pub fn body(request: &ModelRequest<'_>) -> String {
    let effort = request
        .effort
        .filter(|_| effort::style_of(request.model) == EffortStyle::Word);
    let body = Body {
        model: request.model,
        system: system(request.system),
        messages: messages(request.messages),
        tools: tools(request.tools),
        stream: true,
        thinking: effort.map(|_| Mode { kind: "adaptive" }),
        output_config: effort.map(|effort| OutputConfig {
            effort: effort::word(effort),
        }),
    };
    serde_json::to_string(&body).expect("texts, flags and checked JSON can always be written")
}

/// How hard the model is to be told to think once its output limit is known. `None`: not at all, or
/// the body says it already.
#[must_use]
pub fn budgeted(request: &ModelRequest<'_>) -> Option<Effort> {
    let by_budget = effort::style_of(request.model) == EffortStyle::Budget;
    request
        .effort
        .filter(|_| by_budget && may_think(request.messages))
}

/// Thinking cannot begin between a call and its result: there the answer with the call must have
/// begun with it.
fn may_think(messages: &[Message]) -> bool {
    let asks = |message: &&Message| matches!(message, Message::Model(answer) if answer.calls().next().is_some());
    let open = messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, Message::User { .. }));
    match open.filter(asks).last() {
        Some(Message::Model(answer)) => {
            matches!(
                answer.blocks.first(),
                Some(Block::Reasoning {
                    signed: Some(_),
                    ..
                })
            )
        }
        _ => true,
    }
}

/// The same body with its output limit as the last field, and the thinking that fits into it.
///
/// # Panics
/// When `body` is no JSON object with at least one field.
#[must_use]
pub fn with_output_limit(body: &str, limit: Tokens, effort: Option<Effort>) -> String {
    let open = body
        .strip_suffix('}')
        .expect("the body of a request is a JSON object");
    let thinking = effort.and_then(|effort| effort::budget(effort, limit));
    let thinking = thinking.map_or_else(String::new, |tokens| {
        format!(r#","thinking":{{"type":"enabled","budget_tokens":{tokens}}}"#)
    });
    format!(r#"{open}{thinking},"max_tokens":{limit}}}"#)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Part<'a>>,
    messages: Vec<Turn<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Serialize)]
struct Mode {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mode>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

/// A block of a message.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Made(Made<'a>),
    /// As the provider signed it.
    Signed(Box<RawValue>),
}

/// A block that is written here, perhaps with a marker up to which the provider shall remember.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Made<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mode>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mode>,
    },
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self::Made(Made::Text {
            text,
            cache_control: None,
        })
    }

    fn mark(&mut self) {
        if let Self::Made(
            Made::Text { cache_control, .. } | Made::ToolResult { cache_control, .. },
        ) = self
        {
            *cache_control = Some(MARKER);
        }
    }
}

const MARKER: Mode = Mode { kind: "ephemeral" };

fn system(text: &str) -> Vec<Part<'_>> {
    if is_blank(text) {
        return Vec::new();
    }
    let mut part = Part::text(text);
    part.mark();
    vec![part]
}

fn tools(specs: &[ToolSpec]) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = specs
        .iter()
        .map(|spec| Tool {
            name: &spec.name,
            description: &spec.description,
            input_schema: schema_of(spec),
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(MARKER);
    }
    tools
}

fn messages(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, content) = match message {
            Message::User { text } if is_blank(text) => continue,
            Message::User { text } => ("user", vec![Part::text(text)]),
            Message::Model(answer) => ("assistant", assistant(answer)),
            Message::Results { results } => ("user", results.iter().map(result).collect()),
        };
        match turns.last_mut() {
            _ if content.is_empty() => {}
            // The person's words after results belong into the message with the results.
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content }),
        }
    }
    let of_person = turns.iter_mut().rev().filter(|turn| turn.role == "user");
    for turn in of_person.take(MARKED_MESSAGES) {
        if let Some(last) = turn.content.last_mut() {
            last.mark();
        }
    }
    turns
}

/// Reasoning that nothing follows is left out: no message may end with it.
fn assistant(answer: &Answer) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = answer.blocks.iter().filter_map(part).collect();
    while let Some(Part::Signed(_)) = parts.last() {
        parts.pop();
    }
    parts
}

fn part(block: &Block) -> Option<Part<'_>> {
    match block {
        Block::Text { text } if is_blank(text) => None,
        Block::Text { text } => Some(Part::text(text)),
        Block::Reasoning { text, signed } => {
            let kept = signed.as_deref()?;
            Thinking::sent_back(kept, text).map(Part::Signed)
        }
        Block::Call(call) => Some(Part::Made(Made::ToolUse {
            id: plain(&call.id),
            name: &call.name,
            input: object_of(&call.arguments),
        })),
    }
}

fn result(result: &ToolResult) -> Part<'_> {
    Part::Made(Made::ToolResult {
        tool_use_id: plain(&result.call),
        content: if is_blank(&result.text) {
            NO_OUTPUT
        } else {
            &result.text
        },
        is_error: result.status == ToolStatus::Error,
        cache_control: None,
    })
}

/// An id as this wire takes it back: letters, digits, `_` and `-`. Other characters become their
/// numbers, so that ids that differ still do.
fn plain(id: &CallId) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.0.chars().all(is_plain) {
        return Cow::Borrowed(&id.0);
    }
    let mut plain = String::with_capacity(id.0.len() + 8);
    for c in id.0.chars() {
        if is_plain(c) {
            plain.push(c);
        } else {
            write!(plain, "_{:x}_", u32::from(c)).expect("writing to a String cannot fail");
        }
    }
    Cow::Owned(plain)
}
