//! Patches as values: what a text in one of two forms asks for. Never touches a file; see
//! `plan` for what it means to the files that are there.
//!
//! Two forms are read. *Git's unified diff*: `diff --git` headers, or only `---` and `+++`; new,
//! deleted, renamed and copied files, the executable bit, `\ No newline at end of file`, quoted
//! names. *The envelope* that many models write: `*** Begin Patch`, `*** Add File:`,
//! `*** Delete File:`, `*** Update File:`, `*** Move to:`, `*** End Patch`. Links, submodules and
//! binary differences are refused.
//!
//! What is forgiven: text before the first file and between files; counts in `@@` lines that do not
//! fit the lines below them, or no numbers at all; empty context lines without their blank; a whole
//! patch in CR LF; a fence of backticks around it. Where lines are found is told by `place`.

mod envelope;
mod hunks;
mod lines;
pub(crate) mod place;
pub(crate) mod plan;
#[cfg(test)]
mod tests;
mod unified;
mod weave;

use lines::End;
use std::fmt;

/// What a patch asks for, in its own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// One entry for each file section.
    pub(crate) files: Vec<FileChange>,
}

impl Patch {
    /// How many file sections it has.
    #[must_use]
    pub fn sections(&self) -> usize {
        self.files.len()
    }
}

/// What a patch asks of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// Where it begins in the patch, from 1.
    pub(crate) line: usize,
    pub(crate) action: Action,
    pub(crate) hunks: Vec<Hunk>,
    pub(crate) mode: Option<FileMode>,
}

/// The kinds of change. Paths are written as [`crate::workspace::names`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Create(String),
    Delete(String),
    Update(String),
    Move { from: String, to: String },
    Copy { from: String, to: String },
}

/// All that git keeps of a file's mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMode {
    Plain,
    Executable,
}

/// One place of a file and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Where it begins in the patch, from 1.
    pub(crate) line: usize,
    pub(crate) wanted: Wanted,
    pub(crate) lines: Vec<HunkLine>,
}

/// Where a hunk says that it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// At this line of the file as it was, from 0.
    Line(usize),
    /// After the line that reads like this, blanks around it aside.
    After(String),
    /// At the end of the file.
    End,
    /// It does not say.
    Anywhere,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkLine {
    pub(crate) sign: Sign,
    /// Without its sign and its end.
    pub(crate) text: String,
    pub(crate) end: End,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Keep,
    Remove,
    Add,
}

impl Hunk {
    /// The lines that must be there before.
    pub(crate) fn old(&self) -> impl DoubleEndedIterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.sign != Sign::Add)
    }

    /// How many lines it has of a sign.
    pub(crate) fn count(&self, sign: Sign) -> usize {
        self.lines.iter().filter(|line| line.sign == sign).count()
    }
}

/// What cannot be read in a patch, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseFault {
    /// Line of the patch, from 1.
    pub line: usize,
    /// One sentence.
    pub what: String,
}

impl fmt::Display for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch: {}", self.line, self.what)
    }
}

/// Reads a patch in either form.
///
/// # Errors
/// Everything that is wrong with it, in its order.
pub fn parse(text: &str) -> Result<Patch, Vec<ParseFault>> {
    let source = Source::of(text);
    let form = source.lines.iter().find_map(|line| {
        let is_git = line.starts_with("diff --git ") || line.starts_with("--- ");
        let is_envelope = line.trim_end() == envelope::BEGIN;
        (is_git || is_envelope).then_some(is_envelope)
    });
    let mut faults = Vec::new();
    let files = match form {
        Some(true) => envelope::parse(&source, &mut faults),
        _ => unified::parse(&source, &mut faults),
    };
    if files.is_empty() && faults.is_empty() {
        faults.push(ParseFault {
            line: 1,
            what: "no file is named; begin with `--- a/path` and `+++ b/path`".to_owned(),
        });
    }
    if faults.is_empty() {
        Ok(Patch { files })
    } else {
        faults.sort_by_key(|fault| fault.line);
        Err(faults)
    }
}

/// The lines of a patch. Where every line ends in CR LF, the CR is the patch's own and not its files'.
struct Source<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Source<'t> {
    fn of(text: &'t str) -> Self {
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        if lines.iter().all(|line| line.ends_with('\r')) {
            lines
                .iter_mut()
                .for_each(|line| *line = &line[..line.len() - 1]);
        }
        Self { lines }
    }

    /// A line, empty beyond the end.
    fn at(&self, index: usize) -> &'t str {
        self.lines.get(index).copied().unwrap_or_default()
    }
}
