//! The writer's thread on a simulated disk: what is announced, and what is told when the disk fails.

use super::sim::{Failure, SimDisk};
use super::{Texts, read, text};
use crate::error::{AppendError, WriteError};
use crate::format::{Epoch, LINE_MAX_BYTES, Seq};
use crate::open::create_log;
use crate::writer::{Word, Writer};
use chrono::DateTime;
use std::io;
use std::sync::mpsc::{Receiver, channel};

type Told = Receiver<Result<Seq, WriteError>>;

fn start(disk: &SimDisk) -> (Writer<Texts>, Told) {
    let (sender, told) = channel();
    let log = create_log(Box::new(disk.clone()), Epoch(1)).unwrap();
    let on_durable = Box::new(move |word: Word<'_>| {
        let told = match word {
            Word::Durable(seq) => Ok(seq),
            Word::Failed(error) => Err(error.clone()),
            Word::Filling(_) => return,
        };
        drop(sender.send(told));
    });
    (
        Writer::start(Texts, Epoch(1), log, None, on_durable).unwrap(),
        told,
    )
}

#[test]
fn the_durable_line_only_rises_and_reaches_the_last() {
    let disk = SimDisk::new();
    let (writer, told) = start(&disk);
    for seq in 1..=500 {
        assert_eq!(
            writer.append(DateTime::UNIX_EPOCH, &[text(seq)]),
            Ok(Seq(seq))
        );
    }
    let head = writer.close().unwrap().unwrap();
    assert_eq!(head.seq, Seq(501), "the witness comes last");
    let announced: Vec<Seq> = told.iter().map(Result::unwrap).collect();
    assert!(announced.is_sorted_by(|a, b| a < b), "{announced:?}");
    assert_eq!(announced.last(), Some(&Seq(501)));
    assert_eq!(read(&disk).unwrap().0.head, Some(head));
}

#[test]
fn an_error_is_told_once_and_nothing_is_taken_or_written_after_it() {
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::Other] {
        let disk = SimDisk::new();
        let (writer, told) = start(&disk);
        writer.append(DateTime::UNIX_EPOCH, &[text(1)]).unwrap();
        assert_eq!(told.recv().unwrap().unwrap(), Seq(1));
        disk.plan(0, Failure::Error(kind));
        writer.append(DateTime::UNIX_EPOCH, &[text(2)]).unwrap();
        let error = told.recv().unwrap().unwrap_err();
        assert!(
            matches!(
                error,
                WriteError::Io {
                    action: "write",
                    ..
                }
            ),
            "{error}"
        );
        let after = disk.bytes("ledger.jsonl");
        assert_eq!(
            writer.append(DateTime::UNIX_EPOCH, &[text(3)]),
            Err(AppendError::Closed)
        );
        assert!(writer.close().is_err());
        assert!(told.recv().is_err(), "nothing more is told");
        assert_eq!(disk.bytes("ledger.jsonl"), after);
        assert!(
            disk.bytes("suspect").is_some(),
            "the run has not ended cleanly"
        );
    }
}

#[test]
fn a_file_that_someone_else_touched_or_replaced_is_not_written() {
    check_meddling(append_foreign, "ends at byte");
    check_meddling(replace, "is no longer the file");
}

fn check_meddling(meddle: fn(&SimDisk), expected: &str) {
    let disk = SimDisk::new();
    let (writer, told) = start(&disk);
    writer.append(DateTime::UNIX_EPOCH, &[text(1)]).unwrap();
    assert_eq!(told.recv().unwrap().unwrap(), Seq(1));
    meddle(&disk);
    let before = disk.bytes("ledger.jsonl");
    // The witness of line 1 may meet the meddling before line 2 does, and then no line is taken.
    let _ = writer.append(DateTime::UNIX_EPOCH, &[text(2)]);
    let error = told.iter().take(2).find_map(Result::err).unwrap();
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(disk.bytes("ledger.jsonl"), before);
}

fn append_foreign(disk: &SimDisk) {
    use crate::disk::{Disk as _, Mode};
    let file = disk.open("ledger.jsonl", Mode::Write).unwrap();
    file.write_at(b"x", file.length().unwrap()).unwrap();
}

fn replace(disk: &SimDisk) {
    use crate::disk::{Disk as _, Mode};
    let copy = disk.open("copy", Mode::CreateNew).unwrap();
    copy.write_at(&disk.bytes("ledger.jsonl").unwrap(), 0)
        .unwrap();
    disk.rename("copy", "ledger.jsonl").unwrap();
}

#[test]
fn what_does_not_fit_a_line_is_refused_before_it_is_queued() {
    let disk = SimDisk::new();
    let (writer, _) = start(&disk);
    let refused = writer.append(DateTime::UNIX_EPOCH, &["x".repeat(LINE_MAX_BYTES)]);
    assert!(
        matches!(refused, Err(AppendError::TooLong { .. })),
        "{refused:?}"
    );
    let longest =
        LINE_MAX_BYTES - crate::format::ENVELOPE_MAX_BYTES - r#"{"type":"text","text":""}"#.len();
    assert_eq!(
        writer.append(DateTime::UNIX_EPOCH, &["x".repeat(longest)]),
        Ok(Seq(1))
    );
    writer.close().unwrap();
    assert_eq!(read(&disk).unwrap().1[0].1.len(), longest);
}

#[test]
fn a_batch_is_never_larger_than_what_may_be_torn() {
    let disk = SimDisk::new();
    let (writer, _) = start(&disk);
    for _ in 0..20 {
        writer
            .append(DateTime::UNIX_EPOCH, &["x".repeat(100_000)])
            .unwrap();
    }
    writer.close().unwrap();
    let text = String::from_utf8(disk.bytes("ledger.jsonl").unwrap()).unwrap();
    let mut unsynced = 0;
    let mut watermark = "";
    for line in text.lines() {
        let dw = line
            .split(r#""dw":"#)
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap();
        unsynced = if dw == watermark {
            unsynced + line.len() + 1
        } else {
            line.len() + 1
        };
        watermark = dw;
        assert!(
            unsynced <= crate::format::BATCH_MAX_BYTES,
            "{unsynced} bytes after line {dw}"
        );
    }
}
