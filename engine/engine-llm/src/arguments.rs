//! What all wires send and take alike: arguments and schemas, which are JSON objects as texts, and
//! what stands in for a text without any visible character. Never knows a wire.

use engine_core::message::Arguments;
use engine_core::tool::ToolSpec;
use serde_json::value::RawValue;

/// What stands in for a result without any visible character.
pub(crate) const NO_OUTPUT: &str = "(no output)";
/// What stands in for arguments that were empty or no JSON object.
pub(crate) const NO_ARGUMENTS: &str = "{}";

/// Judges a whole argument text. Blank counts as `{}`.
#[must_use]
pub(crate) fn arguments(text: String) -> Arguments {
    if is_blank(&text) {
        return Arguments::Object(NO_ARGUMENTS.to_owned());
    }
    match parse_object(&text) {
        Ok(()) => Arguments::Object(text),
        Err(error) => Arguments::Invalid {
            error: error.to_string(),
            raw: text,
        },
    }
}

/// Parses in full, as a server will do when the text comes back to it.
pub(crate) fn parse_object(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).map(drop)
}

/// Arguments as the text of a JSON object.
pub(crate) fn object_text(arguments: &Arguments) -> &str {
    match arguments {
        Arguments::Object(text) if !is_blank(text) => text,
        Arguments::Object(_) | Arguments::Invalid { .. } => NO_ARGUMENTS,
    }
}

/// Arguments as a JSON object.
pub(crate) fn object_of(arguments: &Arguments) -> Box<RawValue> {
    let text = object_text(arguments);
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| literal(NO_ARGUMENTS))
}

/// The schema of a tool's parameters.
pub(crate) fn schema_of(spec: &ToolSpec) -> Box<RawValue> {
    RawValue::from_string(spec.parameters.clone()).unwrap_or_else(|error| {
        tracing::warn!(tool = spec.name, %error, "the schema of a tool is not JSON");
        literal(r#"{"type":"object"}"#)
    })
}

fn literal(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("a literal JSON object is JSON")
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
