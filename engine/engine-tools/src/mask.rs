//! Hides known secret values in what a tool returns. Never guesses what a secret looks like.

use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::sync::Arc;

/// Shorter values are not masked: they would hide ordinary text.
pub const SECRET_MIN_BYTES: usize = 6;

/// The secret values that must not reach a model, a record or a log.
#[derive(Clone, Default)]
pub struct Mask(Option<Arc<Patterns>>);

struct Patterns {
    finder: AhoCorasick,
    stand_ins: Vec<String>,
    longest: usize,
}

impl Mask {
    /// Masks each value by `[masked NAME]`. Values under [`SECRET_MIN_BYTES`] are left out.
    #[must_use]
    pub fn new<I: IntoIterator<Item = (String, String)>>(secrets: I) -> Self {
        let (names, values): (Vec<_>, Vec<_>) = secrets
            .into_iter()
            .filter(|(_, value)| value.len() >= SECRET_MIN_BYTES)
            .unzip();
        if values.is_empty() {
            return Self(None);
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values)
            .expect("a few short secrets fit into an automaton");
        Self(Some(Arc::new(Patterns {
            finder,
            stand_ins: names.iter().map(|n| format!("[masked {n}]")).collect(),
            longest: values.iter().map(String::len).max().unwrap_or(0),
        })))
    }

    /// The text with every secret replaced.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(patterns) if patterns.finder.is_match(text) => {
                Cow::Owned(patterns.finder.replace_all(text, &patterns.stand_ins))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// What stands for a secret in a text that a model wrote, if anything does. The model never saw
    /// the secret: written to a file, the text would take its place.
    #[must_use]
    pub fn stand_in<'m>(&'m self, text: &str) -> Option<&'m str> {
        let all = self.0.iter().flat_map(|patterns| &patterns.stand_ins);
        all.map(String::as_str).find(|one| text.contains(one))
    }

    /// Starts masking a stream of pieces that may cut a secret anywhere.
    #[must_use]
    pub fn stream(&self) -> MaskStream {
        MaskStream {
            mask: self.clone(),
            held: Vec::new(),
        }
    }
}

/// Shows nothing of the secrets.
impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.0.as_ref().map_or(0, |p| p.stand_ins.len());
        write!(f, "Mask({count} secrets)")
    }
}

/// Masks a stream: holds back only as many bytes as the beginning of a secret may have.
#[derive(Debug)]
pub struct MaskStream {
    mask: Mask,
    held: Vec<u8>,
}

impl MaskStream {
    /// Takes the next piece and hands on what is certain.
    pub fn push(&mut self, piece: &[u8], out: &mut impl FnMut(&[u8])) {
        let Some(patterns) = self.mask.0.clone() else {
            return out(piece);
        };
        self.held.extend_from_slice(piece);
        let certain = self.held.len().saturating_sub(patterns.longest - 1);
        self.emit(&patterns, certain, out);
    }

    /// Hands on the rest.
    pub fn finish(mut self, out: &mut impl FnMut(&[u8])) {
        if let Some(patterns) = self.mask.0.clone() {
            self.emit(&patterns, self.held.len(), out);
        }
    }

    /// Hands on everything before `certain`, and a secret that begins there whole.
    fn emit(&mut self, patterns: &Patterns, certain: usize, out: &mut impl FnMut(&[u8])) {
        let mut done = 0;
        for found in patterns.finder.find_iter(&self.held) {
            if found.start() >= certain {
                break;
            }
            out(&self.held[done..found.start()]);
            out(patterns.stand_ins[found.pattern()].as_bytes());
            done = found.end();
        }
        if done < certain {
            out(&self.held[done..certain]);
            done = certain;
        }
        self.held.drain(..done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask() -> Mask {
        let secrets = [
            ("A", "sk-test-0001"),
            ("B", "sk-test-0001-long"),
            ("C", "ab"),
        ];
        Mask::new(secrets.map(|(n, v)| (n.to_owned(), v.to_owned())))
    }

    fn streamed(mask: &Mask, pieces: &[&[u8]]) -> String {
        let mut all = Vec::new();
        let mut stream = mask.stream();
        for piece in pieces {
            stream.push(piece, &mut |bytes| all.extend_from_slice(bytes));
        }
        stream.finish(&mut |bytes| all.extend_from_slice(bytes));
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn known_values_are_replaced_by_their_names() {
        let check = |text: &str, expected: &str| {
            assert_eq!(mask().text(text), expected);
            assert_eq!(streamed(&mask(), &[text.as_bytes()]), expected);
        };
        check("key is sk-test-0001", "key is [masked A]");
        check("sk-test-0001sk-test-0001", "[masked A][masked A]");
        check("sk-test-0001-long", "[masked B]");
        check("too short: ab", "too short: ab");
        check("sk-test-000", "sk-test-000");
        check("", "");
    }

    #[test]
    fn what_stands_for_a_secret_is_known_again() {
        assert_eq!(mask().stand_in("key = [masked B]\n"), Some("[masked B]"));
        assert_eq!(mask().stand_in("key = [masked X]\n"), None);
        assert_eq!(Mask::default().stand_in("key = [masked B]\n"), None);
    }

    #[test]
    fn no_secrets_means_no_change() {
        assert_eq!(streamed(&Mask::default(), &[b"a", b"b"]), "ab");
    }

    proptest! {
        #[test]
        fn a_stream_gives_the_same_however_it_is_cut(
            parts in proptest::collection::vec("(sk-|test-|0001|-long|x|é)", 0..12),
            cuts in proptest::collection::vec(0usize..80, 0..6),
        ) {
            let text = parts.concat();
            let mut at: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> =
                at.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            prop_assert_eq!(streamed(&mask(), &pieces), mask().text(&text).into_owned());
        }
    }
}
