//! Findings as text with the offending line underlined, and as JSON. Never colours, never prints.

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{Source, Span};
use serde_json::{Value, json};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar;

/// Widest stretch of a source line that is shown, in characters.
const LINE_MAX_CHARS: usize = 160;

/// The findings as a person reads them, each with its line, separated by empty lines.
///
/// Control characters of the source are replaced, so the text is safe to send to a terminal.
#[must_use]
pub fn to_text(source: &Source<'_>, diagnostics: &[Diagnostic]) -> String {
    let parts: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| one(source, diagnostic))
        .collect();
    parts.join("\n")
}

/// The findings as a JSON array: one object each, with `severity`, `code`, `key`, `message`, `file`,
/// `line`, `column`, `end_line`, `end_column` (characters, from 1), `start`, `end` (bytes, from 0),
/// `text`, `suggestion`, `hint` and `related`.
#[must_use]
pub fn to_json(source: &Source<'_>, diagnostics: &[Diagnostic]) -> Value {
    diagnostics
        .iter()
        .map(|diagnostic| one_json(source, diagnostic))
        .collect()
}

fn one(source: &Source<'_>, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let gutter = diagnostic
        .related
        .iter()
        .map(|related| related.span)
        .chain([diagnostic.span])
        .map(|span| source.position(span.start).line.to_string().len())
        .max()
        .unwrap_or(1);
    let position = source.position(diagnostic.span.start);
    let mut out = format!("{severity}: {}\n", diagnostic.message);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{:gutter$}--> {}:{}:{}",
        "", source.name, position.line, position.column
    );
    let _ = writeln!(out, "{:gutter$} |", "");
    let note = diagnostic
        .suggestion
        .as_ref()
        .map(|meant| format!("did you mean `{meant}`?"))
        .unwrap_or_default();
    let snippet = Snippet {
        source,
        gutter,
        conceal: diagnostic.conceal,
    };
    snippet.write(&mut out, (diagnostic.span, '^'), &note);
    for related in &diagnostic.related {
        snippet.write(&mut out, (related.span, '-'), &related.message);
    }
    if let Some(hint) = &diagnostic.hint {
        let _ = writeln!(out, "{:gutter$} = hint: {hint}", "");
    }
    out
}

/// Writes lines of one source with something underlined.
struct Snippet<'a> {
    source: &'a Source<'a>,
    gutter: usize,
    conceal: Option<Span>,
}

impl Snippet<'_> {
    fn write(&self, out: &mut String, (span, mark): (Span, char), note: &str) {
        let line = self.source.line_around(span.start);
        let number = self.source.position(span.start).line;
        let gutter = self.gutter;
        let mut shown = String::new();
        let (mut before, mut under) = (0, 0);
        let from = self.first_shown(line, span);
        for (offset, c) in self.source.text[from..line.end]
            .char_indices()
            .take(LINE_MAX_CHARS)
        {
            let at = from + offset;
            let c = self.visible(at, c);
            let width = c.width().unwrap_or(0);
            if at < span.start {
                before += width;
            } else if at < span.end {
                under += width;
            }
            shown.push(c);
        }
        let marks: String = std::iter::repeat_n(mark, under.max(1)).collect();
        let shown = format!("{number:gutter$} | {shown}");
        let _ = writeln!(out, "{}", shown.trim_end());
        let underlined = format!("{:gutter$} | {:before$}{marks} {note}", "", "");
        let _ = writeln!(out, "{}", underlined.trim_end());
    }

    /// Where a line starts to be shown: its start, unless the span lies far to the right.
    fn first_shown(&self, line: Span, span: Span) -> usize {
        let start = line.start
            + (self.source.text[line.start..line.end].len()
                - self.source.text[line.start..line.end]
                    .trim_start_matches('\u{feff}')
                    .len());
        let ahead = &self.source.text[start.min(span.start)..span.start];
        let skip = ahead.chars().count().saturating_sub(LINE_MAX_CHARS / 2);
        let skipped: usize = ahead.chars().take(skip).map(char::len_utf8).sum();
        start.min(span.start) + skipped
    }

    fn visible(&self, at: usize, c: char) -> char {
        let hidden = self
            .conceal
            .is_some_and(|span| (span.start..span.end).contains(&at));
        match c {
            _ if hidden => '*',
            '\t' => ' ',
            c if c.is_control() || c.width() == Some(0) => '\u{fffd}',
            c => c,
        }
    }
}

fn one_json(source: &Source<'_>, diagnostic: &Diagnostic) -> Value {
    let start = source.position(diagnostic.span.start);
    let end = source.position(diagnostic.span.end);
    let hidden = diagnostic.conceal.is_some_and(|secret| {
        secret.start < diagnostic.span.end && diagnostic.span.start < secret.end
    });
    let text = if hidden {
        "***"
    } else {
        source.slice(diagnostic.span)
    };
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|related| {
            let at = source.position(related.span.start);
            json!({
                "line": at.line,
                "column": at.column,
                "start": related.span.start,
                "end": related.span.end,
                "message": related.message,
            })
        })
        .collect();
    json!({
        "severity": diagnostic.severity,
        "code": diagnostic.code.name(),
        "key": diagnostic.key,
        "message": diagnostic.message,
        "file": source.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "start": diagnostic.span.start,
        "end": diagnostic.span.end,
        "text": text,
        "suggestion": diagnostic.suggestion,
        "hint": diagnostic.hint,
        "related": related,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use insta::assert_snapshot;

    fn source(text: &str) -> Source<'_> {
        Source {
            name: "roster.toml",
            text,
        }
    }

    #[test]
    fn a_finding_names_its_place_and_underlines_the_text() {
        let text = "[role.builder]\naccess = \"wrte\"\n";
        let found = Diagnostic::error(
            Code::BadValue,
            Span { start: 24, end: 30 },
            "`wrte` is no access",
        )
        .at("role.builder.access")
        .suggest(Some("write".to_owned()))
        .hint("one of `read`, `write`")
        .relate(Span { start: 0, end: 14 }, "in this table");
        assert_snapshot!(to_text(&source(text), &[found]), @r#"
error: `wrte` is no access
 --> roster.toml:2:10
  |
2 | access = "wrte"
  |          ^^^^^^ did you mean `write`?
1 | [role.builder]
  | -------------- in this table
  = hint: one of `read`, `write`
"#);
    }

    #[test]
    fn wide_characters_tabs_and_control_characters_keep_the_underline_in_place() {
        let text = "\t検 = \u{1b}x";
        let found = Diagnostic::error(Code::Syntax, Span { start: 8, end: 9 }, "no");
        assert_snapshot!(to_text(&source(text), &[found]), @r"
error: no
 --> roster.toml:1:7
  |
1 |  検 = �x
  |        ^
");
    }

    #[test]
    fn an_empty_span_still_gets_a_mark() {
        let found = Diagnostic::warning(Code::Missing, Span::default(), "nothing here");
        assert_snapshot!(to_text(&source(""), &[found]), @r"
warning: nothing here
 --> roster.toml:1:1
  |
1 |
  | ^
");
    }

    #[test]
    fn a_concealed_stretch_is_shown_in_no_rendering() {
        let text = "key_env = \"sk-secret\"";
        let secret = Span { start: 10, end: 21 };
        let found = [Diagnostic::error(Code::BadValue, secret, "no variable").conceal(secret)];
        let shown = to_text(&source(text), &found) + &to_json(&source(text), &found).to_string();
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_mark() {
        let text = "x".repeat(5_000);
        let found = Diagnostic::error(
            Code::Syntax,
            Span {
                start: 4_000,
                end: 4_001,
            },
            "there",
        );
        let shown = to_text(&source(&text), &[found]);
        assert!(shown.lines().all(|line| line.len() < 200), "{shown}");
    }

    #[test]
    fn json_holds_bytes_and_characters() {
        let found = Diagnostic::error(Code::UnknownKey, Span { start: 3, end: 5 }, "m");
        let json = to_json(&source("é\né"), &[found]);
        assert_eq!(json[0]["line"], 2);
        assert_eq!(json[0]["column"], 1);
        assert_eq!(json[0]["end_column"], 2);
        assert_eq!(json[0]["code"], "unknown-key");
        assert_eq!(json[0]["text"], "é");
    }
}
