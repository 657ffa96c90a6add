//! The numbers and names of the format: limits, file names, sequence, epoch and sum. Never reads or
//! writes a file.

use sha2::{Digest, Sha256};

/// The format that this program writes, and the newest that it reads: the `v` of a line.
pub const FORMAT: u64 = 1;

/// Longest line in bytes, its line feed included.
pub const LINE_MAX_BYTES: usize = 1024 * 1024;

/// Most bytes written between two syncs. So many bytes at the end of a file may be torn, never more.
pub const BATCH_MAX_BYTES: usize = 1024 * 1024;

/// Most lines written between two syncs.
pub(crate) const BATCH_MAX_LINES: usize = 4096;

/// Most bytes of a line that are not its records.
pub(crate) const ENVELOPE_MAX_BYTES: usize = 192;

/// The active segment.
pub(crate) const SEGMENT: &str = "ledger.jsonl";
/// The active segment while it is being copied.
pub(crate) const SEGMENT_COPY: &str = "ledger.jsonl.new";
/// Who writes.
pub(crate) const LOCK: &str = "lock";
/// The last synced line, as a hint.
pub(crate) const DURABLE: &str = "durable";
/// Present while the last writer has not closed cleanly.
pub(crate) const SUSPECT: &str = "suspect";
/// Room set aside for the end of a run.
pub(crate) const RESERVE: &str = "reserve";
/// Folder of large contents.
pub(crate) const BLOBS: &str = "blobs";

/// Number of a line, counted from 1 without a gap; 0 stands before the first line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// The number of the line after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Which holding of the lock wrote a line, counted from 1. It rises with each writer that writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl std::fmt::Display for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Bytes of a sum in a line.
pub(crate) const SUM_BYTES: usize = 32;

/// The check of a line: the first 128 bits of a SHA-256, as 32 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sum([u8; SUM_BYTES]);

impl Sum {
    /// The sum of a line's `body` (its raw bytes before `,"sum":`) that follows a line with the sum
    /// `before`. The first line follows nothing: nothing is hashed before its body.
    pub(crate) fn chained(before: Option<&Self>, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        if let Some(Self(before)) = before {
            hash.update(before);
        }
        hash.update(body);
        let mut sum = [0; SUM_BYTES];
        write_hex(&hash.finalize()[..SUM_BYTES / 2], &mut sum);
        Self(sum)
    }

    /// The sum that these bytes spell, when they are 32 lower-case hex digits.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text: [u8; SUM_BYTES] = text.try_into().ok()?;
        text.iter().all(|b| is_hex(*b)).then_some(Self(text))
    }

    /// Its 32 hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hex digits are ASCII")
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Debug for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// True for a lower-case hex digit.
pub(crate) fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// Spells `bytes` as lower-case hex digits; `out` is twice as long.
pub(crate) fn write_hex(bytes: &[u8], out: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (byte, pair) in bytes.iter().zip(out.chunks_exact_mut(2)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

/// The last line of a ledger: where it ends, and what makes it tamper-evident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Number of the line.
    pub seq: Seq,
    /// Who wrote it.
    pub epoch: Epoch,
    /// Its sum, which covers every line before it.
    pub sum: Sum,
}
