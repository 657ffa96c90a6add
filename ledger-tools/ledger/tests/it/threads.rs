//! Many threads at one writer, and readers beside it.

use crate::common::{at, create, note, read, wait_for};
use ledger::{Blobs, Seq};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn two_threads_with_large_records_give_every_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = create(folder.path());
    std::thread::scope(|scope| {
        for thread in ["a", "b"] {
            let writer = &writer;
            scope.spawn(move || {
                for _ in 0..200 {
                    writer
                        .append(at(1), &[note(thread.repeat(100_000))])
                        .unwrap();
                }
            });
        }
    });
    wait_for(&told, Seq(400));
    writer.close().unwrap();
    let (_, entries) = read(folder.path()).unwrap();
    let texts: Vec<(u64, &str)> = entries
        .iter()
        .flat_map(|entry| {
            entry
                .records
                .iter()
                .map(|note| (entry.seq.0, &note.text[..1]))
        })
        .collect();
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    for thread in ["a", "b"] {
        assert_eq!(
            texts.iter().filter(|(_, text)| *text == thread).count(),
            200
        );
    }
}

#[test]
fn readers_beside_a_writer_see_whole_lines_and_all_that_was_durable_before() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = create(folder.path());
    writer.append(at(1), &[note("first")]).unwrap();
    wait_for(&told, Seq(1));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut rounds = 0;
            let mut seen = 0;
            while !is_done.load(Ordering::Acquire) || rounds == 0 {
                let (replayed, entries) = read(folder.path()).unwrap();
                assert!(replayed.head.unwrap().seq.0 >= seen);
                seen = replayed.head.unwrap().seq.0;
                assert_eq!(entries.len() as u64, seen);
                rounds += 1;
            }
        });
        for n in 0..300 {
            let seq = writer.append(at(n), &[note("x".repeat(3_000))]).unwrap();
            if n % 10 == 0 {
                wait_for(&told, seq);
                assert!(read(folder.path()).unwrap().0.head.unwrap().seq >= seq);
            }
        }
        is_done.store(true, Ordering::Release);
        reader.join().unwrap();
    });
    writer.close().unwrap();
}

#[test]
fn an_idle_writer_writes_one_witness_and_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    wait_for(&told, Seq(2));
    let (_, entries) = read(folder.path()).unwrap();
    assert_eq!((entries[1].durable, entries[1].records.len()), (Seq(1), 0));
    assert_eq!(writer.append(at(2), &[note("b")]), Ok(Seq(3)));
    let head = writer.close().unwrap().unwrap();
    assert_eq!(head.seq, Seq(4), "closing writes the witness that is owed");
}

#[test]
fn blobs_are_stored_by_many_threads_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::of(folder.path());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..10 {
                    let content = vec![n; 20_000];
                    let blob = blobs.put(&content).unwrap();
                    assert_eq!(blobs.get(&blob.sha256).unwrap(), content);
                }
            });
        }
    });
    let left = std::fs::read_dir(folder.path().join("blobs")).unwrap();
    let temporary = left
        .filter(|e| e.as_ref().unwrap().file_name().len() != 2)
        .count();
    assert_eq!(temporary, 0);
}
