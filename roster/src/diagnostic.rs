//! What is wrong with a text, as plain data. Never prints and never colours: `render` turns it into
//! text or JSON.

use crate::source::Span;
use serde::Serialize;

/// One finding about a text that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the text is refused for it.
    pub severity: Severity,
    /// What sort of fault it is.
    pub code: Code,
    /// The key it is about, as a path: `role.builder.access`, `task.tests.timeout`. Empty for the file.
    pub key: String,
    /// One sentence that names the thing.
    pub message: String,
    /// What to underline. Empty: a place between two characters.
    pub span: Span,
    /// What was probably meant, ready to be written in its place.
    pub suggestion: Option<String>,
    /// The next step.
    pub hint: Option<String>,
    /// Other places that belong to it.
    pub related: Vec<Related>,
    /// A stretch of the text that must not be shown, because it may hold a key.
    pub conceal: Option<Span>,
}

/// Another place that belongs to a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// The place.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// Whether a text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Refused.
    Error,
    /// Accepted, but worth a look.
    Warning,
}

/// The sort of a fault. Its kebab-case name is stable, for filters; [`Code::about`] says what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "`about` documents each for readers of the output as well"
)]
pub enum Code {
    Syntax,
    TooLarge,
    UnknownKey,
    WrongType,
    BadValue,
    UnknownName,
    Duplicate,
    Cycle,
    Missing,
    Unset,
    Conflict,
    NotSupported,
    Suspicious,
}

impl Code {
    /// Every sort.
    pub const ALL: [Self; 13] = [
        Self::Syntax,
        Self::TooLarge,
        Self::UnknownKey,
        Self::WrongType,
        Self::BadValue,
        Self::UnknownName,
        Self::Duplicate,
        Self::Cycle,
        Self::Missing,
        Self::Unset,
        Self::Conflict,
        Self::NotSupported,
        Self::Suspicious,
    ];

    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::TooLarge => "too-large",
            Self::UnknownKey => "unknown-key",
            Self::WrongType => "wrong-type",
            Self::BadValue => "bad-value",
            Self::UnknownName => "unknown-name",
            Self::Duplicate => "duplicate",
            Self::Cycle => "cycle",
            Self::Missing => "missing",
            Self::Unset => "unset",
            Self::Conflict => "conflict",
            Self::NotSupported => "not-supported",
            Self::Suspicious => "suspicious",
        }
    }

    /// What is wrong, in a few words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Syntax => "the text is not TOML",
            Self::TooLarge => "the file is larger than a roster may be",
            Self::UnknownKey => "a key or table that nobody knows",
            Self::WrongType => "a text where a number belongs, and the like",
            Self::BadValue => "the right type, but not a value that is accepted",
            Self::UnknownName => "a role, task, provider or tool that does not exist",
            Self::Duplicate => "something is said twice",
            Self::Cycle => "tasks wait for each other",
            Self::Missing => "something that must be said is not",
            Self::Unset => "`${NAME}` or `~` has no value here",
            Self::Conflict => "two keys do not fit each other",
            Self::NotSupported => "a key or value of a later version",
            Self::Suspicious => "reads as a mistake, but may be meant: the only sort of warnings",
        }
    }

    /// True for a fault that may only be the shadow of another one: what seems to be absent may be
    /// there, misspelt or behind a syntax error.
    pub(crate) fn is_about_absence(self) -> bool {
        matches!(self, Self::Missing | Self::UnknownName)
    }
}

impl Diagnostic {
    /// An error.
    pub(crate) fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            key: String::new(),
            message: message.into(),
            span,
            suggestion: None,
            hint: None,
            related: Vec::new(),
            conceal: None,
        }
    }

    /// A warning.
    pub(crate) fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Names the key it is about.
    pub(crate) fn at(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Adds what was probably meant.
    pub(crate) fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another place.
    pub(crate) fn relate(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related.push(Related {
            span,
            message: message.into(),
        });
        self
    }

    /// Keeps a stretch of the text out of every rendering.
    pub(crate) fn conceal(mut self, span: Span) -> Self {
        self.conceal = Some(span);
        self
    }

    /// Moves every place into `text`, so that no reader needs to check.
    pub(crate) fn within(mut self, text: &str) -> Self {
        self.span = self.span.within(text);
        self.conceal = self.conceal.map(|span| span.within(text));
        for related in &mut self.related {
            related.span = related.span.within(text);
        }
        self
    }
}

/// A text quoted for a message: in back quotes, on one line, without control characters, at most 60
/// characters.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let mut shown: String = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_short_and_holds_no_control_characters() {
        assert_eq!(quoted("wrte"), "`wrte`");
        assert_eq!(quoted("a\n\u{1b}[31m"), "`a\u{fffd}\u{fffd}[31m`");
        assert_eq!(quoted(&"é".repeat(61)), format!("`{}…`", "é".repeat(60)));
    }
}
