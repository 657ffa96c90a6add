//! A text in a record: inline while it is small, else a reference to a blob. Never reads a blob.

use serde::{Deserialize, Serialize};

/// Largest text kept inside a record, in bytes. Larger ones are stored as blobs.
pub const INLINE_MAX_BYTES: usize = 16 * 1024;

/// A text that may be too large for a ledger line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// The text itself.
    Inline(String),
    /// The text lies in the run's blobs.
    Blob(BlobRef),
}

/// Where a large content lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobRef {
    /// SHA-256 of the bytes, 64 lower-case hex digits.
    pub blob: String,
    /// Length in bytes.
    pub bytes: u64,
}

impl Content {
    /// The text when it is inline.
    #[must_use]
    pub fn inline(&self) -> Option<&str> {
        match self {
            Self::Inline(text) => Some(text),
            Self::Blob(_) => None,
        }
    }

    /// True when this text must become a blob before it is recorded.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.inline_bytes() > INLINE_MAX_BYTES
    }

    /// Bytes of the text as far as it is inline.
    #[must_use]
    pub fn inline_bytes(&self) -> usize {
        self.inline().map_or(0, str::len)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Inline(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Inline(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// Tells the two shapes apart without buffering: a JSON string or an object.
struct ContentVisitor;

impl<'de> serde::de::Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a text or a reference to a blob")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Inline(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Content, E> {
        Ok(Content::Inline(text))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        BlobRef::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Content::Blob)
    }
}
