//! From the first byte to the last: which pieces are the lines that must stand there, which are damaged,
//! and where the chain is found again behind damage. Never stops at damage.

use crate::error::InspectError;
use crate::line::{KNOWN_FORMAT, Line, NoLine, leading_format, parted, read, sum_after};
use crate::pieces::{Piece, Pieces};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// A place in a ledger.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The segment's path.
    pub segment: PathBuf,
    /// The line of the file, counted from 1; behind damage that is not its `seq`.
    pub line: u64,
    /// Where it begins, in bytes from the segment's start.
    pub byte: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            segment,
            line,
            byte,
        } = self;
        write!(f, "{}, line {line}, byte {byte}", segment.display())
    }
}

/// A place where something else stands than must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    /// The number of the line that should stand there.
    pub(crate) seq: u64,
    pub(crate) expected: String,
    pub(crate) found: String,
    /// Whether the bytes there can be what a torn write left of the line.
    pub(crate) may_be_torn: bool,
}

/// What the walk meets.
pub(crate) enum Step<'s, 'a> {
    /// A whole line.
    Line(&'s Line<'a>),
    /// A fault; the piece there is passed over.
    Fault(Fault),
    /// These lines are not in the file, as the next line shows. A fault came before.
    Lost { first: u64, last: u64 },
}

/// What a walk found besides its steps.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// The largest durable watermark of any line of the right shape.
    pub(crate) watermark: u64,
    /// Pieces between line feeds.
    pub(crate) pieces: u64,
    /// The number that the next line would have.
    pub(crate) next_seq: u64,
}

/// The segment of a run's folder, or the file itself.
pub(crate) fn segment_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join("ledger.jsonl")
    } else {
        path.to_owned()
    }
}

/// The bytes of a ledger, and what they are called in messages.
pub(crate) struct Segment {
    path: PathBuf,
    bytes: u64,
    reader: Box<dyn Read>,
}

impl Segment {
    /// The segment of a run's folder, or the file itself.
    pub(crate) fn open(path: &Path) -> Result<Self, InspectError> {
        let path = segment_of(path);
        let failed = reading(&path);
        let file = File::open(&path).map_err(&failed)?;
        let bytes = file.metadata().map_err(&failed)?.len();
        Ok(Self {
            path,
            bytes,
            reader: Box::new(file),
        })
    }

    /// Bytes in memory.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self {
            path: PathBuf::from("ledger.jsonl"),
            bytes: bytes.len() as u64,
            reader: Box::new(Cursor::new(bytes)),
        }
    }
}

fn reading(path: &Path) -> impl Fn(io::Error) -> InspectError + use<> {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::NotFound => InspectError::Missing(path.clone()),
        _ => InspectError::Read {
            path: path.clone(),
            source,
        },
    }
}

/// Walks through a ledger; `step` may stop it with an error.
pub(crate) fn walk(
    segment: Segment,
    step: &mut dyn FnMut(Step<'_, '_>) -> Result<(), InspectError>,
) -> Result<Walked, InspectError> {
    let Segment {
        path,
        bytes,
        reader,
    } = segment;
    let failed = reading(&path);
    let mut pieces = Pieces::of(reader, bytes).map_err(&failed)?;
    let mut walk = Walk {
        segment: path,
        links: vec![String::new()],
        good: String::new(),
        last_epoch: 1,
        is_behind_fault: false,
        walked: Walked {
            bytes,
            next_seq: 1,
            ..Walked::default()
        },
    };
    while let Some((piece, ahead)) = pieces.next().map_err(&failed)? {
        walk.piece(&piece, ahead.as_ref(), step)?;
    }
    Ok(walk.walked)
}

struct Walk {
    segment: PathBuf,
    /// Sums that the next line may follow from. Empty: none can be told, and any line may follow.
    links: Vec<String>,
    /// The sum of the last whole line.
    good: String,
    last_epoch: u64,
    is_behind_fault: bool,
    walked: Walked,
}

impl Walk {
    fn piece(
        &mut self,
        piece: &Piece<'_>,
        ahead: Option<&Piece<'_>>,
        step: &mut dyn FnMut(Step<'_, '_>) -> Result<(), InspectError>,
    ) -> Result<(), InspectError> {
        self.walked.pieces = piece.number;
        let line = match read(piece) {
            Ok(line) => line,
            Err(wrong) => {
                if let Some(found) = self.newer_format(piece, &wrong) {
                    let place = self.place(piece);
                    return Err(InspectError::Newer {
                        place,
                        found,
                        known: KNOWN_FORMAT,
                    });
                }
                let expected = format!("line {}", self.walked.next_seq);
                let fault = self.fault(piece, expected, wrong.to_string());
                self.pass_over(piece);
                return step(Step::Fault(fault));
            }
        };
        if line.dw < line.seq {
            self.walked.watermark = self.walked.watermark.max(line.dw);
        }
        match self.judge(piece, &line, ahead) {
            Judgement::Follows => {}
            Judgement::Behind(lost) => {
                let (first, last) = lost;
                step(Step::Lost { first, last })?;
            }
            Judgement::Gap(fault, (first, last)) => {
                step(Step::Fault(fault))?;
                step(Step::Lost { first, last })?;
            }
            Judgement::Damaged(fault) => {
                self.pass_over(piece);
                return step(Step::Fault(fault));
            }
        }
        self.walked.next_seq = line.seq + 1;
        self.last_epoch = line.epoch;
        line.sum.clone_into(&mut self.good);
        self.links = vec![self.good.clone()];
        self.is_behind_fault = false;
        step(Step::Line(&line))
    }

    fn judge(&self, piece: &Piece<'_>, line: &Line<'_>, ahead: Option<&Piece<'_>>) -> Judgement {
        let next = self.walked.next_seq;
        let follows = |before: &String| sum_after(before, line.body) == line.sum;
        let is_linked = self.links.iter().any(follows);
        let may_stand = is_linked || self.links.is_empty() || is_confirmed(line, ahead);
        let (expected, found) = if line.seq < next || (line.seq > next && !may_stand) {
            (format!("line {next}"), format!("line {}", line.seq))
        } else if !may_stand || (line.seq == next && !is_linked && !self.links.is_empty()) {
            let expected = sum_after(&self.good, line.body);
            (format!("sum {expected}"), format!("sum {}", line.sum))
        } else if line.epoch < self.last_epoch {
            (
                format!("epoch {} or later", self.last_epoch),
                format!("epoch {}", line.epoch),
            )
        } else if line.dw >= line.seq {
            (format!("dw below {}", line.seq), format!("dw {}", line.dw))
        } else {
            return self.after_what(piece, line);
        };
        let fault = self.fault(piece, expected, found);
        Judgement::Damaged(Fault {
            may_be_torn: fault.may_be_torn && !is_linked,
            ..fault
        })
    }

    /// The newer format that a piece is of. Nothing else is known of the first line of such a ledger.
    fn newer_format(&self, piece: &Piece<'_>, wrong: &NoLine) -> Option<u64> {
        let found = match wrong {
            NoLine::Format(found) => Some(*found),
            _ if piece.byte == 0 => leading_format(piece.bytes),
            _ => None,
        };
        found.filter(|found| *found > KNOWN_FORMAT && self.is_meant(piece))
    }

    /// Whether a piece says its format on purpose: on line 1, or with a sum that follows. Elsewhere its
    /// first digit is more likely damaged.
    fn is_meant(&self, piece: &Piece<'_>) -> bool {
        let follows = |(body, stated)| self.links.iter().any(|sum| sum_after(sum, body) == stated);
        piece.byte == 0 || parted(piece.bytes).is_some_and(follows)
    }

    /// Where a line that may stand here stands in the chain.
    fn after_what(&self, piece: &Piece<'_>, line: &Line<'_>) -> Judgement {
        let next = self.walked.next_seq;
        let lost = (next, line.seq - 1);
        match (line.seq == next, self.is_behind_fault) {
            (true, _) => Judgement::Follows,
            (false, true) => Judgement::Behind(lost),
            (false, false) => {
                let found = format!("line {}", line.seq);
                Judgement::Gap(self.fault(piece, format!("line {next}"), found), lost)
            }
        }
    }

    /// After a bad piece that ends like a line the next one may follow from what it states, from what it
    /// should have stated, or from the last whole line; after any other piece nothing can be told.
    fn pass_over(&mut self, piece: &Piece<'_>) {
        let mut links = Vec::new();
        if let Some((body, stated)) = parted(piece.bytes) {
            links.extend(self.links.iter().map(|sum| sum_after(sum, body)));
            links.extend([stated.to_owned(), self.good.clone()]);
        }
        self.links = links;
        self.is_behind_fault = true;
    }

    fn fault(&self, piece: &Piece<'_>, expected: String, found: String) -> Fault {
        let seq = self.walked.next_seq;
        let begins_as_ledger = seq > 1 || may_be_first(piece.bytes);
        Fault {
            place: self.place(piece),
            seq,
            expected,
            found,
            may_be_torn: begins_as_ledger,
        }
    }

    fn place(&self, piece: &Piece<'_>) -> Place {
        Place {
            segment: self.segment.clone(),
            line: piece.number,
            byte: piece.byte,
        }
    }
}

/// Whether the line after `line` follows from it: then `line` is what was written, and lines before it are
/// missing. Otherwise its own number may be what is damaged.
fn is_confirmed(line: &Line<'_>, ahead: Option<&Piece<'_>>) -> bool {
    ahead.is_some_and(|piece| {
        read(piece).is_ok_and(|after| {
            after.seq == line.seq + 1 && sum_after(line.sum, after.body) == after.sum
        })
    })
}

/// What a line of the right shape is.
enum Judgement {
    /// The one that must follow.
    Follows,
    /// The first whole one behind a fault; these lie between.
    Behind((u64, u64)),
    /// Whole, but these are missing before it.
    Gap(Fault, (u64, u64)),
    /// Not one that may stand here.
    Damaged(Fault),
}

/// True for what a torn write may have left of the very first line.
fn may_be_first(bytes: &[u8]) -> bool {
    let first = br#"{"v":1,"seq":1,"#;
    let common = bytes.len().min(first.len());
    bytes.first() == Some(&0) || (common > 0 && bytes[..common] == first[..common])
}
