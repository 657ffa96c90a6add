//! The rules that real servers enforce on a request. Stricter than any single one of them, so that a
//! request which passes here passes everywhere. Never repairs anything.

mod chat;
mod messages;

use super::request::Wire;
use serde_json::Value;

/// The first rule that the body of a request breaks, in one sentence.
#[must_use]
pub fn broken_rule(wire: Wire, body: &Value) -> Option<String> {
    match wire {
        Wire::Chat => chat::check_body(body).err(),
        Wire::Messages => messages::check_body(body).err(),
    }
}

type Check = Result<(), String>;

fn is_said(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(rule()) }
}
