//! Replaces a piece of a text by another, keeping every byte of the lines that do not change.
//! Never touches a file.
//!
//! Line ends. `old` is found whatever its line ends and those of the text are. What `old` and `new`
//! begin and end with in whole equal lines keeps its bytes. In between, a line break of `new` takes
//! the ends of the replaced line breaks one by one; further ones repeat the last of them; where no
//! line break was replaced, they take the end of the line that the piece stands in, or LF at the
//! end of a text whose last line has none.

use super::jail::FILE_MAX_BYTES;
use std::ops::Range;

/// How many times `old` must occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurrences {
    /// Exactly once.
    One,
    /// At least once; all are replaced.
    All,
}

/// Why a piece was not replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    #[error("`old` is empty; use write to give a file its whole content")]
    EmptyOld,
    #[error("`old` and `new` are the same")]
    NoChange,
    #[error("`old` was not found; it must match the file exactly, blanks included")]
    NotFound,
    #[error(
        "the file would have {bytes} bytes, more than the {FILE_MAX_BYTES} that are read at once"
    )]
    TooLarge { bytes: u64 },
    #[error("`old` occurs {count} times (lines {lines}); give more context, or set `all`")]
    Ambiguous { count: usize, lines: String },
}

/// The text after the replacement.
pub(crate) fn replace_piece(
    text: &str,
    old: &str,
    new: &str,
    occurrences: Occurrences,
) -> Result<String, EditError> {
    let (old, new) = (with_lf(old), with_lf(new));
    if old.is_empty() {
        return Err(EditError::EmptyOld);
    }
    if old == new {
        return Err(EditError::NoChange);
    }
    let view = View::of(text);
    let found: Vec<usize> = view.text.match_indices(&old).map(|(at, _)| at).collect();
    if found.is_empty() {
        return Err(EditError::NotFound);
    }
    if found.len() > 1 && occurrences == Occurrences::One {
        return Err(EditError::Ambiguous {
            count: found.len(),
            lines: line_numbers(&view.text, &found),
        });
    }
    let bytes = (text.len() - found.len() * old.len()) as u64;
    let bytes = bytes.saturating_add((found.len() as u64).saturating_mul(new.len() as u64));
    if bytes > FILE_MAX_BYTES {
        return Err(EditError::TooLarge { bytes });
    }
    let (same_before, same_after) = same_lines(&old, &new);
    let new_middle = &new[same_before..new.len() - same_after];
    let mut result = String::with_capacity(text.len() + new.len());
    let mut done = 0;
    for at in found {
        let middle = view.original(at + same_before..at + old.len() - same_after);
        result.push_str(&text[done..middle.start]);
        push_with_ends(&mut result, new_middle, text, middle.clone());
        done = middle.end;
    }
    result.push_str(&text[done..]);
    Ok(result)
}

fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn line_numbers(text: &str, found: &[usize]) -> String {
    const SHOWN_MAX: usize = 5;
    let number = |at: &usize| (text[..*at].matches('\n').count() + 1).to_string();
    let mut lines: Vec<String> = found.iter().take(SHOWN_MAX).map(number).collect();
    if found.len() > SHOWN_MAX {
        lines.push("…".to_owned());
    }
    lines.join(", ")
}

/// Bytes of whole equal lines at the beginning and at the end.
fn same_lines(old: &str, new: &str) -> (usize, usize) {
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b);
    let before = same.count();
    let before = old.as_bytes()[..before]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let (old, new) = (&old.as_bytes()[before..], &new.as_bytes()[before..]);
    let same = old.iter().rev().zip(new.iter().rev());
    let after = same.take_while(|(a, b)| a == b).count();
    let starts_line = |text: &[u8]| matches!(text[..text.len() - after].last(), None | Some(b'\n'));
    if starts_line(old) && starts_line(new) {
        return (before, after);
    }
    let tail = &old[old.len() - after..];
    let first_end = tail.iter().position(|byte| *byte == b'\n');
    let after = first_end.map_or(0, |at| tail.len() - at - 1);
    (before, after)
}

/// Appends `new` with line ends as the module's rule says; `replaced` is what it stands for.
fn push_with_ends(result: &mut String, new: &str, text: &str, replaced: Range<usize>) {
    let mut ends = text[replaced.clone()]
        .split_inclusive('\n')
        .filter_map(line_end);
    let mut last = None;
    let mut lines = new.split('\n');
    result.push_str(lines.next().unwrap_or_default());
    for line in lines {
        last = ends.next().or(last);
        result.push_str(last.unwrap_or_else(|| end_of_line_at(text, replaced.end)));
        result.push_str(line);
    }
}

fn line_end(line: &str) -> Option<&'static str> {
    if line.ends_with("\r\n") {
        Some("\r\n")
    } else if line.ends_with('\n') {
        Some("\n")
    } else {
        None
    }
}

/// The end of the line that a position stands in; for a last line without one, that of the line before.
fn end_of_line_at(text: &str, at: usize) -> &'static str {
    let here = text[at..].split_inclusive('\n').next().and_then(line_end);
    let before = || {
        let start = text[..at].rfind('\n')?;
        line_end(&text[..=start])
    };
    here.or_else(before).unwrap_or("\n")
}

/// A text with LF only, and the way back to the original's bytes.
struct View {
    text: String,
    /// Positions in `text` of the line ends that are CR LF in the original.
    long_ends: Vec<usize>,
}

impl View {
    fn of(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut long_ends = Vec::new();
        for line in original.split_inclusive('\n') {
            if let Some(content) = line.strip_suffix("\r\n") {
                text.push_str(content);
                long_ends.push(text.len());
                text.push('\n');
            } else {
                text.push_str(line);
            }
        }
        Self { text, long_ends }
    }

    fn original(&self, range: Range<usize>) -> Range<usize> {
        let at = |position: usize| position + self.long_ends.partition_point(|end| *end < position);
        at(range.start)..at(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_breaks_of_the_new_piece_follow_the_replaced_ones() {
        let check = |text: &str, old: &str, new: &str, expected: &str| {
            let result = replace_piece(text, old, new, Occurrences::One);
            assert_eq!(result.as_deref(), Ok(expected), "{text:?} {old:?} {new:?}");
        };
        check("a\nb\r\nc\n", "b", "B1\nB2", "a\nB1\r\nB2\r\nc\n");
        check("a\nb\r\nc\n", "a\nb\nc", "A\nB\nC", "A\nB\r\nC\n");
        check(
            "a\nb\r\nc\n",
            "a\nb\nc\n",
            "a\nX\nb\nc\n",
            "a\nX\r\nb\r\nc\n",
        );
        check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n", "a\r\nc\r\n");
        check("a\r\nb", "b", "b\nc", "a\r\nb\r\nc");
        check("a", "a", "a\nb", "a\nb");
        check("a\r\nb\r\n", "a\n", "", "b\r\n");
        check("a\r\nb\r\n", "\nb", "\nB", "a\r\nB\r\n");
        check("50%\r100%\nend\n", "\r100", "\r99", "50%\r99%\nend\n");
        check("a\r\r\nb\n", "a", "A", "A\r\r\nb\n");
    }

    #[test]
    fn every_occurrence_is_replaced_on_request_only() {
        let check = |text: &str, occurrences, expected: Result<&str, EditError>| {
            let result = replace_piece(text, "x", "yy", occurrences);
            assert_eq!(result.as_deref(), expected.as_deref(), "{text:?}");
        };
        let ambiguous = |count, lines: &str| EditError::Ambiguous {
            count,
            lines: lines.to_owned(),
        };
        check("x x\r\nx", Occurrences::All, Ok("yy yy\r\nyy"));
        check("x", Occurrences::All, Ok("yy"));
        check("x a\nx", Occurrences::One, Err(ambiguous(2, "1, 2")));
        check(
            "xxxxxxx",
            Occurrences::One,
            Err(ambiguous(7, "1, 1, 1, 1, 1, …")),
        );
        check("a", Occurrences::All, Err(EditError::NotFound));
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        let check = |old: &str, new: &str, expected: EditError| {
            let result = replace_piece("a\r\nb", old, new, Occurrences::One);
            assert_eq!(result, Err(expected));
        };
        check("", "x", EditError::EmptyOld);
        check("a", "a", EditError::NoChange);
        check("a\r\n", "a\n", EditError::NoChange);
        check("A", "x", EditError::NotFound);
    }

    #[test]
    fn a_text_does_not_grow_beyond_what_can_be_read() {
        let text = "x".repeat(1000);
        let result = replace_piece(&text, "x", &"y".repeat(20_000), Occurrences::All);
        let bytes = 20_000_000;
        assert_eq!(result, Err(EditError::TooLarge { bytes }));
    }

    proptest! {
        /// Lines outside the piece keep every byte, whatever the line ends are.
        #[test]
        fn lines_that_are_not_touched_keep_every_byte(
            before in proptest::collection::vec("[ab]{0,2}(\r\n|\n)", 0..4),
            after in proptest::collection::vec("(\r\n|\n)[ab]{0,2}", 0..4),
            old_end in "(\r\n|\n)",
            new in "[cd\n]{0,6}",
        ) {
            let (before, after) = (before.concat(), after.concat());
            let text = format!("{before}X{old_end}Y{after}");
            let result = replace_piece(&text, "X\nY", &new, Occurrences::One).unwrap();
            prop_assert!(result.starts_with(&before) && result.ends_with(&after));
            let middle = &result[before.len()..result.len() - after.len()];
            prop_assert_eq!(with_lf(middle), new);
        }
    }
}
