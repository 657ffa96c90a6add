//! A disk that fills up while it is written: told while the end can still be recorded, and nothing is lost
//! when it cannot.

use super::sim::SimDisk;
use super::{Texts, lines_to, queued, read, text};
use crate::disk::Disk as _;
use crate::format::{Epoch, LINE_MAX_BYTES, Seq};
use crate::log::Log;
use crate::open::{create_log, recover};
use crate::room::{FREE_MIN_BYTES, RESERVE_BYTES};
use crate::writer::{Word, Writer};
use chrono::DateTime;
use std::sync::mpsc::channel;

const MIB: u64 = 1024 * 1024;

fn log_on(disk: &SimDisk) -> Log {
    create_log(Box::new(disk.clone()), Epoch(1)).unwrap()
}

#[test]
fn room_is_set_aside_with_the_first_line_and_given_back_at_a_clean_end() {
    let disk = SimDisk::new();
    disk.limit(3 * FREE_MIN_BYTES);
    let mut log = log_on(&disk);
    assert!(!disk.exists("reserve").unwrap(), "nothing is written yet");
    log.append(&[queued(1)]).unwrap();
    let taken = 3 * FREE_MIN_BYTES - disk.free_bytes().unwrap();
    assert!(taken > RESERVE_BYTES, "{taken}");
    assert_eq!(log.filling(), None);
    log.close().unwrap();
    assert!(!disk.exists("reserve").unwrap());
}

#[test]
fn a_filling_disk_gives_the_reserve_back_and_is_told_once() {
    let disk = SimDisk::new();
    disk.limit(3 * FREE_MIN_BYTES);
    let mut log = log_on(&disk);
    log.append(&[queued(1)]).unwrap();
    disk.limit(MIB);
    log.append(&[queued(2)]).unwrap();
    let filling = log.filling().unwrap();
    assert_eq!(filling.free, MIB);
    assert!(
        filling.to_string().contains("1024 KiB were free for /run"),
        "{filling}"
    );
    assert!(disk.free_bytes().unwrap() >= RESERVE_BYTES);
    log.append(&[queued(3)]).unwrap();
    assert_eq!(log.filling(), None);
    log.close().unwrap();
    assert_eq!(read(&disk).unwrap().1, lines_to(3));
}

#[test]
fn what_ends_a_run_fits_into_the_reserve_of_a_disk_that_is_full() {
    let disk = SimDisk::new();
    disk.limit(3 * FREE_MIN_BYTES);
    let (sender, told) = channel();
    let on_durable = Box::new(move |word: Word<'_>| {
        let word = match word {
            Word::Durable(seq) => format!("durable {seq}"),
            Word::Filling(_) => "filling".to_owned(),
            Word::Failed(error) => error.to_string(),
        };
        drop(sender.send(word));
    });
    let writer = Writer::start(Texts, Epoch(1), log_on(&disk), None, on_durable).unwrap();
    let at = DateTime::UNIX_EPOCH;
    writer.append(at, &[text(1)]).unwrap();
    assert_eq!(told.recv().unwrap(), "durable 1");
    disk.limit(0);
    let Seq(next) = writer.append(at, &["the last".to_owned()]).unwrap();
    let words: Vec<String> = told.iter().take_while(|word| word != "filling").collect();
    assert!(
        words.iter().all(|word| word.starts_with("durable")),
        "{words:?}"
    );
    // Everything that was under way, each as large as a line may be, less than the reserve.
    for _ in 0..3 {
        let large = "x".repeat(LINE_MAX_BYTES - 1_000);
        writer.append(at, &[large]).unwrap();
    }
    let head = writer.close().unwrap().unwrap();
    assert!(head.seq > Seq(next + 2), "{head:?}");
    assert!(
        !disk.exists("suspect").unwrap(),
        "the run has ended cleanly"
    );
}

#[test]
fn a_disk_without_room_for_a_reserve_is_written_all_the_same() {
    let disk = SimDisk::new();
    disk.limit(FREE_MIN_BYTES - 1);
    let mut log = log_on(&disk);
    log.append(&[queued(1)]).unwrap();
    assert!(!disk.exists("reserve").unwrap());
    assert_eq!(log.filling(), None, "there is still enough");
    log.close().unwrap();
}

#[test]
fn a_disk_that_is_full_at_last_loses_nothing_and_goes_on_when_there_is_room() {
    let disk = SimDisk::new();
    disk.limit(500);
    let mut log = log_on(&disk);
    let mut acknowledged = 0;
    while log.append(&[queued(acknowledged + 1)]).is_ok() {
        acknowledged += 1;
    }
    assert!(acknowledged > 0);
    drop(log);
    let restarted = disk.restarted();
    restarted.limit(FREE_MIN_BYTES);
    let mut lines = Vec::new();
    let recovered = recover(
        Box::new(restarted.clone()),
        &Texts,
        &mut super::collect(&mut lines),
    );
    let mut log = recovered.unwrap().log;
    assert_eq!(lines, lines_to(acknowledged));
    log.append(&[queued(acknowledged + 1)]).unwrap();
    log.close().unwrap();
    assert_eq!(read(&restarted).unwrap().1, lines_to(acknowledged + 1));
}

#[test]
fn what_a_dead_writer_set_aside_is_used_by_the_next_one() {
    let disk = SimDisk::new();
    disk.limit(3 * FREE_MIN_BYTES);
    let mut log = log_on(&disk);
    log.append(&[queued(1)]).unwrap();
    drop(log);
    let free = disk.free_bytes().unwrap();
    let recovered = recover(Box::new(disk.clone()), &Texts, &mut |_| Ok(())).unwrap();
    let mut log = recovered.log;
    log.append(&[queued(2)]).unwrap();
    assert!(free - disk.free_bytes().unwrap() < RESERVE_BYTES);
    log.close().unwrap();
    assert!(!disk.exists("reserve").unwrap());
}
