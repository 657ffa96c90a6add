//! What a script writes in `task({…})`: checked, resolved, and given its key. Never asks whether a
//! role or a file exists: that is known only where the run is.
//!
//! Two orders are equal when they resolve to the same options: the order of members, a default that
//! is written out, `1.0` for `1`, and an escaped character make no difference; anything else does.
//! An author who gives a `key` decides alone what is equal.

use crate::canonical;
use crate::key::{ContentKey, TaskKey};
use serde_json::{Map, Value};

/// Longest `key` an author may give, in bytes.
pub const KEY_MAX_BYTES: usize = 200;

/// Deepest nesting of a `schema`: a deeper one is refused before anything walks it.
pub const SCHEMA_MAX_DEPTH: usize = 64;

/// The checked options of one order.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOptions {
    /// Without defaults and without `key`.
    resolved: Map<String, Value>,
    key: Option<String>,
}

/// What is wrong with an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOption {
    /// Something else stands where the options should.
    #[error("a task is ordered with an object of options")]
    NotAnObject,
    /// No such option.
    #[error("unknown option `{name}`: a task takes {}", names())]
    Unknown {
        /// As written.
        name: String,
    },
    /// An option that every task needs.
    #[error("the option `{name}` is missing")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// The value is not one the option can have.
    #[error("the option `{name}` must be {expected}")]
    Wrong {
        /// Its name.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A result is `null`: the task that should have given it failed.
    #[error("the option `{name}` holds null where a task's result should be: that task failed")]
    FailedTask {
        /// Its name.
        name: &'static str,
    },
    /// Two options that say the same thing.
    #[error("give `schema` or `output`, not both")]
    SchemaTwice,
}

/// What an option's value must be.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// A text with more than blanks.
    Text,
    /// Texts with more than blanks.
    Texts,
    /// Key of a task whose result is meant. The driver writes it in the place of the result.
    Result,
    /// Several of them.
    Results,
    /// `{ tokens, usd }`, both optional.
    Budget,
    /// `{ schema }`, the path of a file.
    Output,
    /// A JSON Schema.
    Schema,
    /// The author's key.
    Key,
}

/// Every option, in the order in which messages list them.
const OPTIONS: [(&str, Shape); 13] = [
    ("role", Shape::Text),
    ("prompt", Shape::Text),
    ("id", Shape::Text),
    ("needs", Shape::Results),
    ("of", Shape::Result),
    ("files", Shape::Texts),
    ("check", Shape::Texts),
    ("review", Shape::Text),
    ("budget", Shape::Budget),
    ("timeout", Shape::Text),
    ("output", Shape::Output),
    ("schema", Shape::Schema),
    ("key", Shape::Key),
];

const REQUIRED: [&str; 2] = ["role", "prompt"];

fn names() -> String {
    OPTIONS.map(|(name, _)| name).join(", ")
}

impl TaskOptions {
    /// Checks the options and drops what says nothing: absent values and defaults.
    ///
    /// # Errors
    /// All that is wrong with them, not only the first.
    pub fn resolve(options: &Value) -> Result<Self, Vec<BadOption>> {
        let Value::Object(written) = options else {
            return Err(vec![BadOption::NotAnObject]);
        };
        let mut faults = unknown(written);
        let mut resolved = Map::new();
        for (name, shape) in OPTIONS {
            match written.get(name) {
                Some(value) if !is_absent(value, shape) => match shape.check(name, value) {
                    Ok(()) => {
                        resolved.insert(name.to_owned(), value.clone());
                    }
                    Err(fault) => faults.push(fault),
                },
                _ if REQUIRED.contains(&name) => faults.push(BadOption::Missing { name }),
                _ => {}
            }
        }
        if resolved.contains_key("schema") && resolved.contains_key("output") {
            faults.push(BadOption::SchemaTwice);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let key = resolved.remove("key").and_then(|key| match key {
            Value::String(key) => Some(key),
            _ => None,
        });
        Ok(Self { resolved, key })
    }

    /// The key by which the order is found again.
    #[must_use]
    pub fn content_key(&self) -> ContentKey {
        match &self.key {
            Some(key) => ContentKey::explicit(key),
            None => ContentKey::of_options(&canonical::text_of(&self.resolved)),
        }
    }

    /// The options in force, without defaults and without `key`.
    #[must_use]
    pub fn resolved(&self) -> &Map<String, Value> {
        &self.resolved
    }
}

fn unknown(written: &Map<String, Value>) -> Vec<BadOption> {
    let known = |name: &str| OPTIONS.iter().any(|(option, _)| *option == name);
    let names = written.keys().filter(|name| !known(name));
    names
        .map(|name| BadOption::Unknown { name: name.clone() })
        .collect()
}

/// True for what has the same meaning as an option that is not there.
fn is_absent(value: &Value, shape: Shape) -> bool {
    match (shape, value) {
        // A null here is the result of a failed entry of `parallel`, not an absent option.
        (Shape::Result | Shape::Results, Value::Null) => false,
        (_, Value::Null) => true,
        (Shape::Texts | Shape::Results, Value::Array(items)) => items.is_empty(),
        (Shape::Budget, Value::Object(caps)) => caps.is_empty(),
        _ => false,
    }
}

impl Shape {
    fn check(self, name: &'static str, value: &Value) -> Result<(), BadOption> {
        let fits = match self {
            Self::Text => is_text(value),
            Self::Texts => all(value, is_text),
            Self::Result if value.is_null() => return Err(BadOption::FailedTask { name }),
            Self::Result => is_task_key(value),
            Self::Results if value.is_null() || holds_null(value) => {
                return Err(BadOption::FailedTask { name });
            }
            Self::Results => all(value, is_task_key),
            Self::Budget => is_object(value, |name, cap| match name {
                "tokens" => cap.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0),
                "usd" => cap.as_f64().is_some_and(|n| n >= 0.0),
                _ => false,
            }),
            Self::Output => {
                let is_path = |name: &str, path: &Value| name == "schema" && is_text(path);
                value.get("schema").is_some() && is_object(value, is_path)
            }
            Self::Schema => value.is_object() && depth_is_at_most(value, SCHEMA_MAX_DEPTH),
            Self::Key => {
                is_text(value) && value.as_str().is_some_and(|key| key.len() <= KEY_MAX_BYTES)
            }
        };
        let expected = self.expected();
        fits.then_some(())
            .ok_or(BadOption::Wrong { name, expected })
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text that is not blank",
            Self::Texts => "a list of texts that are not blank",
            Self::Result => "the result of a task",
            Self::Results => "a list of results of tasks",
            Self::Budget => "an object with `tokens`, a whole number, or `usd`, neither below 0",
            Self::Output => "an object with `schema`, the path of a file",
            Self::Schema => "a JSON Schema, an object at most 64 levels deep",
            Self::Key => "a text that is not blank, at most 200 bytes long",
        }
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_task_key(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.parse::<TaskKey>().is_ok())
}

fn all(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(fits))
}

fn holds_null(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| items.iter().any(Value::is_null))
}

fn is_object(value: &Value, member_fits: impl Fn(&str, &Value) -> bool) -> bool {
    let members = value.as_object();
    members.is_some_and(|members| members.iter().all(|(name, value)| member_fits(name, value)))
}

fn depth_is_at_most(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Array(items) => items.iter().all(|item| depth_is_at_most(item, below)),
        Value::Object(members) => members
            .values()
            .all(|member| depth_is_at_most(member, below)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
