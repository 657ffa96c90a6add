//! Replay: every whole line in order, checked before it is parsed, and the judgement at the first bad
//! one. Never changes a byte.

use crate::chain::{Chain, Fault, watermark};
use crate::codec::{Codec, Entry, Unreadable, decode, writer_version};
use crate::disk::{Disk, DiskFile, Mode, RealDisk};
use crate::error::{Damage, Place, ReplayError};
use crate::format::{BATCH_MAX_BYTES, Head, SEGMENT, Seq};
use crate::hint::Hint;
use crate::line::{Envelope, may_be_torn_first, version};
use crate::scan::{Lines, Piece};
use std::io;
use std::path::{Path, PathBuf};

/// What is done with each entry. An error stops the replay there.
pub type OnEntry<'a, R> =
    &'a mut dyn FnMut(Entry<R>) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// A ledger that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Its last whole line; `None` when it holds none.
    pub head: Option<Head>,
    /// How it ends.
    pub tail: Tail,
    /// Bytes of its whole lines.
    pub(crate) good_bytes: u64,
}

/// How a ledger ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// With a whole line.
    Whole,
    /// With a whole line that lacks its line feed.
    Unended,
    /// With bytes of a batch that was never acknowledged.
    Torn(Torn),
}

/// Bytes at the end that were never acknowledged. The next writer cuts them off and keeps them aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// Where they begin.
    pub place: Place,
    /// The number that the line there would have.
    pub seq: Seq,
    /// How many bytes.
    pub bytes: u64,
    /// What is wrong with the first of them.
    pub found: String,
}

/// Reads the ledger in `folder`, also beside a living writer, whose last batch may then show as torn.
/// Changes no byte.
///
/// # Errors
/// When there is no ledger, an acknowledged line is damaged, a line or record is newer than this
/// program, `on_entry` refuses an entry, or the storage fails.
pub fn replay<C: Codec>(
    folder: &Path,
    codec: &C,
    on_entry: OnEntry<'_, C::Record>,
) -> Result<Replayed, ReplayError> {
    replay_disk(&RealDisk::new(folder), codec, on_entry)
}

pub(crate) fn replay_disk<C: Codec>(
    disk: &dyn Disk,
    codec: &C,
    on_entry: OnEntry<'_, C::Record>,
) -> Result<Replayed, ReplayError> {
    let path = disk.path(SEGMENT);
    // The hint is read first: read later, it could speak of lines that came after the end was fixed.
    let hint = Hint::read(disk).map_err(ReplayError::io(path.clone()))?;
    let file = open_segment(disk)?;
    let end = file.length().map_err(ReplayError::io(path.clone()))?;
    Replay {
        codec,
        path,
        hint,
        end,
        chain: Chain { head: None },
        watermark: Seq(0),
        writer: None,
    }
    .run(&*file, on_entry)
}

fn open_segment(disk: &dyn Disk) -> Result<Box<dyn DiskFile>, ReplayError> {
    disk.open(SEGMENT, Mode::Read)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ReplayError::Missing(disk.path("")),
            _ => ReplayError::io(disk.path(SEGMENT))(error),
        })
}

struct Replay<'c, C> {
    codec: &'c C,
    path: PathBuf,
    hint: Option<Hint>,
    end: u64,
    chain: Chain,
    /// The largest durable watermark of a whole line.
    watermark: Seq,
    writer: Option<String>,
}

impl<C: Codec> Replay<'_, C> {
    fn run(
        mut self,
        file: &dyn DiskFile,
        on_entry: OnEntry<'_, C::Record>,
    ) -> Result<Replayed, ReplayError> {
        let mut lines = Lines::new(file, 0, self.end);
        let mut good_bytes = 0;
        let mut tail = Tail::Whole;
        while let Some(piece) = lines.next().map_err(ReplayError::io(self.path.clone()))? {
            match self.chain.accept(&piece) {
                Ok(envelope) => {
                    self.take(&piece, &envelope, on_entry)?;
                    good_bytes += piece.length;
                    if !piece.ended {
                        tail = Tail::Unended;
                    }
                }
                Err(fault) => {
                    let bad = self.judge_alone(&piece, &fault)?;
                    tail = Tail::Torn(self.judge(bad, &mut lines, &fault)?);
                    break;
                }
            }
        }
        self.nothing_is_missing(good_bytes)?;
        Ok(Replayed {
            head: self.chain.head,
            tail,
            good_bytes,
        })
    }

    fn take(
        &mut self,
        piece: &Piece<'_>,
        envelope: &Envelope<'_>,
        on_entry: OnEntry<'_, C::Record>,
    ) -> Result<(), ReplayError> {
        self.watermark = self.watermark.max(envelope.durable);
        self.fits_hint(piece)?;
        if envelope.seq == Seq(1) {
            self.writer = writer_version(envelope.records);
        }
        let entry = decode(self.codec, envelope).map_err(|error| {
            let place = self.place_of(envelope.seq, piece.byte);
            refusal(error, place, self.writer.as_ref())
        })?;
        on_entry(entry).map_err(|source| {
            let place = self.place_of(envelope.seq, piece.byte);
            ReplayError::Refused { place, source }
        })
    }

    /// A line that the hint speaks of must be the very line it speaks of.
    fn fits_hint(&self, piece: &Piece<'_>) -> Result<(), ReplayError> {
        match (self.hint, self.chain.head) {
            (Some(hint), Some(head)) if hint.seq == head.seq && hint.sum != head.sum => {
                Err(ReplayError::Damaged(Damage {
                    place: self.place_of(head.seq, piece.byte),
                    expected: format!("sum {}, as the file `durable` has it", hint.sum),
                    found: format!("sum {}", head.sum),
                }))
            }
            _ => Ok(()),
        }
    }

    /// What the first bad piece says by itself: another format, not a ledger, or never torn.
    fn judge_alone(&mut self, piece: &Piece<'_>, fault: &Fault) -> Result<Torn, ReplayError> {
        let seq = self.chain.next_seq();
        let place = self.place_of(seq, piece.byte);
        let first = seq == Seq(1);
        let version = match fault {
            Fault::Version(found) => Some(*found),
            _ if first => version(piece.bytes).filter(|v| *v > crate::format::FORMAT),
            _ => None,
        };
        if let Some(found) = version {
            return Err(ReplayError::Newer {
                place,
                found,
                writer: self.writer.clone(),
            });
        }
        if first && !may_be_torn_first(piece.bytes) {
            return Err(ReplayError::NotALedger(place));
        }
        if !fault.may_be_torn() {
            return Err(self.damage(place, fault));
        }
        self.watermark = self.watermark.max(watermark(piece).unwrap_or_default());
        Ok(Torn {
            place,
            seq,
            bytes: self.end - piece.byte,
            found: fault.found(),
        })
    }

    /// Torn or damaged: damaged when anything knows the bad line to have been on disk, or when there
    /// are more bad bytes than one batch may have.
    fn judge(
        &mut self,
        torn: Torn,
        rest: &mut Lines<'_>,
        fault: &Fault,
    ) -> Result<Torn, ReplayError> {
        if torn.bytes > BATCH_MAX_BYTES as u64 {
            return Err(self.damage(torn.place, fault));
        }
        while let Some(piece) = rest.next().map_err(ReplayError::io(self.path.clone()))? {
            self.watermark = self.watermark.max(watermark(&piece).unwrap_or_default());
        }
        let known = self
            .hint
            .map_or(self.watermark, |hint| self.watermark.max(hint.seq));
        if torn.seq <= known {
            return Err(self.damage(torn.place, fault));
        }
        Ok(torn)
    }

    /// The file must not end before the last line that is known to be durable.
    fn nothing_is_missing(&self, good_bytes: u64) -> Result<(), ReplayError> {
        let next = self.chain.next_seq();
        match self.hint {
            Some(hint) if hint.seq >= next => Err(ReplayError::Damaged(Damage {
                place: self.place_of(next, good_bytes),
                expected: format!("line {next}, since line {} was acknowledged", hint.seq),
                found: "the end of the file".to_owned(),
            })),
            _ => Ok(()),
        }
    }

    fn damage(&self, place: Place, fault: &Fault) -> ReplayError {
        let expected = fault.expected(self.chain.next_seq());
        ReplayError::Damaged(Damage {
            place,
            expected,
            found: fault.found(),
        })
    }

    /// One segment holds all lines, so a line's number is its place in the file.
    fn place_of(&self, seq: Seq, byte: u64) -> Place {
        Place {
            segment: self.path.clone(),
            line: seq.0,
            byte,
        }
    }
}

/// Why a whole line is refused; `writer` is the product version that the first line names.
pub(crate) fn refusal(error: Unreadable, place: Place, writer: Option<&String>) -> ReplayError {
    match error {
        Unreadable::Unknown(kind) => ReplayError::UnknownRecord {
            place,
            kind,
            writer: writer.cloned(),
        },
        Unreadable::Malformed { kind, reason } => ReplayError::Malformed {
            place,
            reason: format!("`{kind}`: {reason}"),
        },
        Unreadable::NotRecords(error) => ReplayError::Malformed {
            place,
            reason: error.to_string(),
        },
    }
}
