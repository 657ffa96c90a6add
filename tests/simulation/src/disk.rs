//! A ledger in memory with a synced and an unsynced part. Never a file.

use crate::random::Random;
use fleet_core::record::Record;
use fleet_core::time::{Stamp, Timestamp};

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) stamp: Stamp,
    pub(crate) records: Vec<Record>,
}

/// The lines of a run.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    lines: Vec<Line>,
    durable: usize,
    epoch: u64,
}

impl Disk {
    /// Where the next line will stand.
    pub(crate) fn stamp_of_next(&self) -> Stamp {
        let seq = self.lines.len() as u64 + 1;
        let at = Timestamp(i64::try_from(seq).unwrap_or(i64::MAX) * 1_000);
        Stamp {
            seq,
            epoch: self.epoch,
            at,
        }
    }

    pub(crate) fn append(&mut self, records: Vec<Record>) {
        let stamp = self.stamp_of_next();
        self.lines.push(Line { stamp, records });
    }

    /// The number of the newest line.
    pub(crate) fn last(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Everything written so far survives from here on.
    pub(crate) fn sync(&mut self) {
        self.durable = self.lines.len();
    }

    pub(crate) fn durable(&self) -> u64 {
        self.durable as u64
    }

    pub(crate) fn has_unsynced(&self) -> bool {
        self.durable < self.lines.len()
    }

    /// A crash: of the unsynced lines any prefix survives.
    pub(crate) fn crash(&mut self, random: &mut Random) {
        let unsynced = self.lines.len() - self.durable;
        let kept = self.durable + random.below(unsynced + 1);
        self.lines.truncate(kept);
        self.durable = kept;
    }

    /// A crash of a disk that lied: the newest durable line is gone as well.
    pub(crate) fn lose_acknowledged(&mut self) {
        self.lines.truncate(self.durable.saturating_sub(1));
        self.durable = self.lines.len();
    }

    /// Somebody else writes from here on.
    pub(crate) fn next_epoch(&mut self) {
        self.epoch += 1;
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }
}
