//! What counts as a text file, the same for every tool, and its line ends. Never touches a file.

use std::borrow::Cow;

/// The byte-order mark that some editors put before UTF-8.
const MARK: &str = "\u{FEFF}";

/// A file's content as text. Its bytes are the mark, if any, and the text: nothing else is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// Whether a byte-order mark precedes the text.
    pub(crate) mark: Mark,
    /// The text with its own line ends.
    pub(crate) text: String,
}

/// Whether a byte-order mark precedes a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Present,
    Absent,
}

/// Why bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotText {
    #[error("is not text: byte {at} is NUL (a binary file, or UTF-16)")]
    Nul { at: usize },
    #[error("is not text: not valid UTF-8 at byte {at}")]
    NotUtf8 { at: usize },
}

/// Which line ends a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// No line end at all.
    None,
    /// Only LF.
    Lf,
    /// Only CR LF.
    CrLf,
    /// Both.
    Mixed,
}

impl Text {
    /// Reads bytes as text.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, NotText> {
        if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
            return Err(NotText::Nul { at });
        }
        let mut text = String::from_utf8(bytes).map_err(|error| NotText::NotUtf8 {
            at: error.utf8_error().valid_up_to(),
        })?;
        let mark = if text.starts_with(MARK) {
            text.drain(..MARK.len());
            Mark::Present
        } else {
            Mark::Absent
        };
        Ok(Self { mark, text })
    }

    /// The bytes of a file with this content.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mark = match self.mark {
            Mark::Present => MARK,
            Mark::Absent => "",
        };
        [mark, &self.text].concat().into_bytes()
    }

    /// `content` in the manner of this text: with its mark, and with its line ends when they are all
    /// CR LF and the content has only LF.
    pub(crate) fn dress(&self, content: &str) -> Self {
        let content = content.strip_prefix(MARK).unwrap_or(content);
        let text = if line_ends(&self.text) == LineEnds::CrLf && !content.contains('\r') {
            content.replace('\n', "\r\n")
        } else {
            content.to_owned()
        };
        Self {
            mark: self.mark,
            text,
        }
    }
}

/// The line ends of a text. A CR alone is no line end.
pub(crate) fn line_ends(text: &str) -> LineEnds {
    let all = text.matches('\n').count();
    let with_cr = text.matches("\r\n").count();
    match (all, with_cr) {
        (0, _) => LineEnds::None,
        (_, 0) => LineEnds::Lf,
        (all, with_cr) if all == with_cr => LineEnds::CrLf,
        _ => LineEnds::Mixed,
    }
}

/// At most `max_bytes` of a line of which `rest_bytes` more are not here, with a note of how many are
/// left out.
pub(crate) fn shortened(line: &str, rest_bytes: usize, max_bytes: usize) -> Cow<'_, str> {
    let kept = cut(line, max_bytes);
    match line.len() - kept.len() + rest_bytes {
        0 => Cow::Borrowed(line),
        left_out => Cow::Owned(format!("{kept} [… {left_out} more bytes]")),
    }
}

/// At most `max_bytes` of a text, cut at a character.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_is_utf8_without_nul() {
        let check = |bytes: &[u8], expected: Result<(Mark, &str), NotText>| {
            let parsed = Text::parse(bytes.to_vec());
            assert_eq!(
                parsed.as_ref().map(|t| (t.mark, t.text.as_str())),
                expected.as_ref().copied()
            );
            if let Ok(text) = parsed {
                assert_eq!(text.to_bytes(), bytes);
            }
        };
        check(b"", Ok((Mark::Absent, "")));
        check(b"a\r\n", Ok((Mark::Absent, "a\r\n")));
        check(b"\xEF\xBB\xBFa\n", Ok((Mark::Present, "a\n")));
        check(b"a\xEF\xBF\xBDb\n", Ok((Mark::Absent, "a\u{FFFD}b\n")));
        check(b"key=1\n# na\xEFve\n", Err(NotText::NotUtf8 { at: 10 }));
        check(b"\xFF\xFEa\0\n\0", Err(NotText::Nul { at: 3 }));
        check(b"a\0b\n", Err(NotText::Nul { at: 1 }));
    }

    #[test]
    fn line_ends_are_told_apart() {
        let check = |text: &str, expected: LineEnds| assert_eq!(line_ends(text), expected);
        check("", LineEnds::None);
        check("a\rb", LineEnds::None);
        check("a\n", LineEnds::Lf);
        check("a\r\nb\r\n", LineEnds::CrLf);
        check("a\r\nb\n", LineEnds::Mixed);
    }

    #[test]
    fn new_content_keeps_the_mark_and_uniform_line_ends() {
        let check = |old: &str, new: &str, expected: &str| {
            let old = Text::parse(old.as_bytes().to_vec()).unwrap();
            assert_eq!(old.dress(new).to_bytes(), expected.as_bytes());
        };
        check("a\n", "b\n", "b\n");
        check("a\r\n", "b\nc\n", "b\r\nc\r\n");
        check("a\r\nb\n", "b\nc\n", "b\nc\n");
        check("a\r\n", "b\r\nc\n", "b\r\nc\n");
        check("\u{FEFF}a\n", "b\n", "\u{FEFF}b\n");
        check("\u{FEFF}a\n", "\u{FEFF}b\n", "\u{FEFF}b\n");
    }
}
