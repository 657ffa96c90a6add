//! One ledger from its creation over several writers, seen from outside.

use crate::common::{at, create, note, open, read, wait_for};
use ledger::{Epoch, OpenError, Seq, Tail, Trouble};

#[test]
fn what_was_appended_is_read_back_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("runs/first");
    let (writer, told) = create(&run);
    assert_eq!(writer.append(at(1), &[note("a"), note("b")]), Ok(Seq(1)));
    assert_eq!(writer.append(at(2), &[note("c")]), Ok(Seq(2)));
    wait_for(&told, Seq(2));
    let head = writer.close().unwrap().unwrap();

    let (replayed, entries) = read(&run).unwrap();
    assert_eq!(replayed.head, Some(head));
    assert_eq!(replayed.tail, Tail::Whole);
    let shape: Vec<_> = entries
        .iter()
        .map(|e| (e.seq.0, e.epoch.0, e.at, e.records.len()))
        .collect();
    assert_eq!(shape[..2], [(1, 1, at(1), 2), (2, 1, at(2), 1)]);
    assert_eq!(
        shape[2..],
        [(3, 1, at(2), 0)],
        "the witness of the last batch"
    );
    assert!(!run.join("suspect").exists());
}

#[test]
fn each_writer_that_writes_has_the_next_epoch_and_one_that_does_not_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    writer.close().unwrap();
    let before = std::fs::read(folder.path().join("ledger.jsonl")).unwrap();

    let (idle, texts, _) = open(folder.path()).unwrap();
    assert_eq!(
        (idle.writer.epoch(), texts),
        (Epoch(2), vec!["a".to_owned()])
    );
    idle.writer.close().unwrap();
    assert_eq!(
        std::fs::read(folder.path().join("ledger.jsonl")).unwrap(),
        before
    );

    let (busy, _, _) = open(folder.path()).unwrap();
    assert_eq!(busy.writer.append(at(2), &[note("b")]), Ok(Seq(3)));
    busy.writer.close().unwrap();
    let (_, entries) = read(folder.path()).unwrap();
    let epochs: Vec<u32> = entries.iter().map(|e| e.epoch.0).collect();
    assert_eq!(epochs, [1, 1, 2, 2]);
}

#[test]
fn a_second_writer_is_refused_with_the_holders_pid() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    wait_for(&told, Seq(1));
    let error = open(folder.path()).err().unwrap();
    assert_eq!(error.trouble(), Trouble::Held);
    let OpenError::Held {
        holder: Some(holder),
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(holder.pid, std::process::id());
    assert_eq!(ledger::holder(folder.path()), Some(holder));
    let (_, entries) = read(folder.path()).unwrap();
    assert_eq!(
        entries[0].records,
        [note("a")],
        "a reader is let in beside the writer"
    );
    writer.close().unwrap();
    assert_eq!(ledger::holder(folder.path()), None);
    assert!(open(folder.path()).is_ok(), "a closed ledger is free");
}

#[test]
fn who_is_gone_holds_nothing_whatever_the_lock_says() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        std::fs::write(folder.path().join("lock"), text).unwrap();
        assert_eq!(ledger::holder(folder.path()), None, "{text}");
    };
    assert_eq!(ledger::holder(folder.path()), None, "no lock at all");
    check("");
    check("not JSON");
    check(r#"{"pid":4194305,"start":7}"#);
    check(&format!(r#"{{"pid":{},"start":1}}"#, std::process::id()));
    check(&format!(r#"{{"pid":{},"boot":"x"}}"#, std::process::id()));
}

#[test]
fn a_writer_that_is_dropped_leaves_a_suspect_run_that_the_next_one_copies() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    wait_for(&told, Seq(1));
    drop(writer);
    assert!(folder.path().join("suspect").exists());

    let (opened, texts, _) = open(folder.path()).unwrap();
    assert_eq!(texts, ["a"]);
    opened.writer.append(at(2), &[note("b")]).unwrap();
    opened.writer.close().unwrap();
    assert!(!folder.path().join("suspect").exists());
    let (replayed, _) = read(folder.path()).unwrap();
    assert_eq!(replayed.tail, Tail::Whole);
}

#[test]
fn a_ledger_is_created_once_and_opened_only_where_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let missing = open(folder.path()).err().unwrap();
    assert_eq!(missing.trouble(), Trouble::Place);
    let (writer, _) = create(folder.path());
    writer.close().unwrap();
    let (callback, _) = crate::common::telling();
    let twice = ledger::create(
        folder.path(),
        crate::common::Notes,
        ledger::Filesystems::Any,
        callback,
    )
    .err();
    assert!(matches!(twice, Some(OpenError::Exists(_))), "{twice:?}");
}
