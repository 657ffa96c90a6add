//! Where errors gain a kind, a hint for the next step and an exit status, and how they are shown.
//! Never prints: it gives text, or an object for programs.

use crate::exit::Exit;
use crate::output::Paint;
use miette::{GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;
use std::fmt;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Report {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    listing: Option<String>,
}

/// An error as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorRecord<'a> {
    schema: &'static str,
    r#type: &'static str,
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    causes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    listing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    exit: u8,
}

impl Report {
    /// A report with its exit status. The message is one sentence without a full stop.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            causes: Vec::new(),
            hint: None,
            listing: None,
        }
    }

    /// Wrong usage or configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Storage failed.
    pub(crate) fn storage(message: impl Into<String>) -> Self {
        Self::new(Exit::Storage, message)
    }

    /// Adds what led to it, down to the root.
    pub(crate) fn because(mut self, error: &dyn std::error::Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            if self.causes.last() != Some(&text) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a text of several lines that is shown before the message as it is.
    pub(crate) fn listing(mut self, listing: impl Into<String>) -> Self {
        self.listing = Some(listing.into());
        self
    }

    /// What went wrong, in one sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The exit status.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// For people, ended with a line feed. Lines are not wrapped: a path in a message stays whole.
    pub(crate) fn for_people(&self, paint: Paint) -> String {
        let theme = match paint {
            Paint::Ansi => GraphicalTheme::unicode(),
            Paint::Plain => GraphicalTheme::unicode_nocolor(),
        };
        let mut text = String::new();
        if let Some(listing) = &self.listing {
            text.push_str(listing.trim_end());
            text.push_str("\n\n");
        }
        GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_wrap_lines(false)
            .render_report(&mut text, &Shown::of(self))
            .unwrap_or_else(|fmt::Error| text.push_str(&self.message));
        text
    }

    /// For programs.
    pub(crate) fn for_programs(&self) -> ErrorRecord<'_> {
        ErrorRecord {
            schema: "codewhale.error/1",
            r#type: "error",
            kind: self.exit.kind(),
            message: &self.message,
            causes: &self.causes,
            listing: self.listing.as_deref(),
            hint: self.hint.as_deref(),
            exit: self.exit.code(),
        }
    }
}

/// A report, or one of its causes, as the chain of errors that miette draws.
#[derive(Debug)]
struct Shown {
    message: String,
    hint: Option<String>,
    cause: Option<Box<Shown>>,
}

impl Shown {
    fn of(report: &Report) -> Self {
        let cause = report.causes.iter().rev().fold(None, |below, message| {
            Some(Box::new(Self {
                message: visible(message),
                hint: None,
                cause: below,
            }))
        });
        Self {
            message: visible(&report.message),
            hint: report.hint.as_deref().map(visible),
            cause,
        }
    }
}

fn visible(text: &str) -> String {
    fleet_tui::text::many_lines(text)
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl miette::Diagnostic for Shown {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    fn parse_error() -> std::num::ParseIntError {
        "x".parse::<i32>().expect_err("no number")
    }

    #[test]
    fn people_read_message_causes_and_hint() {
        let report = Report::usage("`agents` is no number")
            .because(&Outer(parse_error()))
            .hint("write it in digits\nlike 8");
        insta::assert_snapshot!(report.for_people(Paint::Plain), @"
        × `agents` is no number
        ├─▶ outer
        ╰─▶ invalid digit found in string
        help: write it in digits
              like 8
        ");
    }

    #[test]
    fn a_message_alone_is_one_line() {
        let report = Report::storage(
            "The disk is full, and this sentence is longer than any usual terminal is wide, so that it would be wrapped if it were",
        );
        insta::assert_snapshot!(report.for_people(Paint::Plain), @"  × The disk is full, and this sentence is longer than any usual terminal is wide, so that it would be wrapped if it were");
    }

    #[test]
    fn a_listing_comes_first() {
        let report = Report::usage("roster.toml has 2 errors").listing("line 1: a\nline 2: b\n");
        insta::assert_snapshot!(report.for_people(Paint::Plain), @"
        line 1: a
        line 2: b

          × roster.toml has 2 errors
        ");
    }

    #[test]
    fn control_characters_of_a_message_become_visible() {
        let report = Report::usage("no task `\u{1b}[2J`").because(&Outer(parse_error()));
        assert!(!report.for_people(Paint::Plain).contains('\u{1b}'));
    }

    #[test]
    fn programs_read_an_object() {
        let report = Report::usage("no").because(&parse_error()).hint("yes");
        let text = serde_json::to_string(&report.for_programs()).expect("JSON");
        insta::assert_snapshot!(text, @r#"{"schema":"codewhale.error/1","type":"error","kind":"usage","message":"no","causes":["invalid digit found in string"],"hint":"yes","exit":2}"#);
    }
}
