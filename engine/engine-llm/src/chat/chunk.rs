//! The JSON of one stream event, read leniently: every field may be absent or null. Never keeps
//! anything from one event to the next.

use engine_core::ids::Tokens;
use engine_core::message::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event's data, or a whole answer that was not streamed.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// `error` in the frames of some servers, beside `message` and `code`.
    pub(super) object: Option<String>,
    /// `error` likewise.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// Stands for `delta` in an answer that was not streamed.
    #[serde(borrow)]
    pub(super) message: Option<Delta<'a>>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    /// The model's refusal, shown as its text.
    pub(super) refusal: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) tool_calls: Option<Vec<Piece<'a>>>,
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Piece<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<PieceOfFunction<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PieceOfFunction<'a> {
    pub(super) name: Option<String>,
    /// Text to append, or the whole object.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// True when the event tells an error instead of a piece of an answer.
    pub(super) fn is_error(&self) -> bool {
        let says_error = |field: &Option<String>| field.as_deref() == Some("error");
        self.error.is_some() || says_error(&self.object) || says_error(&self.kind)
    }

    /// The usage it reports, when it reports both numbers.
    pub(super) fn usage(&self) -> Option<Usage> {
        let raw: RawUsage = serde_json::from_str(self.usage?.get()).ok()?;
        let input = raw.prompt_tokens?;
        let output = raw
            .completion_tokens
            .or_else(|| raw.total_tokens?.checked_sub(input))?;
        let cached = raw
            .prompt_tokens_details
            .and_then(|details| details.cached_tokens)
            .or(raw.prompt_cache_hit_tokens)
            .unwrap_or(0);
        Some(Usage {
            input: Tokens(input),
            output: Tokens(output),
            cached: Tokens(cached.min(input)),
        })
    }
}

#[derive(Deserialize)]
struct RawUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// Where DeepSeek tells what `prompt_tokens_details.cached_tokens` tells elsewhere.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// A part of a content that is not one text.
#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    thinking: Option<Vec<Part>>,
}

/// What a `content` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) reasoning: String,
    pub(super) text: String,
}

impl Delta<'_> {
    /// Its content: one text, or parts with texts and thoughts.
    pub(super) fn content(&self) -> Result<Content, serde_json::Error> {
        let mut content = Content::default();
        match self.content.map(RawValue::get) {
            None => {}
            Some(raw) if raw.starts_with('[') => {
                for part in serde_json::from_str::<Vec<Part>>(raw)? {
                    content.text.extend(part.text);
                    let thoughts = part.thinking.into_iter().flatten();
                    content
                        .reasoning
                        .extend(thoughts.filter_map(|thought| thought.text));
                }
            }
            Some(raw) => content.text = serde_json::from_str(raw)?,
        }
        Ok(content)
    }
}
