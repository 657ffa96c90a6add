//! Verifying a ledger: every damaged place, the torn end that is no damage, and the head. Never mends.

use crate::blobs::{BlobReport, References};
use crate::error::InspectError;
use crate::line::{Line, sum_after};
use crate::walk::{Fault, Place, Segment, Step, Walked, segment_of, walk};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Most bytes that one torn batch can leave.
const BATCH_MAX_BYTES: u64 = 1024 * 1024;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The segment that was read.
    pub path: PathBuf,
    /// Bytes read.
    pub bytes: u64,
    /// Whole lines; those of a torn end are not counted.
    pub lines: u64,
    /// The last whole line.
    pub head: Option<Head>,
    /// Every damaged place, in the order of the file.
    pub damage: Vec<Damage>,
    /// A batch at the end that was never acknowledged. The next writer cuts it off.
    pub torn: Option<Torn>,
    /// What was found of the blobs, where they were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blobs: Option<BlobReport>,
}

/// A line, and what makes all before it tamper-evident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// Its number.
    pub seq: u64,
    /// Who wrote it.
    pub epoch: u64,
    /// Its sum.
    pub sum: String,
}

/// A damaged place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Where.
    pub place: Place,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// First and last number of the lines that are not there because of it.
    pub lost: Option<(u64, u64)>,
}

/// Bytes at the end that were never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Torn {
    /// Where they begin.
    pub place: Place,
    /// How many.
    pub bytes: u64,
}

/// Reads the whole ledger at `path`, a run's folder or a segment, and all blobs that its records refer to,
/// and lists everything that is wrong.
///
/// # Errors
/// When there is no ledger, it is of a newer format, or it cannot be read.
pub fn verify(path: &Path) -> Result<Report, InspectError> {
    let (mut report, references) =
        lines_of(Segment::open(path), path, Hint::beside(path).as_ref())?;
    let end = report
        .torn
        .as_ref()
        .map_or(u64::MAX, |torn| torn.place.byte);
    let folder = report.path.parent().unwrap_or(Path::new(""));
    report.blobs = Some(references.check(folder, end));
    Ok(report)
}

/// As [`verify`], without the blobs.
pub(crate) fn verify_lines(path: &Path) -> Result<Report, InspectError> {
    let (report, _) = lines_of(Segment::open(path), path, Hint::beside(path).as_ref())?;
    Ok(report)
}

/// Verifies the bytes of a ledger and, where there is one, of the file `durable`, without a folder. Pure:
/// the same bytes always give the same answer.
///
/// # Errors
/// When it is of a newer format.
pub fn verify_bytes(ledger: &[u8], durable: Option<&[u8]>) -> Result<Report, InspectError> {
    let segment = Segment::of(ledger.to_vec());
    let hint = durable.and_then(Hint::read);
    let (report, _) = lines_of(Ok(segment), Path::new("ledger.jsonl"), hint.as_ref())?;
    Ok(report)
}

fn lines_of(
    segment: Result<Segment, InspectError>,
    path: &Path,
    hint: Option<&Hint>,
) -> Result<(Report, References), InspectError> {
    let mut found = Found {
        segment: segment_of(path),
        ..Found::default()
    };
    let walked = walk(segment?, &mut |step| {
        found.step(step, hint);
        Ok(())
    })?;
    let references = std::mem::take(&mut found.references);
    Ok((found.report(&walked, hint), references))
}

/// What the walk has met so far.
#[derive(Default)]
struct Found {
    segment: PathBuf,
    lines: u64,
    head: Option<Head>,
    damage: Vec<Damage>,
    first: Option<First>,
    references: References,
}

/// The first fault, and what stands before it.
struct First {
    fault: Fault,
    lines: u64,
    head: Option<Head>,
}

impl Found {
    fn step(&mut self, step: Step<'_, '_>, hint: Option<&Hint>) {
        match step {
            Step::Line(line) => {
                self.lines += 1;
                self.references.note(line, &self.segment);
                self.damage
                    .extend(hint.and_then(|hint| hint.unlike(line, &self.segment)));
                let sum = line.sum.to_owned();
                self.head = Some(Head {
                    seq: line.seq,
                    epoch: line.epoch,
                    sum,
                });
            }
            Step::Fault(fault) => {
                let Fault {
                    place,
                    expected,
                    found,
                    ..
                } = fault.clone();
                self.damage.push(Damage {
                    place,
                    expected,
                    found,
                    lost: None,
                });
                let (lines, head) = (self.lines, self.head.clone());
                self.first.get_or_insert(First { fault, lines, head });
            }
            Step::Lost { first, last } => {
                if let Some(damage) = self.damage.last_mut() {
                    damage.lost = Some((first, last));
                }
            }
        }
    }

    fn report(mut self, walked: &Walked, hint: Option<&Hint>) -> Report {
        let (path, bytes) = (self.segment, walked.bytes);
        let known = walked.watermark.max(hint.map_or(0, |hint| hint.seq));
        if let Some(First { fault, lines, head }) = self.first {
            let left = bytes - fault.place.byte;
            if fault.may_be_torn && fault.seq > known && left <= BATCH_MAX_BYTES {
                let torn = Some(Torn {
                    place: fault.place,
                    bytes: left,
                });
                return Report {
                    path,
                    bytes,
                    lines,
                    head,
                    damage: Vec::new(),
                    torn,
                    blobs: None,
                };
            }
        }
        if let Some(hint) = hint.filter(|hint| hint.seq >= walked.next_seq) {
            let line = walked.pieces + 1;
            self.damage.push(Damage {
                place: Place {
                    segment: path.clone(),
                    line,
                    byte: bytes,
                },
                expected: format!("the lines up to {}, as acknowledged", hint.seq),
                found: "the end of the file".to_owned(),
                lost: Some((walked.next_seq, hint.seq)),
            });
        }
        let (lines, head, damage) = (self.lines, self.head, self.damage);
        Report {
            path,
            bytes,
            lines,
            head,
            damage,
            torn: None,
            blobs: None,
        }
    }
}

impl Report {
    /// True when nothing is damaged. A torn end is no damage.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.places() == 0
    }

    /// How many places are damaged, blobs among them.
    fn places(&self) -> usize {
        let blobs = self.blobs.as_ref().map_or(0, |blobs| blobs.damage.len());
        self.damage.len() + blobs
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let path = self.path.display();
        writeln!(
            out,
            "{path}: {} lines are whole, {} bytes",
            self.lines, self.bytes
        )?;
        if let Some(Head { seq, epoch, sum }) = &self.head {
            writeln!(out, "head: line {seq}, epoch {epoch}, sum {sum}")?;
        }
        if let Some(torn) = &self.torn {
            writeln!(out, "{torn}")?;
        }
        for damage in &self.damage {
            writeln!(out, "damaged: {damage}")?;
        }
        if let Some(blobs) = &self.blobs {
            if blobs.referenced > 0 {
                let BlobReport {
                    referenced, bytes, ..
                } = blobs;
                writeln!(out, "blobs referred to: {referenced}, {bytes} bytes")?;
            }
            for damage in &blobs.damage {
                writeln!(out, "damaged: {damage}")?;
            }
        }
        match self.places() {
            0 => writeln!(out, "no damage"),
            1 => writeln!(out, "damaged in 1 place"),
            places => writeln!(out, "damaged in {places} places"),
        }
    }

    /// Writes it as one JSON object, schema `codewhale.ledger.verify/1`.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Tagged<'a> {
            schema: &'static str,
            sound: bool,
            #[serde(flatten)]
            report: &'a Report,
        }
        let tagged = Tagged {
            schema: "codewhale.ledger.verify/1",
            sound: self.is_sound(),
            report: self,
        };
        serde_json::to_writer(&mut *out, &tagged)?;
        writeln!(out)
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            place,
            expected,
            found,
            lost,
        } = self;
        write!(f, "{place}: expected {expected}, found {found}")?;
        match lost {
            Some((first, last)) if first == last => write!(f, "; line {first} is lost"),
            Some((first, last)) => write!(f, "; lines {first} to {last} are lost"),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Torn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, bytes } = self;
        write!(f, "torn: {place}: {bytes} bytes are not acknowledged")
    }
}

/// The file `durable` beside the segment: the last line known to be on disk.
struct Hint {
    seq: u64,
    sum: String,
}

#[derive(Deserialize)]
struct HintFields {
    seq: u64,
    sum: String,
    check: String,
}

impl Hint {
    /// The damage of a line that it speaks of, when it is not the line it speaks of.
    fn unlike(&self, line: &Line<'_>, segment: &Path) -> Option<Damage> {
        let is_unlike = self.seq == line.seq && self.sum != line.sum;
        is_unlike.then(|| Damage {
            place: Place {
                segment: segment.to_owned(),
                line: line.number,
                byte: line.byte,
            },
            expected: format!("sum {}, as acknowledged", self.sum),
            found: format!("sum {}", line.sum),
            lost: None,
        })
    }

    /// The hint of the run that the segment belongs to.
    fn beside(path: &Path) -> Option<Self> {
        Self::read(&std::fs::read(segment_of(path).with_file_name("durable")).ok()?)
    }

    /// `None` when it does not fit its own check: it may be old or torn.
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let HintFields { seq, sum, check } = serde_json::from_str(text).ok()?;
        let body = format!(r#"{{"seq":{seq},"sum":"{sum}""#);
        let is_whole = text == format!("{body},\"check\":\"{check}\"}}\n");
        (is_whole && sum_after("", body.as_bytes()) == check).then_some(Self { seq, sum })
    }
}
