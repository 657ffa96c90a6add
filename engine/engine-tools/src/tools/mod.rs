//! The tools, one file each: what the model is told of it, its arguments, what it does.
//! Never decides who may call which: the catalog does.

pub(crate) mod edit;
pub(crate) mod git;
pub(crate) mod git_rules;
pub(crate) mod glob;
pub(crate) mod grep;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod shell;
pub(crate) mod todo;
pub(crate) mod write;

use crate::mask::Mask;
use crate::workspace::jail::Jail;
use crate::workspace::view::FileView;

/// What the file tools of one agent work with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) jail: Jail,
    pub(crate) view: FileView,
    pub(crate) mask: Mask,
    /// Most bytes of one result, notes not counted.
    pub(crate) output_bytes: usize,
}

/// Collects lines up to a number of bytes and of lines, and counts the rest.
#[derive(Debug)]
pub(crate) struct Lines {
    text: String,
    max_bytes: usize,
    max_lines: usize,
    shown: usize,
    left_out: usize,
}

impl Lines {
    pub(crate) fn new(max_lines: usize, max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            max_lines,
            shown: 0,
            left_out: 0,
        }
    }

    /// Adds a line, or counts it when there is no room; says which. After the first that found no
    /// room every other is counted too.
    pub(crate) fn push(&mut self, line: &str) -> Kept {
        let fits = self.shown < self.max_lines && self.text.len() + line.len() < self.max_bytes;
        if self.left_out > 0 || !fits {
            self.left_out += 1;
            return Kept::No;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.shown += 1;
        Kept::Yes
    }

    /// Counts lines that are not even offered.
    pub(crate) fn leave_out(&mut self, lines: usize) {
        self.left_out += lines;
    }

    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Whether a line found room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    No,
}
