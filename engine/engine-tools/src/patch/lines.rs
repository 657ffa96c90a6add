//! A text as lines with their own ends, so that it can be put together again byte for byte. Never
//! takes a CR alone for a line end.

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Not at all: it is the last one.
    None,
    Lf,
    CrLf,
}

impl End {
    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// This end where it is one.
    pub(crate) fn some(self) -> Option<Self> {
        (self != Self::None).then_some(self)
    }
}

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    pub(crate) text: &'t str,
    pub(crate) end: End,
}

/// The lines of a text.
pub(crate) fn split(text: &str) -> Vec<Line<'_>> {
    text.split_inclusive('\n').map(line).collect()
}

/// One line with its end, if it has one.
pub(crate) fn line(text: &str) -> Line<'_> {
    if let Some(text) = text.strip_suffix("\r\n") {
        Line {
            text,
            end: End::CrLf,
        }
    } else if let Some(text) = text.strip_suffix('\n') {
        Line { text, end: End::Lf }
    } else {
        Line {
            text,
            end: End::None,
        }
    }
}

/// The text of lines.
pub(crate) fn join(lines: &[Line<'_>]) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 2).sum());
    for line in lines {
        text.push_str(line.text);
        text.push_str(line.end.text());
    }
    text
}
