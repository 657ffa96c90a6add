//! Every call of a writer's life fails once, in every way, and the power is cut at each of them: what
//! was acknowledged is there afterwards, and the ledger goes on.

use super::sim::{Choices, Failure, SimDisk};
use super::{Read, Texts, collect, lines_to, queued, read, text};
use crate::error::OpenError;
use crate::format::{Epoch, Seq};
use crate::log::Log;
use crate::open::{create_log, recover};
use crate::replay::Tail;
use std::io;

/// What a life of a writer got done.
#[derive(Debug, Default)]
struct Life {
    /// The last line it was told to be durable.
    acknowledged: u64,
    /// Whether it ended cleanly.
    is_closed: bool,
}

/// Appends lines `from..=to` in batches of 1, 2, 3 … lines, until the disk fails.
fn live(log: &mut Log, from: u64, to: u64) -> Life {
    let mut life = Life {
        acknowledged: from - 1,
        is_closed: false,
    };
    let mut size = 1;
    while life.acknowledged < to {
        let last = (life.acknowledged + size).min(to);
        let batch: Vec<_> = (life.acknowledged + 1..=last).map(queued).collect();
        match log.append(&batch) {
            Ok(taken) => life.acknowledged = batch[taken - 1].seq.0,
            Err(_) => return life,
        }
        size += 1;
    }
    life.is_closed = log.close().is_ok();
    life
}

const LINES: u64 = 14;

fn first_life(disk: &SimDisk) -> Life {
    match create_log(Box::new(disk.clone()), Epoch(1)) {
        Ok(mut log) => live(&mut log, 1, LINES),
        Err(_) => Life::default(),
    }
}

fn take_over(disk: &SimDisk) -> Result<(Log, Read), OpenError> {
    let mut lines = Read::new();
    let recovered = recover(Box::new(disk.clone()), &Texts, &mut collect(&mut lines))?;
    Ok((recovered.log, lines))
}

/// The ledger on `disk` holds at least what was acknowledged, only what was appended, and goes on.
fn check(disk: &SimDisk, life: &Life, what: &str) {
    let (mut log, lines) = match take_over(disk) {
        Ok(taken) => taken,
        // The creation itself was cut off before the file had a name.
        Err(OpenError::Replay(_) | OpenError::Storage(_)) if life.acknowledged == 0 => return,
        Err(error) => panic!("{what}: {error}"),
    };
    let kept = lines.len() as u64;
    assert_eq!(lines, lines_to(kept), "{what}");
    assert!(kept >= life.acknowledged, "{what}: {kept} of {life:?}");
    let next = live(&mut log, kept + 1, kept + 3);
    assert!(next.is_closed, "{what}");
    let (replayed, lines) = read(disk).unwrap();
    assert_eq!(
        (replayed.tail, lines),
        (Tail::Whole, lines_to(kept + 3)),
        "{what}"
    );
}

/// Runs `life` on a fresh disk with each of its calls failing once.
fn each_call(failure: Failure, mut check: impl FnMut(&SimDisk, &Life, usize)) {
    for call in 0.. {
        let disk = SimDisk::new();
        disk.plan(call, failure);
        let life = first_life(&disk);
        if !disk.plan_was_met() {
            assert!(life.is_closed && call > 20, "only {call} calls were tried");
            return;
        }
        check(&disk, &life, call);
    }
}

#[test]
fn a_power_cut_at_any_call_keeps_what_was_acknowledged() {
    each_call(Failure::Cut, |disk, life, call| {
        for seed in 0..24 {
            let disk = disk.after_power_cut(&mut Choices(seed));
            check(&disk, life, &format!("cut at call {call}, seed {seed}"));
        }
    });
}

#[test]
fn a_process_that_dies_at_any_call_keeps_what_was_acknowledged() {
    each_call(Failure::Cut, |disk, life, call| {
        check(&disk.restarted(), life, &format!("killed at call {call}"));
    });
}

#[test]
fn any_failing_call_is_final_and_what_was_acknowledged_is_kept() {
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::Other] {
        each_call(Failure::Error(kind), |disk, life, call| {
            assert!(
                !life.is_closed,
                "call {call} failed, so nothing ends cleanly"
            );
            check(&disk.restarted(), life, &format!("{kind} at call {call}"));
            for seed in 0..8 {
                let disk = disk.after_power_cut(&mut Choices(seed));
                check(
                    &disk,
                    life,
                    &format!("{kind} at call {call}, then a cut, seed {seed}"),
                );
            }
        });
    }
}

#[test]
fn short_writes_go_on_at_the_exact_place() {
    each_call(Failure::Short, |disk, life, call| {
        assert!(life.is_closed, "call {call}");
        check(disk, life, &format!("short write at call {call}"));
    });
}

/// A run whose last batch was being written when the power went.
fn torn_run() -> (SimDisk, Life) {
    let disk = SimDisk::new();
    let mut log = create_log(Box::new(disk.clone()), Epoch(1)).unwrap();
    let life = live(&mut log, 1, 3);
    let (mut log, _) = take_over(&disk).unwrap();
    disk.plan(3, Failure::Cut);
    let batch: Vec<_> = (4..=9).map(queued).collect();
    assert!(log.append(&batch).is_err());
    let torn = (0..64)
        .map(|seed| disk.after_power_cut(&mut Choices(seed)))
        .find(|disk| matches!(read(disk).unwrap().0.tail, Tail::Torn(_)))
        .unwrap();
    (torn, life)
}

/// Takes a torn run over and appends three lines, until the disk fails.
fn second_life(disk: &SimDisk, first: &Life) -> Life {
    match take_over(disk) {
        Ok((mut log, lines)) => {
            let kept = lines.len() as u64;
            live(&mut log, kept + 1, kept + 3)
        }
        Err(_) => Life {
            acknowledged: first.acknowledged,
            is_closed: false,
        },
    }
}

#[test]
fn a_takeover_and_the_life_after_it_may_fail_at_any_call() {
    let (torn, first) = torn_run();
    for failure in [Failure::Cut, Failure::Error(io::ErrorKind::Other)] {
        for call in 0.. {
            let disk = torn.restarted();
            disk.plan(call, failure);
            let life = second_life(&disk, &first);
            if !disk.plan_was_met() {
                assert!(life.is_closed && call > 15, "only {call} calls were tried");
                break;
            }
            let what = format!("{failure:?} at call {call}");
            check(&disk.restarted(), &life, &what);
            for seed in 0..16 {
                let disk = disk.after_power_cut(&mut Choices(seed));
                check(&disk, &life, &format!("{what}, then a cut, seed {seed}"));
            }
        }
    }
}

#[test]
fn the_bytes_of_a_torn_batch_are_kept_aside_and_never_overwritten() {
    let (disk, _) = torn_run();
    let before = disk.bytes("ledger.jsonl").unwrap();
    let Tail::Torn(torn) = read(&disk).unwrap().0.tail else {
        panic!("the run is torn");
    };
    assert_eq!(
        disk.bytes("ledger.jsonl").unwrap(),
        before,
        "reading changes nothing"
    );
    let cut = usize::try_from(torn.place.byte).unwrap();
    drop(take_over(&disk).unwrap());
    for seed in 0..8 {
        let disk = disk.after_power_cut(&mut Choices(seed));
        let kept = disk.bytes(&format!("torn-{}", torn.seq)).unwrap();
        assert_eq!(kept, before[cut..], "durable before the line is cut off");
    }
    assert_eq!(disk.bytes("ledger.jsonl").unwrap(), before[..cut]);

    let again = SimDisk::with(&[
        ("ledger.jsonl", &before),
        (&format!("torn-{}", torn.seq), b"older"),
    ]);
    drop(take_over(&again).unwrap());
    assert_eq!(
        again.bytes(&format!("torn-{}", torn.seq)).unwrap(),
        b"older"
    );
    assert_eq!(
        again.bytes(&format!("torn-{}-2", torn.seq)).unwrap(),
        before[cut..]
    );
}

#[test]
fn a_sync_that_failed_is_not_believed_by_the_next_writer() {
    let disk = SimDisk::new();
    let mut log = create_log(Box::new(disk.clone()), Epoch(1)).unwrap();
    log.append(&[queued(1)]).unwrap();
    disk.plan(1, Failure::Error(io::ErrorKind::Other));
    assert!(log.append(&[queued(2)]).is_err());
    assert_eq!(
        read(&disk).unwrap().1,
        lines_to(2),
        "the page cache shows both lines"
    );
    let (_, lines) = take_over(&disk).unwrap();
    assert_eq!(lines, lines_to(1), "the disk has only the first");
}

#[test]
fn a_clean_end_needs_no_copy_and_an_unclean_one_gets_it() {
    let disk = SimDisk::new();
    let mut log = create_log(Box::new(disk.clone()), Epoch(1)).unwrap();
    assert!(live(&mut log, 1, 5).is_closed);
    let file = crate::disk::Disk::id(&disk, "ledger.jsonl").unwrap();
    let (mut log, _) = take_over(&disk).unwrap();
    assert_eq!(crate::disk::Disk::id(&disk, "ledger.jsonl").unwrap(), file);
    log.append(&[queued(6)]).unwrap();
    drop(log);
    drop(take_over(&disk).unwrap());
    assert_ne!(crate::disk::Disk::id(&disk, "ledger.jsonl").unwrap(), file);
    assert_eq!(read(&disk).unwrap().1.last(), Some(&(6, text(6))));
    assert_eq!(read(&disk).unwrap().0.head.unwrap().seq, Seq(6));
}
