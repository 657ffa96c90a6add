//! Puts hunks into a text. Lines that no hunk touches keep every byte. Never touches a file.
//!
//! Line ends. Where all old lines of a hunk have the very ends of the text's, its new lines have the
//! ends that the patch gives them: a patch that git made gives exactly what git would. Everywhere else
//! the patch speaks of lines and the text decides on ends: new lines take the ends of the lines they
//! replace one by one, further ones repeat the last of them, and where none is replaced they end as the
//! line before. The last line then has an end if it had one before, unless the patch says otherwise.

use super::lines::{self, End, Line};
use super::place::{self, Blanks, PlaceFault, Spot};
use super::{Hunk, HunkLine, Sign};
use std::collections::VecDeque;

/// A text with its hunks put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Woven {
    pub(crate) text: String,
    /// What was forgiven, for the model to know.
    pub(crate) notes: Vec<String>,
}

/// A hunk that was not put in: its number, from 1, its line in the patch, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hunk {number} (line {line} of the patch): {why}")]
pub(crate) struct HunkFault {
    pub(crate) number: usize,
    pub(crate) line: usize,
    pub(crate) why: PlaceFault,
}

/// The text after the hunks, or every hunk that does not belong.
pub(crate) fn weave(text: &str, hunks: &[Hunk]) -> Result<Woven, Vec<HunkFault>> {
    let old = lines::split(text);
    let mut placed: Vec<(Spot, &Hunk)> = Vec::with_capacity(hunks.len());
    let mut faults = Vec::new();
    let mut notes = Vec::new();
    for (number, (spot, hunk)) in place::places(&old, hunks)
        .into_iter()
        .zip(hunks)
        .enumerate()
    {
        let number = number + 1;
        match spot {
            Ok(spot) => {
                notes.extend(note(number, &spot));
                placed.push((spot, hunk));
            }
            Err(why) => faults.push(HunkFault {
                number,
                line: hunk.line,
                why,
            }),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    placed.sort_by_key(|(spot, _)| (spot.lines.start, spot.lines.end));
    let mut weaver = Weaver {
        old: &old,
        new: Vec::with_capacity(old.len()),
        done: 0,
        last: Last::Untouched,
    };
    for (spot, hunk) in placed {
        weaver.put_in(&spot, hunk);
    }
    Ok(Woven {
        text: weaver.finish(),
        notes,
    })
}

fn note(number: usize, spot: &Spot) -> Option<String> {
    let moved = (spot.moved != 0).then(|| {
        let lines = match spot.moved.unsigned_abs() {
            1 => "1 line".to_owned(),
            several => format!("{several} lines"),
        };
        let way = if spot.moved > 0 { "down" } else { "up" };
        format!("{lines} further {way} than it says")
    });
    let blanks = (spot.blanks == Blanks::LeftAside)
        .then(|| "with other blanks at the ends of lines".to_owned());
    let what: Vec<String> = moved.into_iter().chain(blanks).collect();
    (!what.is_empty()).then(|| format!("hunk {number} was found {}", what.join(", ")))
}

/// What is known of the end of the last line.
enum Last {
    /// It is the end of the line that stands there.
    Untouched,
    /// A hunk put the line there and does not say: it has an end if the last line had one.
    AsBefore,
    /// The patch says.
    Told(End),
}

struct Weaver<'o, 'h> {
    old: &'o [Line<'h>],
    new: Vec<Line<'h>>,
    /// Old lines that are behind.
    done: usize,
    last: Last,
}

impl<'h> Weaver<'_, 'h> {
    fn put_in(&mut self, spot: &Spot, hunk: &'h Hunk) {
        self.new.extend(&self.old[self.done..spot.lines.start]);
        self.done = spot.lines.start;
        let exact = self.ends_are_alike(spot, hunk);
        let mut replaced = Ends::default();
        for line in &hunk.lines {
            match line.sign {
                Sign::Keep => {
                    replaced = Ends::default();
                    self.new.push(self.old[self.done]);
                    self.done += 1;
                }
                Sign::Remove => {
                    replaced.open.extend(self.old[self.done].end.some());
                    self.done += 1;
                }
                Sign::Add => {
                    let end = if exact {
                        line.end
                    } else {
                        replaced.next().unwrap_or_else(|| self.end_here())
                    };
                    self.new.push(Line {
                        text: &line.text,
                        end,
                    });
                }
            }
        }
        if self.done == self.old.len() && !exact {
            self.last = last_word(hunk);
        }
    }

    /// Whether the patch means the very ends that the text has. Where there are no old lines to tell,
    /// only an empty text is one whose ends the patch decides on.
    fn ends_are_alike(&self, spot: &Spot, hunk: &Hunk) -> bool {
        if spot.lines.is_empty() {
            return self.old.is_empty();
        }
        let text = &self.old[spot.lines.clone()];
        text.iter().zip(hunk.old()).all(|(a, b)| a.end == b.end)
    }

    /// The end of a line that is put in here.
    fn end_here(&self) -> End {
        let before = self.new.last().and_then(|line| line.end.some());
        let after = || self.old.get(self.done).and_then(|line| line.end.some());
        let any = || self.old.iter().find_map(|line| line.end.some());
        before.or_else(after).or_else(any).unwrap_or(End::Lf)
    }

    fn finish(mut self) -> String {
        self.new.extend(&self.old[self.done..]);
        let Some(last) = self.new.len().checked_sub(1) else {
            return String::new();
        };
        let had_end = self.old.last().is_none_or(|line| line.end != End::None);
        match self.last {
            Last::Told(End::None) => self.new[last].end = End::None,
            Last::AsBefore if !had_end => self.new[last].end = End::None,
            _ => {}
        }
        let mut before = End::Lf;
        for line in &mut self.new[..last] {
            // A line that was the last one and is not any more.
            line.end = line.end.some().unwrap_or(before);
            before = line.end;
        }
        lines::join(&self.new)
    }
}

/// What a hunk that reaches the end of the text says of the end of its last line.
fn last_word(hunk: &Hunk) -> Last {
    let is_new = |line: &&HunkLine| line.sign != Sign::Remove;
    let Some(last) = hunk.lines.iter().rfind(is_new) else {
        return Last::Untouched;
    };
    let old_says = hunk
        .old()
        .next_back()
        .is_some_and(|line| line.end == End::None);
    if last.sign == Sign::Keep {
        Last::Untouched
    } else if old_says || last.end == End::None {
        Last::Told(last.end)
    } else {
        Last::AsBefore
    }
}

/// The ends of replaced lines, handed out one by one; the last of them again and again.
#[derive(Default)]
struct Ends {
    open: VecDeque<End>,
    last: Option<End>,
}

impl Ends {
    fn next(&mut self) -> Option<End> {
        self.last = self.open.pop_front().or(self.last);
        self.last
    }
}
