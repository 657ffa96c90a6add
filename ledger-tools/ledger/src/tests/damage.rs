//! Every way to change the bytes of a finished ledger: the place is named, or exactly the acknowledged
//! lines are read. Never a line skipped, never one invented.

use super::sim::SimDisk;
use super::{lines_to, queued, read};
use crate::error::{Damage, Place, ReplayError};
use crate::format::Epoch;
use crate::open::create_log;
use crate::replay::Tail;

/// A ledger as its files.
struct Sample {
    ledger: Vec<u8>,
    durable: Vec<u8>,
    /// Where each line begins, and the end.
    starts: Vec<usize>,
    /// First line of the last batch: nothing in the ledger itself vouches for it and those after it.
    last_batch: u64,
}

impl Sample {
    /// `lines` lines in batches of three; the last batch has the rest.
    fn of(lines: u64) -> Self {
        Self::of_epoch(lines, Epoch(1))
    }

    fn of_epoch(lines: u64, epoch: Epoch) -> Self {
        let disk = SimDisk::new();
        let mut log = create_log(Box::new(disk.clone()), epoch).unwrap();
        let mut last_batch = 1;
        while last_batch <= lines {
            let batch: Vec<_> = (last_batch..=lines.min(last_batch + 2))
                .map(queued)
                .collect();
            log.append(&batch).unwrap();
            last_batch += 3;
        }
        log.close().unwrap();
        let ledger = disk.bytes("ledger.jsonl").unwrap();
        let ends = ledger
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n');
        let starts = std::iter::once(0)
            .chain(ends.map(|(index, _)| index + 1))
            .collect();
        let durable = disk.bytes("durable").unwrap();
        Self {
            ledger,
            durable,
            starts,
            last_batch: last_batch - 3,
        }
    }

    fn lines(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    fn line(&self, seq: u64) -> &[u8] {
        let index = usize::try_from(seq).unwrap();
        &self.ledger[self.starts[index - 1]..self.starts[index]]
    }

    /// The line that the byte belongs to.
    fn line_at(&self, byte: usize) -> u64 {
        self.starts.partition_point(|start| *start <= byte) as u64
    }

    /// `changed` must be refused at line `bad`, or every line read. When the hint is lost and no whole
    /// line after it vouches for it, exactly the lines before it may be read instead.
    fn check(&self, changed: &[u8], bad: u64, what: &str) {
        let hinted = SimDisk::with(&[("ledger.jsonl", changed), ("durable", &self.durable)]);
        match read(&hinted) {
            Err(error) => assert_eq!(place(&error).line, bad, "{what}: {error}"),
            Ok((_, lines)) => assert_eq!(lines, lines_to(self.lines()), "{what}"),
        }
        let is_vouched = bad < self.last_batch && !self.ledger.starts_with(changed);
        match read(&SimDisk::with(&[("ledger.jsonl", changed)])) {
            Err(error) => assert_eq!(place(&error).line, bad, "{what}, no hint: {error}"),
            Ok((_, lines)) => {
                assert!(!is_vouched, "{what}, no hint: read");
                assert_eq!(lines, lines_to(bad - 1), "{what}, no hint");
            }
        }
    }
}

fn place(error: &ReplayError) -> &Place {
    match error {
        ReplayError::Damaged(Damage { place, .. })
        | ReplayError::NotALedger(place)
        | ReplayError::Newer { place, .. } => place,
        other => panic!("{other}"),
    }
}

#[test]
fn every_truncation_is_noticed() {
    let sample = Sample::of(200);
    for length in 0..sample.ledger.len() {
        // A line that lacks only its line feed is whole.
        let bad = sample.line_at(length + 1);
        sample.check(
            &sample.ledger[..length],
            bad,
            &format!("cut to {length} bytes"),
        );
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    // Two lines in the last batch: one flip can take only one of the two that vouch for line 9.
    let sample = Sample::of(11);
    for byte in 0..sample.ledger.len() {
        for bit in 0..8 {
            let mut changed = sample.ledger.clone();
            changed[byte] ^= 1 << bit;
            let bad = sample.line_at(byte);
            sample.check(&changed, bad, &format!("bit {bit} of byte {byte} flipped"));
        }
    }
}

#[test]
fn a_flipped_bit_in_any_byte_of_a_long_ledger_is_noticed() {
    let sample = Sample::of(200);
    let mut changed = sample.ledger.clone();
    for byte in 0..changed.len() {
        // Which bit is seeded by the place, so that every run tries the same.
        let bit = byte.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
        changed[byte] ^= 1 << bit;
        let bad = sample.line_at(byte);
        sample.check(&changed, bad, &format!("bit {bit} of byte {byte} flipped"));
        changed[byte] ^= 1 << bit;
    }
}

#[test]
fn every_dropped_doubled_or_swapped_line_is_noticed() {
    let sample = Sample::of(200);
    let rebuilt = |order: &[u64]| -> Vec<u8> {
        order
            .iter()
            .flat_map(|seq| sample.line(*seq).to_vec())
            .collect()
    };
    for seq in 1..=200 {
        let mut order: Vec<u64> = (1..=200).collect();
        let index = usize::try_from(seq).unwrap() - 1;
        order.remove(index);
        sample.check(&rebuilt(&order), seq, &format!("line {seq} dropped"));
        order.splice(index..index, [seq, seq]);
        let what = format!("line {seq} doubled");
        let hinted = [
            ("ledger.jsonl", &rebuilt(&order)[..]),
            ("durable", &sample.durable[..]),
        ];
        match read(&SimDisk::with(&hinted)) {
            Err(error) => assert_eq!(place(&error).line, seq + 1, "{what}: {error}"),
            Ok((replayed, lines)) => {
                assert_eq!((lines, seq), (lines_to(200), 200), "{what}");
                assert!(matches!(replayed.tail, Tail::Torn(_)), "{what}");
            }
        }
        if seq < 200 {
            let mut order: Vec<u64> = (1..=200).collect();
            order.swap(index, index + 1);
            sample.check(
                &rebuilt(&order),
                seq,
                &format!("lines {seq} and {} swapped", seq + 1),
            );
        }
    }
}

#[test]
fn a_line_of_another_ledger_is_noticed_wherever_it_stands() {
    let (ours, theirs) = (Sample::of(200), Sample::of_epoch(206, Epoch(2)));
    for seq in 1..=200 {
        let index = usize::try_from(seq).unwrap();
        for number in [seq, seq + 3] {
            let mut changed = ours.ledger.clone();
            let foreign = theirs.line(number).to_vec();
            changed.splice(ours.starts[index - 1]..ours.starts[index], foreign);
            // Nothing stands before a first line that could tell whose it is: the second one does not follow.
            let bad = if number == 1 { 2 } else { seq };
            ours.check(&changed, bad, &format!("line {seq} replaced by {number}"));
        }
    }
}

#[test]
fn what_a_damage_says() {
    let sample = Sample::of(9);
    let mut changed = sample.ledger.clone();
    changed[sample.starts[3] + 100] ^= 1;
    let error = read(&SimDisk::with(&[("ledger.jsonl", &changed)])).unwrap_err();
    insta::assert_snapshot!(error, @"the ledger is damaged at /run/ledger.jsonl, line 4, byte 480: expected sum 74cfa5af4f5e88f030633f2f6e5f16a2, found sum 1ec07a097523758a642f1cbec77ad39d");

    let mut changed = sample.ledger.clone();
    changed[sample.starts[8] + 100] ^= 1;
    let files = [
        ("ledger.jsonl", &changed[..]),
        ("durable", &sample.durable[..]),
    ];
    let error = read(&SimDisk::with(&files)).unwrap_err();
    insta::assert_snapshot!(error, @"the ledger is damaged at /run/ledger.jsonl, line 9, byte 1297: expected sum 9c172e59aad61393bf843808a97cf044, found sum 53873fe53e85a00434423b04aea8c44f");

    let cut = &sample.ledger[..sample.starts[5]];
    let files = [("ledger.jsonl", cut), ("durable", &sample.durable[..])];
    let error = read(&SimDisk::with(&files)).unwrap_err();
    insta::assert_snapshot!(error, @"the ledger is damaged at /run/ledger.jsonl, line 6, byte 835: expected line 6, since line 9 was acknowledged, found the end of the file");

    let files = [
        ("ledger.jsonl", &Sample::of(10).ledger[..]),
        ("durable", &sample.durable[..]),
    ];
    let other_last_batch = read(&SimDisk::with(&files));
    assert!(
        other_last_batch.is_ok(),
        "the first nine lines are the same in both"
    );
}

#[test]
fn more_bad_bytes_than_one_batch_can_have_are_damage() {
    let sample = Sample::of(9);
    let batch = crate::format::BATCH_MAX_BYTES;
    for (bytes, is_damage) in [(batch, false), (batch + 1, true)] {
        let mut changed = sample.ledger.clone();
        changed.resize(changed.len() + bytes, 0);
        let result = read(&SimDisk::with(&[("ledger.jsonl", &changed)]));
        assert_eq!(result.is_err(), is_damage, "{bytes} bytes");
    }
}
