//! A record as text: for people on one line with nothing that could move a cursor, for programs as it
//! stands with its place. Never knows a record type.

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Most characters of one value that people are shown.
const VALUE_MAX_CHARS: usize = 60;

/// The fields of a record, in the order written.
pub(crate) struct Record<'a> {
    raw: &'a str,
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Record<'a> {
    /// `None` when it is not a JSON object.
    pub(crate) fn read(raw: &'a RawValue) -> Option<Self> {
        let Fields(fields) = serde_json::from_str(raw.get()).ok()?;
        Some(Self {
            raw: raw.get(),
            fields,
        })
    }

    /// Its type.
    pub(crate) fn kind(&self) -> Option<String> {
        self.text("type")
    }

    /// The task it speaks of: its field `task`, or the `id` of the `spec` that it orders.
    pub(crate) fn task(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Spec {
            id: String,
        }
        let of_spec = || {
            let spec: Spec = serde_json::from_str(self.field("spec")?.get()).ok()?;
            Some(spec.id)
        };
        self.text("task").or_else(of_spec)
    }

    /// The values in which a reference to a blob may stand: those of its fields, and one level below in a
    /// list or an object. Deeper there is only what agents wrote, which may look like one by chance.
    pub(crate) fn values(&self) -> Vec<&'a str> {
        let mut values = Vec::new();
        for (_, value) in &self.fields {
            let text = value.get();
            values.push(text);
            if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
                values.extend(items.into_iter().map(RawValue::get));
            } else if let Ok(Fields(fields)) = serde_json::from_str(text) {
                values.extend(fields.into_iter().map(|(_, value)| value.get()));
            }
        }
        values
    }

    /// A field that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.get().parse().ok()
    }

    /// The record as it stands.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    fn field(&self, name: &str) -> Option<&'a RawValue> {
        self.fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    /// A field that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.field(name)?.get()).ok()
    }

    /// `type task/attempt`, then the other fields as `key=value`.
    pub(crate) fn for_people(&self) -> String {
        let mut line = visible(&self.kind().unwrap_or_else(|| "?".to_owned()));
        if let Some(task) = self.task() {
            let attempt = self.field("attempt").map(|raw| format!("/{}", raw.get()));
            write!(
                line,
                " {}{}",
                visible(&task),
                visible(&attempt.unwrap_or_default())
            )
            .expect("writing to a String cannot fail");
        }
        for (key, value) in &self.fields {
            if !matches!(key.as_ref(), "type" | "task" | "attempt") {
                write!(line, " {}={}", visible(key), short(value.get()))
                    .expect("writing to a String cannot fail");
            }
        }
        line
    }

    /// The record as it stands, with `place` as its first fields.
    pub(crate) fn placed(&self, place: &str) -> String {
        let fields = self.raw.trim_start().trim_start_matches('{').trim_start();
        let comma = if self.fields.is_empty() { "" } else { "," };
        format!("{{{place}{comma}{fields}")
    }
}

/// A value, cut to what fits a line.
fn short(value: &str) -> String {
    let shown: String = value.chars().take(VALUE_MAX_CHARS).collect();
    let cut = if shown.len() < value.len() { "…" } else { "" };
    format!("{}{cut}", visible(&shown))
}

/// The text with everything that has no width, or moves the cursor or the direction, spelt out.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        let is_hidden = char.is_control()
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if is_hidden {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A key, borrowed where it holds no escape.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
