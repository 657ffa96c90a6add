//! A text with its name, and places in it: byte spans, and the lines and columns people count.
//! Never opens a file.

use serde::Serialize;

/// A stretch of a text in bytes, from `start` up to but without `end`. Both lie on character borders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The smallest span that holds both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// True when `other` lies in it completely.
    #[must_use]
    pub fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The span moved into `text`, and out to character borders.
    #[must_use]
    pub(crate) fn within(self, text: &str) -> Self {
        let start = text.floor_char_boundary(self.start.min(text.len()));
        let end = text.ceil_char_boundary(self.end.clamp(start, text.len()));
        Self { start, end }
    }
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// A place in a text as people count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters (not bytes), counted from 1. A byte order mark does not count.
    pub column: usize,
}

/// A text and the name it is shown under.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// How the file is called in messages.
    pub name: &'a str,
    /// Its whole text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Where a byte offset lies. An offset beyond the text counts as its end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let shown = before[line_start..].trim_start_matches('\u{feff}');
        Position {
            line: before.matches('\n').count() + 1,
            column: shown.chars().count() + 1,
        }
    }

    /// The text of a span.
    #[must_use]
    pub fn slice(&self, span: Span) -> &'a str {
        let span = span.within(self.text);
        &self.text[span.start..span.end]
    }

    /// The line around a byte offset, without its line break.
    #[must_use]
    pub(crate) fn line_around(&self, offset: usize) -> Span {
        line_around(self.text, offset)
    }
}

/// The line of `text` around a byte offset, without its line break.
pub(crate) fn line_around(text: &str, offset: usize) -> Span {
    let offset = text.floor_char_boundary(offset);
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[offset..]
        .find('\n')
        .map_or(text.len(), |newline| offset + newline);
    let line = text[start..end].trim_end_matches('\r');
    Span {
        start,
        end: start + line.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, offset: usize, line: usize, column: usize) {
        let source = Source { name: "t", text };
        assert_eq!(
            source.position(offset),
            Position { line, column },
            "offset {offset} of {text:?}"
        );
    }

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        check("", 0, 1, 1);
        check("ab\ncd", 3, 2, 1);
        check("ab\ncd", 99, 2, 3);
        check("日本 = 1", 6, 1, 3);
        check("日本 = 1", 4, 1, 2);
        check("\u{feff}ab", 4, 1, 2);
        check("a\r\nb", 3, 2, 1);
    }

    #[test]
    fn a_line_ends_before_its_line_break() {
        let text = "one\r\ntwo\n";
        assert_eq!(line_around(text, 1), Span { start: 0, end: 3 });
        assert_eq!(line_around(text, 8), Span { start: 5, end: 8 });
        assert_eq!(line_around(text, 9), Span { start: 9, end: 9 });
    }

    #[test]
    fn a_span_is_moved_into_its_text() {
        let span = Span { start: 1, end: 99 };
        assert_eq!(span.within("é"), Span { start: 0, end: 2 });
        assert_eq!(span.within(""), Span { start: 0, end: 0 });
    }
}
