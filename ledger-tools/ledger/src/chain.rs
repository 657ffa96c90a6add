//! The chain of lines: whether a line is the one that must follow, checked before it is parsed. Never
//! decides between torn and damaged.

use crate::format::{Head, LINE_MAX_BYTES, Seq, Sum};
use crate::line::{self, Envelope, Misfit};
use crate::scan::Piece;
use serde_json::value::RawValue;

/// Why a piece of the file is not the line that must stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing between two line feeds.
    Empty,
    /// Longer than a line may be.
    TooLong(u64),
    /// It holds a NUL.
    Nul,
    /// It does not end in a sum.
    NoSum { bytes: u64 },
    /// Its sum is not that of its bytes after the line before.
    Sum { expected: Sum, found: Sum },
    /// The sum is right, the format is another one.
    Version(u64),
    /// The sum is right, the part named is not.
    Shape(&'static str),
    /// The sum is right, the number is not.
    Seq { expected: Seq, found: Seq },
    /// The sum is right, a number goes back or ahead.
    Order(&'static str),
}

impl Fault {
    /// False when the bytes are exactly what some writer wrote there: no torn write leaves a right sum.
    pub(crate) fn may_be_torn(&self) -> bool {
        matches!(
            self,
            Self::Empty | Self::TooLong(_) | Self::Nul | Self::NoSum { .. } | Self::Sum { .. }
        )
    }

    /// What should stand there.
    pub(crate) fn expected(&self, seq: Seq) -> String {
        match self {
            Self::Empty | Self::Nul | Self::NoSum { .. } => format!("line {seq}"),
            Self::TooLong(_) => format!("a line of at most {LINE_MAX_BYTES} bytes"),
            Self::Sum { expected, .. } => format!("sum {expected}"),
            Self::Version(_) => format!("format {}", crate::format::FORMAT),
            Self::Shape(part) => format!("{part} as this format has it"),
            Self::Seq { expected, .. } => format!("seq {expected}"),
            Self::Order(what) => format!("{what} in order"),
        }
    }

    /// What stands there.
    pub(crate) fn found(&self) -> String {
        match self {
            Self::Empty => "an empty line".to_owned(),
            Self::TooLong(bytes) => format!("{bytes} bytes without a line feed"),
            Self::Nul => "NUL bytes".to_owned(),
            Self::NoSum { bytes } => format!("{bytes} bytes that do not end in a sum"),
            Self::Sum { found, .. } => format!("sum {found}"),
            Self::Version(found) => format!("format {found}"),
            Self::Shape(part) => format!("another {part}"),
            Self::Seq { found, .. } => format!("seq {found}"),
            Self::Order(what) => format!("another {what}"),
        }
    }
}

/// How far a ledger has been checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) head: Option<Head>,
}

impl Chain {
    /// The number that the next line must have.
    pub(crate) fn next_seq(&self) -> Seq {
        self.head.map_or(Seq(1), |head| head.seq.next())
    }

    /// Takes the next line in, when it is the right one.
    pub(crate) fn accept<'a>(&mut self, piece: &Piece<'a>) -> Result<Envelope<'a>, Fault> {
        let (body, sum) = self.checked(piece)?;
        let envelope = line::envelope(body).map_err(|misfit| match misfit {
            Misfit::Version(found) => Fault::Version(found),
            Misfit::Shape(part) => Fault::Shape(part),
        })?;
        let expected = self.next_seq();
        if envelope.seq != expected {
            return Err(Fault::Seq {
                expected,
                found: envelope.seq,
            });
        }
        if envelope.durable >= envelope.seq {
            return Err(Fault::Order("dw"));
        }
        if self.head.is_some_and(|head| envelope.epoch < head.epoch) || envelope.epoch.0 == 0 {
            return Err(Fault::Order("epoch"));
        }
        self.head = Some(Head {
            seq: expected,
            epoch: envelope.epoch,
            sum,
        });
        Ok(envelope)
    }

    fn checked<'a>(&self, piece: &Piece<'a>) -> Result<(&'a [u8], Sum), Fault> {
        if piece.is_too_long() {
            return Err(Fault::TooLong(piece.length));
        }
        if piece.bytes.is_empty() {
            return Err(Fault::Empty);
        }
        let before = self.head.map(|head| head.sum);
        let parts = line::split(piece.bytes);
        if let Some((body, sum)) = parts
            && Sum::chained(before.as_ref(), body) == sum
        {
            return Ok((body, sum));
        }
        if piece.bytes.contains(&0) {
            return Err(Fault::Nul);
        }
        match parts {
            None => Err(Fault::NoSum {
                bytes: piece.length,
            }),
            Some((body, found)) => {
                let expected = Sum::chained(before.as_ref(), body);
                Err(Fault::Sum { expected, found })
            }
        }
    }
}

/// The durable watermark of a line that stands whole in the file although the chain before it is
/// broken. What a torn write leaves of a line is not whole: it has holes of NULs or lacks its end.
pub(crate) fn watermark(piece: &Piece<'_>) -> Option<Seq> {
    if piece.is_too_long() {
        return None;
    }
    let (body, _) = line::split(piece.bytes)?;
    let envelope = line::envelope(body).ok()?;
    let records: Result<Vec<&RawValue>, _> = serde_json::from_str(envelope.records);
    (records.is_ok() && envelope.durable < envelope.seq).then_some(envelope.durable)
}
