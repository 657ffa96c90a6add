//! Reads the envelope that many models write their patches in. Never needs a line number: its hunks
//! are found by their lines.

use super::hunks;
use super::{Action, FileChange, Hunk, ParseFault, Source, Wanted};
use crate::workspace::names;
use std::path::Path;

/// Its first line.
pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// All files of a patch; what cannot be read goes to `faults`.
pub(super) fn parse(source: &Source<'_>, faults: &mut Vec<ParseFault>) -> Vec<FileChange> {
    let begun = source
        .lines
        .iter()
        .position(|line| line.trim_end() == BEGIN);
    let mut reader = Reader {
        source,
        index: begun.map_or(0, |index| index + 1),
        faults,
    };
    let mut files = Vec::new();
    let mut closed = false;
    while !closed && reader.index < source.lines.len() {
        let raw = reader.take();
        let line = reader.index;
        if let Some(name) = raw.strip_prefix(ADD) {
            files.push(reader.added(name));
        } else if let Some(name) = raw.strip_prefix(DELETE) {
            files.push(change(line, Action::Delete(path(name)), Vec::new()));
        } else if let Some(name) = raw.strip_prefix(UPDATE) {
            files.push(reader.updated(name));
        } else if raw.trim_end() == END {
            closed = true;
        } else if !raw.trim().is_empty() {
            reader.fault(line, "expected `*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`");
            reader.skip_to_section();
        }
    }
    if !closed {
        reader.fault(
            source.lines.len(),
            "`*** End Patch` is missing: the patch may be cut",
        );
    }
    files
}

fn change(line: usize, action: Action, hunks: Vec<Hunk>) -> FileChange {
    FileChange {
        line,
        action,
        hunks,
        mode: None,
    }
}

/// A name after its header, in the one way that names are written.
fn path(name: &str) -> String {
    names::shown(Path::new(&*names::read(name.trim())))
}

struct Reader<'r, 't> {
    source: &'r Source<'t>,
    index: usize,
    faults: &'r mut Vec<ParseFault>,
}

impl<'t> Reader<'_, 't> {
    fn take(&mut self) -> &'t str {
        self.index += 1;
        self.source.at(self.index - 1)
    }

    fn peek(&self) -> &'t str {
        self.source.at(self.index)
    }

    fn fault(&mut self, line: usize, what: &str) {
        self.faults.push(ParseFault {
            line,
            what: what.to_owned(),
        });
    }

    fn skip_to_section(&mut self) {
        while self.index < self.source.lines.len() && !self.peek().starts_with("*** ") {
            self.index += 1;
        }
    }

    fn added(&mut self, name: &str) -> FileChange {
        let line = self.index;
        let mut lines = Vec::new();
        while self.peek().starts_with('+') {
            lines.push(hunks::hunk_line(self.take()));
        }
        let hunk = Hunk {
            line: line + 1,
            wanted: Wanted::Line(0),
            lines,
        };
        let hunks = if hunk.lines.is_empty() {
            Vec::new()
        } else {
            vec![hunk]
        };
        change(line, Action::Create(path(name)), hunks)
    }

    fn updated(&mut self, name: &str) -> FileChange {
        let line = self.index;
        let from = path(name);
        let action = match self.peek().strip_prefix(MOVE) {
            Some(to) => {
                self.index += 1;
                Action::Move { from, to: path(to) }
            }
            None => Action::Update(from),
        };
        let mut hunks = Vec::new();
        while self.index < self.source.lines.len() && !self.peek().starts_with("*** ") {
            hunks.extend(self.hunk());
        }
        if hunks.is_empty() && matches!(action, Action::Update(_)) {
            self.fault(line, "no hunk follows");
        }
        change(line, action, hunks)
    }

    /// A hunk, after its `@@` lines if it has any.
    fn hunk(&mut self) -> Option<Hunk> {
        let line = self.index + 1;
        let mut wanted = Wanted::Anywhere;
        while let Some(anchor) = self.peek().strip_prefix("@@") {
            self.index += 1;
            let anchor = anchor.trim();
            if !anchor.is_empty() {
                wanted = Wanted::After(anchor.to_owned());
            }
        }
        match hunks::body(self.source, self.index, None) {
            Ok((lines, end)) => {
                self.index = end;
                self.blanks();
                if self.peek().trim_end() == END_OF_FILE {
                    self.index += 1;
                    wanted = Wanted::End;
                }
                Some(Hunk {
                    line,
                    wanted,
                    lines,
                })
            }
            Err(fault) => {
                self.faults.push(ParseFault {
                    line: (self.index + 1).min(self.source.lines.len()),
                    ..fault
                });
                self.skip_to_section();
                None
            }
        }
    }

    fn blanks(&mut self) {
        while self.index < self.source.lines.len() && self.peek().trim().is_empty() {
            self.index += 1;
        }
    }
}
