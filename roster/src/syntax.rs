//! From a text to a TOML table in which everything readable is present, and one finding for each place
//! that is not TOML. A broken line is blanked out and the rest is read again, so that one slip hides
//! nothing behind it, and every span still belongs to the text as it was written.

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::schema::{Shape, all_keys};
use crate::source::{Span, line_around};
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue, Error};

/// Most syntax errors that are looked for. A text with more is not worth reading on.
const ERRORS_MAX: usize = 32;

/// What could be read of a text.
pub(crate) struct Readable {
    /// The text with its broken parts replaced by blanks: parses without an error.
    pub(crate) text: String,
    /// What was broken.
    pub(crate) errors: Vec<Diagnostic>,
}

/// Reads a text. `Err`: so much is broken that nothing can be said about the rest.
pub(crate) fn read(text: &str) -> Result<Readable, Vec<Diagnostic>> {
    let mut mended = text.to_owned();
    let mut errors = Vec::new();
    loop {
        let (table, found) = DeTable::parse_recoverable(&mended);
        let Some(first) = found.iter().min_by_key(|error| start_of(error)) else {
            return Ok(Readable {
                text: mended,
                errors,
            });
        };
        let at = start_of(first);
        let opener = enclosing(table.get_ref(), at, &mended);
        errors.push(finding(text, first, opener.map(|value| value.key)));
        let broken = broken_lines(&mended, at, opener);
        let nothing_left = mended[broken.clone()].trim().is_empty();
        if nothing_left || errors.len() >= ERRORS_MAX {
            return Err(errors);
        }
        mended = blanked(&mended, broken);
    }
}

fn start_of(error: &Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

/// The finding for one error of the TOML parser.
fn finding(text: &str, error: &Error, opener: Option<Span>) -> Diagnostic {
    let reported: Span = error.span().unwrap_or_default().into();
    let reported = reported.within(text);
    // Whoever forgets to close a value at the end of a file looks for its beginning.
    let at_end = text[reported.start..].trim().is_empty();
    let (span, opener) = match opener {
        Some(opener) if at_end => (opener, None),
        opener => (reported, opener),
    };
    let message = match text[reported.start..reported.end].trim() {
        "" => format!("not TOML: {}", error.message()),
        written => format!("not TOML: {}: {}", quoted(written), error.message()),
    };
    let line = line_around(text, span.start);
    let key = key_of(&text[line.start..line.end]);
    let mut found = Diagnostic::error(Code::Syntax, span, message).at(key);
    if let Some(opener) = opener {
        found = found.relate(opener, "its value begins here");
    }
    match hint_for(key) {
        Some(hint) => found.hint(hint),
        None => found,
    }
}

/// What stands before the `=` of a line.
fn key_of(line: &str) -> &str {
    match line.split_once('=') {
        Some((key, _)) => key.trim(),
        None => "",
    }
}

fn hint_for(key: &str) -> Option<String> {
    let (_, known) =
        all_keys().find(|(_, known)| known.name == key && !known.example.is_empty())?;
    let takes = match known.shape {
        Shape::Count { .. } | Shape::Flag => return None,
        shape => shape.expects(),
    };
    Some(format!("`{key}` takes {takes}: {key} = {}", known.example))
}

/// A value over several lines.
#[derive(Debug, Clone, Copy)]
struct LongValue {
    /// Its key.
    key: Span,
    /// Where it ends; at the end of the text when it is not closed.
    end: usize,
}

/// The value that holds `offset` but begins on an earlier line.
fn enclosing(table: &DeTable<'_>, offset: usize, text: &str) -> Option<LongValue> {
    table.iter().find_map(|(key, value)| {
        let span = value.span();
        let follows_its_key = key.span().end <= span.start;
        if follows_its_key && span.start <= offset && offset <= span.end {
            let begins_earlier = text[key.span().start..offset].contains('\n');
            return begins_earlier.then(|| LongValue {
                key: key.span().into(),
                end: span.end,
            });
        }
        match value.get_ref() {
            DeValue::Table(inner) => enclosing(inner, offset, text),
            DeValue::Array(rows) => enclosing_row(rows, offset, text),
            _ => None,
        }
    })
}

fn enclosing_row(rows: &DeArray<'_>, offset: usize, text: &str) -> Option<LongValue> {
    rows.iter().find_map(|row| match row.get_ref() {
        DeValue::Table(inner) => enclosing(inner, offset, text),
        _ => None,
    })
}

/// The lines to be blanked because of an error at `offset`.
fn broken_lines(text: &str, offset: usize, value: Option<LongValue>) -> Range<usize> {
    let line = line_around(text, offset);
    match value {
        Some(value) => {
            let first = line_around(text, value.key.start);
            let is_closed = !text[value.end..].trim().is_empty();
            let end = if is_closed {
                line_around(text, value.end).end
            } else {
                // It ran into the next tables, which are fine themselves.
                next_header(text, first.end)
            };
            first.start..end
        }
        // Without its header, the keys of a table would land in the table before.
        None if is_header(&text[line.start..line.end]) => line.start..next_header(text, line.end),
        None => line.start..line.end,
    }
}

fn is_header(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

fn next_header(text: &str, from: usize) -> usize {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        if at > from && is_header(line) {
            return at;
        }
        at += line.len();
    }
    text.len()
}

/// The text with every character of a range replaced by blanks of the same length in bytes.
fn blanked(text: &str, range: Range<usize>) -> String {
    let blank: String = text[range.clone()]
        .bytes()
        .map(|byte| match byte {
            b'\n' | b'\r' => char::from(byte),
            _ => ' ',
        })
        .collect();
    [&text[..range.start], &blank, &text[range.end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    /// Lines with an error, and the keys that could be read.
    fn check(text: &str, lines: &[usize], keys: &[&str]) {
        let source = Source { name: "t", text };
        let (errors, read) = match read(text) {
            Ok(readable) => (readable.errors, readable.text),
            Err(errors) => (errors, String::new()),
        };
        let found: Vec<usize> = errors
            .iter()
            .map(|error| source.position(error.span.start).line)
            .collect();
        assert_eq!(found, lines, "{text:?}: {errors:#?}");
        let table = DeTable::parse(&read).expect("what was mended is TOML");
        let found: Vec<String> = table
            .get_ref()
            .iter()
            .map(|(key, _)| key.get_ref().to_string())
            .collect();
        assert_eq!(found, keys, "{text:?}");
    }

    #[test]
    fn every_broken_line_is_found_and_the_rest_is_read() {
        check("a = 1\n[b]\nc = 2\n", &[], &["a", "b"]);
        check("a = wrte\nb = x y\nc = 1\n", &[1, 2], &["c"]);
        check("foo\nb = 2\nbar\n[c]\nd = 1\n", &[1, 3], &["b", "c"]);
        check("a = \"x\nb = 1\n", &[1], &["b"]);
        check("a = 1\na = 2\n", &[2], &["a"]);
        check("a =\nb = 1\n", &[1], &["b"]);
    }

    #[test]
    fn a_broken_header_takes_its_table_with_it() {
        check("a = 1\n[c\nd = 1\na = 2\n[[t]]\ne = 1\n", &[2], &["a", "t"]);
    }

    #[test]
    fn a_broken_list_costs_one_error() {
        check("x = [1,\n2\n[c]\nd = 3\n[e]\nf = 4\n", &[3], &["c", "e"]);
        check("[t]\nx = [\n\"a\"\n\"b\"\n]\n[e]\n", &[4], &["e", "t"]);
    }

    #[test]
    fn an_unclosed_text_ends_at_the_next_table() {
        check("a = 1\np = \"\"\"abc\nb = 2\n[c]\n", &[2], &["a", "c"]);
    }

    #[test]
    fn a_bare_value_is_explained_by_its_key() {
        let Ok(readable) = read("[limits]\nwall = 2h\n") else {
            panic!("the rest is readable");
        };
        let hint = readable.errors[0].hint.as_deref();
        assert_eq!(
            hint,
            Some("`wall` takes a duration such as \"30m\": wall = \"45m\"")
        );
    }

    #[test]
    fn a_text_that_is_no_toml_at_all_is_given_up() {
        let text = "{\n".repeat(40);
        let errors = read(&text).err().map_or(0, |errors| errors.len());
        assert_eq!(errors, ERRORS_MAX);
    }
}
