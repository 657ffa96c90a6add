//! Finds where in a text the hunks of a patch belong. Never changes it, never takes one of several
//! places by chance.
//!
//! The rule. The old lines of a hunk, those that stay and those that go, must stand together in the
//! text; line ends are not compared. Where a hunk names a line, that place is tried first, moved by as
//! many lines as the hunk before it was. If it is not there, it is taken where it stands exactly once
//! in the whole text. Without a number it must stand exactly once after the hunk before it, or first
//! after the line that its `@@` names. Only if nothing was found is the same looked for with blanks at
//! the ends of lines left aside, and then it must stand exactly once.

use super::lines::Line;
use super::{Hunk, Wanted};
use std::ops::Range;

/// Line numbers that a message names at most.
const NAMED_MAX: usize = 5;

/// Where a hunk belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The old lines it stands for.
    pub(crate) lines: Range<usize>,
    /// Whether blanks at the ends of lines were left aside to find it.
    pub(crate) blanks: Blanks,
    /// How many lines from where it says it is, if it says so.
    pub(crate) moved: isize,
}

/// How blanks at the ends of lines were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blanks {
    Alike,
    LeftAside,
}

/// Why a hunk belongs nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlaceFault {
    #[error("its lines are not in the file; the first of them is `{first}`")]
    NotFound { first: String },
    #[error("its lines stand in {places} places (lines {lines}); give more lines around it")]
    Ambiguous { places: String, lines: String },
    #[error("there is no line `{anchor}` for it to come after")]
    NoAnchor { anchor: String },
    #[error("it only adds lines and names no place; give lines around it")]
    Nowhere,
    #[error("the file has only {lines} lines")]
    BeyondEnd { lines: usize },
    #[error("it stands for lines that another hunk changes too")]
    Overlaps,
}

/// The place of each hunk, in the order of the hunks, or the fault of it.
pub(crate) fn places(text: &[Line<'_>], hunks: &[Hunk]) -> Vec<Result<Spot, PlaceFault>> {
    let exact = Lookup::new(text, |line| line);
    let loose = std::cell::OnceCell::new();
    let loose = || loose.get_or_init(|| Lookup::new(text, |line| line.trim_end()));
    let mut after = 0;
    let mut moved = 0;
    let mut taken: Vec<Range<usize>> = Vec::new();
    let mut found = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        let seek = Seek { hunk, after, moved };
        let spot = seek.by(&exact, Blanks::Alike).or_else(|fault| match fault {
            PlaceFault::NotFound { .. } => seek.by(loose(), Blanks::LeftAside),
            other => Err(other),
        });
        let spot = spot.and_then(|spot| {
            let clash = taken.iter().any(|other| overlap(other, &spot.lines));
            if clash {
                Err(PlaceFault::Overlaps)
            } else {
                Ok(spot)
            }
        });
        if let Ok(spot) = &spot {
            after = spot.lines.end;
            moved = spot.moved;
            taken.push(spot.lines.clone());
        }
        found.push(spot);
    }
    found
}

/// Whether two hunks change the same lines. What is only added between lines clashes with nothing but
/// what stands for the lines on both sides of it.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// A text that is searched by whole lines.
struct Lookup {
    /// A LF, then each line with one.
    hay: String,
    /// Where each line begins in it, and its end.
    starts: Vec<usize>,
    dress: fn(&str) -> &str,
}

impl Lookup {
    fn new(text: &[Line<'_>], dress: fn(&str) -> &str) -> Self {
        let mut hay = String::from("\n");
        let mut starts = Vec::with_capacity(text.len() + 1);
        for line in text {
            starts.push(hay.len());
            hay.push_str(dress(line.text));
            hay.push('\n');
        }
        starts.push(hay.len());
        Self { hay, starts, dress }
    }

    fn lines(&self) -> usize {
        self.starts.len() - 1
    }

    /// Lines at which `needle` begins, from `from` on.
    fn all<'l>(&'l self, needle: &'l str, from: usize) -> impl Iterator<Item = usize> + 'l {
        let mut at = self.starts.get(from).map(|start| start - 1);
        std::iter::from_fn(move || {
            let begin = at?;
            let found = begin + self.hay.get(begin..)?.find(needle)?;
            at = Some(found + 1);
            self.starts.binary_search(&(found + 1)).ok()
        })
    }

    fn is_at(&self, needle: &str, line: usize) -> bool {
        let start = self.starts.get(line).map(|start| start - 1);
        start.is_some_and(|start| self.hay[start..].starts_with(needle))
    }
}

/// What one hunk is looked for by.
struct Seek<'h> {
    hunk: &'h Hunk,
    /// The first line after the hunk before.
    after: usize,
    /// How many lines the hunk before was moved.
    moved: isize,
}

impl Seek<'_> {
    fn by(&self, lookup: &Lookup, blanks: Blanks) -> Result<Spot, PlaceFault> {
        let old: Vec<&str> = self
            .hunk
            .old()
            .map(|line| (lookup.dress)(&line.text))
            .collect();
        let spot = |line: usize, moved| Spot {
            lines: line..line + old.len(),
            blanks,
            moved,
        };
        if old.is_empty() {
            let (line, moved) = self.between(lookup)?;
            return Ok(spot(line, moved));
        }
        let needle = format!("\n{}\n", old.join("\n"));
        match &self.hunk.wanted {
            Wanted::Line(said) => {
                let guess = said.saturating_add_signed(self.moved);
                if blanks == Blanks::Alike && lookup.is_at(&needle, guess) {
                    return Ok(spot(guess, self.moved));
                }
                let line = self.only(lookup.all(&needle, 0))?;
                Ok(spot(line, distance(*said, line)))
            }
            Wanted::Anywhere => Ok(spot(self.only(lookup.all(&needle, self.after))?, 0)),
            Wanted::After(anchor) => {
                let from = self.anchor(lookup, anchor)?;
                let mut all = lookup.all(&needle, from);
                let line = all.next().ok_or_else(|| self.not_found())?;
                match (blanks, all.next()) {
                    (Blanks::LeftAside, Some(_)) => self.only(lookup.all(&needle, from)),
                    _ => Ok(line),
                }
                .map(|line| spot(line, 0))
            }
            Wanted::End => {
                let line = lookup.lines().checked_sub(old.len());
                let line = line.filter(|line| lookup.is_at(&needle, *line));
                line.map(|line| spot(line, 0))
                    .ok_or_else(|| self.not_found())
            }
        }
    }

    /// The place of a hunk that only adds lines.
    fn between(&self, lookup: &Lookup) -> Result<(usize, isize), PlaceFault> {
        let lines = lookup.lines();
        match &self.hunk.wanted {
            _ if lines == 0 => Ok((0, 0)),
            Wanted::Line(said) => {
                let line = said.saturating_add_signed(self.moved);
                if line > lines {
                    return Err(PlaceFault::BeyondEnd { lines });
                }
                Ok((line, self.moved))
            }
            Wanted::End => Ok((lines, 0)),
            Wanted::After(anchor) => Ok((self.anchor(lookup, anchor)?, 0)),
            Wanted::Anywhere => Err(PlaceFault::Nowhere),
        }
    }

    /// The line after the first one that reads like `anchor`.
    fn anchor(&self, lookup: &Lookup, anchor: &str) -> Result<usize, PlaceFault> {
        (self.after..lookup.lines())
            .find(|line| lookup.hay[lookup.starts[*line]..lookup.starts[line + 1]].trim() == anchor)
            .map(|line| line + 1)
            .ok_or_else(|| PlaceFault::NoAnchor {
                anchor: anchor.to_owned(),
            })
    }

    fn only(&self, mut all: impl Iterator<Item = usize>) -> Result<usize, PlaceFault> {
        let first = all.next().ok_or_else(|| self.not_found())?;
        let Some(second) = all.next() else {
            return Ok(first);
        };
        let mut found: Vec<usize> = [first, second]
            .into_iter()
            .chain(all)
            .take(NAMED_MAX + 1)
            .collect();
        let more = found.len() > NAMED_MAX;
        found.truncate(NAMED_MAX);
        let mut lines: Vec<String> = found.iter().map(|line| (line + 1).to_string()).collect();
        let places = if more {
            lines.push("…".to_owned());
            format!("more than {NAMED_MAX}")
        } else {
            found.len().to_string()
        };
        Err(PlaceFault::Ambiguous {
            places,
            lines: lines.join(", "),
        })
    }

    fn not_found(&self) -> PlaceFault {
        const SHOWN_MAX: usize = 80;
        let mut old = self.hunk.old().map(|line| line.text.as_str());
        let first = old.find(|text| !text.trim().is_empty()).unwrap_or_default();
        PlaceFault::NotFound {
            first: crate::workspace::text::cut(first, SHOWN_MAX).to_owned(),
        }
    }
}

fn distance(from: usize, to: usize) -> isize {
    // Both are numbers of lines in memory.
    to.cast_signed() - from.cast_signed()
}
