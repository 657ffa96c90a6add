//! A provider's key in memory. Never shown: neither by `Debug` nor in an error.

/// What authorizes requests to a provider.
#[derive(Clone)]
pub(crate) struct Key(String);

/// In which header a wire wants the key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum KeyStyle {
    /// `Authorization: Bearer`.
    #[default]
    Bearer,
    /// `x-api-key`.
    ApiKey,
}

/// The text cannot be sent as a key: it is blank, or holds characters no header may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is blank or holds characters that cannot be sent in a header")]
pub struct UnusableKey;

impl Key {
    /// Takes a key as a person stored it; white space around it is dropped.
    ///
    /// # Errors
    /// [`UnusableKey`] when it cannot be sent.
    pub(crate) fn new(text: &str) -> Result<Self, UnusableKey> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(UnusableKey)
        }
    }

    /// The header that carries it, and its value.
    pub(crate) fn header(&self, style: KeyStyle) -> (&'static str, String) {
        match style {
            KeyStyle::Bearer => ("authorization", format!("Bearer {}", self.0)),
            KeyStyle::ApiKey => ("x-api-key", self.0.clone()),
        }
    }

    /// Blots it out of a text: some providers repeat the key they refuse.
    pub(crate) fn hide_in(&self, text: &mut String) {
        if text.contains(&self.0) {
            *text = text.replace(&self.0, "[key]");
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key([key])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_without_the_space_around_it() {
        let key = Key::new(" sk-1\n").expect("a usable key");
        let bearer = key.header(KeyStyle::Bearer);
        assert_eq!(bearer, ("authorization", "Bearer sk-1".to_owned()));
        assert_eq!(
            key.header(KeyStyle::ApiKey),
            ("x-api-key", "sk-1".to_owned())
        );
    }

    #[test]
    fn what_no_header_can_carry_is_refused() {
        for text in ["", "  ", "a b", "a\nb", "clé"] {
            assert_eq!(Key::new(text).err(), Some(UnusableKey), "{text:?}");
        }
    }

    #[test]
    fn it_is_never_shown() {
        let key = Key::new("sk-secret").expect("a usable key");
        assert_eq!(format!("{key:?}"), "Key([key])");
        let mut words = "wrong key sk-secret given".to_owned();
        key.hide_in(&mut words);
        assert_eq!(words, "wrong key [key] given");
    }
}
