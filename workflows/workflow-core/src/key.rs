//! Which task is which across runs of a script. Never looks at positions in the script.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// Bytes of a SHA-256.
const HASH_BYTES: usize = 32;

/// Says in the hash what was hashed, so that an author's key never equals a hash of options.
const OF_OPTIONS: &[u8] = b"codewhale.task.options/1\n";
const OF_EXPLICIT: &[u8] = b"codewhale.task.key/1\n";

/// What an order asks for: equal for equal orders. Written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey([u8; HASH_BYTES]);

/// Which of several equal orders, counted from 1 in the order the script gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(pub u32);

/// A task of a script: what it asks for, and which of the equal ones it is. Written as
/// `<content>/<ordinal>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskKey {
    /// What it asks for.
    pub content: ContentKey,
    /// Which of the equal ones.
    pub ordinal: Ordinal,
}

/// Why a text is not a [`TaskKey`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a task key: it is 64 hex digits, `/` and a number from 1")]
pub struct BadTaskKey {
    /// The refused text.
    pub text: String,
}

impl ContentKey {
    /// The key of resolved options, given their canonical text.
    pub(crate) fn of_options(canonical: &str) -> Self {
        Self::hash(OF_OPTIONS, canonical)
    }

    /// The key that the author of a script chose.
    #[must_use]
    pub fn explicit(key: &str) -> Self {
        Self::hash(OF_EXPLICIT, key)
    }

    fn hash(domain: &[u8], text: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(domain);
        hash.update(text.as_bytes());
        Self(hash.finalize().into())
    }
}

impl fmt::Display for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.content, self.ordinal.0)
    }
}

impl FromStr for TaskKey {
    type Err = BadTaskKey;

    fn from_str(text: &str) -> Result<Self, BadTaskKey> {
        let bad = || BadTaskKey {
            text: text.to_owned(),
        };
        let (hex, number) = text.split_once('/').ok_or_else(bad)?;
        let key = Self {
            content: ContentKey(bytes_of(hex).ok_or_else(bad)?),
            ordinal: Ordinal(number.parse().map_err(|_| bad())?),
        };
        // One key has one text: no capitals, no leading zeros, no sign.
        let same = key.ordinal.0 > 0 && key.to_string() == text;
        same.then_some(key).ok_or_else(bad)
    }
}

fn bytes_of(hex: &str) -> Option<[u8; HASH_BYTES]> {
    let mut bytes = [0; HASH_BYTES];
    if hex.len() != 2 * HASH_BYTES {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = hex.get(2 * index..2 * index + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

impl TryFrom<String> for TaskKey {
    type Error = BadTaskKey;

    fn try_from(text: String) -> Result<Self, BadTaskKey> {
        text.parse()
    }
}

impl From<TaskKey> for String {
    fn from(key: TaskKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{ContentKey, Ordinal, TaskKey};
    use proptest::prelude::*;

    fn key(text: &str, ordinal: u32) -> TaskKey {
        TaskKey {
            content: ContentKey::explicit(text),
            ordinal: Ordinal(ordinal),
        }
    }

    #[test]
    fn an_authors_key_is_never_a_hash_of_options() {
        assert_ne!(ContentKey::explicit("{}"), ContentKey::of_options("{}"));
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        let good = key("a", 12).to_string();
        for bad in [
            String::new(),
            good.replace('/', ""),
            good.replace("/12", "/0"),
            good.replace("/12", "/012"),
            good.replace("/12", "/+12"),
            good.replace("/12", "/4294967296"),
            good.to_uppercase(),
            good[1..].to_owned(),
            format!("é{}", &good[2..]),
        ] {
            assert!(bad.parse::<TaskKey>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_key_comes_back_from_its_text(text in ".{0,12}", ordinal in 1_u32..) {
            let key = key(&text, ordinal);
            prop_assert_eq!(key.to_string().parse(), Ok(key));
        }

        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,80}") {
            if let Ok(key) = text.parse::<TaskKey>() {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }
}
