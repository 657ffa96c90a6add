//! A line of text with meaning instead of colours. Its texts are fit for a terminal from the moment
//! they are put in; which colour a meaning has is decided where it is drawn.

use crate::text;

/// What a piece of a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Text as usual.
    #[default]
    Plain,
    /// What the eye should find first.
    Strong,
    /// Side matter.
    Faint,
    /// It is done and good.
    Good,
    /// It is going on.
    Live,
    /// It wants attention.
    Warn,
    /// It failed.
    Bad,
}

/// A text with one meaning, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    text: String,
    tone: Tone,
}

impl Piece {
    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it means.
    #[must_use]
    pub fn tone(&self) -> Tone {
        self.tone
    }
}

/// One line of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pieces: Vec<Piece>,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The line with a piece more. Control characters of `text` become visible.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: &str) -> Self {
        self.push(tone, text);
        self
    }

    /// Adds a piece. Control characters of `text` become visible.
    pub fn push(&mut self, tone: Tone, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece {
                text: text::one_line(text),
                tone,
            });
        }
    }

    /// Its pieces, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Its text without meanings.
    #[must_use]
    pub fn plain(&self) -> String {
        self.pieces.iter().map(Piece::text).collect()
    }

    /// The columns it takes.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.pieces
            .iter()
            .map(|piece| text::columns(&piece.text))
            .sum()
    }

    /// The line without blanks at its end.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        while let Some(piece) = self.pieces.last_mut() {
            piece.text.truncate(piece.text.trim_end_matches(' ').len());
            if !piece.text.is_empty() {
                break;
            }
            self.pieces.pop();
        }
        self
    }

    /// The line cut to `room` columns, marked with `…` where it was cut.
    #[must_use]
    pub fn cut(self, room: usize) -> Self {
        let mut left = room;
        let mut kept = Self::new();
        for piece in self.pieces {
            let wanted = text::columns(&piece.text);
            if wanted > left {
                kept.push(piece.tone, &text::fit(&piece.text, left));
                return kept;
            }
            left -= wanted;
            kept.pieces.push(piece);
        }
        kept
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::new().and(Tone::Plain, text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_across_its_pieces() {
        let check = |room: usize, expected: &str| {
            let line = Line::new().and(Tone::Strong, "ab").and(Tone::Faint, "界d");
            assert_eq!(line.cut(room).plain(), expected, "{room}");
        };
        check(9, "ab界d");
        check(5, "ab界d");
        check(4, "ab…");
        check(2, "ab");
        check(1, "…");
        check(0, "");
    }

    #[test]
    fn blanks_at_the_end_are_taken_off() {
        let check = |texts: &[&str], expected: &str| {
            let line = texts
                .iter()
                .fold(Line::new(), |line, text| line.and(Tone::Plain, text));
            assert_eq!(line.trimmed().plain(), expected, "{texts:?}");
        };
        check(&[" a ", "  ", " "], " a");
        check(&["a", "b  "], "ab");
        check(&[" "], "");
        check(&[], "");
    }

    #[test]
    fn what_is_put_in_is_made_visible() {
        let line = Line::from("red \u{1b}[31mX\n");
        assert_eq!(line.plain(), "red ␛[31mX␊");
        assert_eq!(line.columns(), 11);
    }
}
