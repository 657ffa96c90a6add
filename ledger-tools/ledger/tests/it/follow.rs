//! Following a ledger while it is written, taken over and cut.

use crate::common::{Notes, at, bytes, create, forge, note, note_json, open, put, wait_for};
use ledger::{FollowError, Follower, ReplayError, Seq};

fn texts(follower: &mut Follower<Notes>, count: usize) -> Vec<String> {
    let entries = follower
        .map(Result::unwrap)
        .filter(|entry| !entry.records.is_empty());
    entries
        .take(count)
        .map(|entry| entry.records[0].text.clone())
        .collect()
}

#[test]
fn lines_come_as_they_become_durable_over_several_writers() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    wait_for(&told, Seq(1));
    let (mut follower, _stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    assert_eq!(texts(&mut follower, 1), ["a"]);
    let (mut late, _stop_late) = Follower::start(folder.path(), Notes, Seq(1)).unwrap();
    let late = std::thread::spawn(move || texts(&mut late, 3));
    for text in ["b", "c"] {
        writer.append(at(2), &[note(text)]).unwrap();
    }
    assert_eq!(texts(&mut follower, 2), ["b", "c"]);
    drop(writer);

    let (opened, _, _) = open(folder.path()).unwrap();
    opened.writer.append(at(3), &[note("d")]).unwrap();
    assert_eq!(
        texts(&mut follower, 1),
        ["d"],
        "across the copy of a suspect run"
    );
    assert_eq!(late.join().unwrap(), ["b", "c", "d"]);
}

#[test]
fn a_follower_that_comes_before_the_ledger_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut follower, _stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    let waiting = std::thread::spawn(move || {
        let first = texts(&mut follower, 1);
        (first, follower)
    });
    let (writer, _told) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    let (first, mut follower) = waiting.join().unwrap();
    assert_eq!(first, ["a"]);
    // What was there and is gone ends the following, after what was read before it went.
    writer.close().unwrap();
    std::fs::remove_file(folder.path().join("ledger.jsonl")).unwrap();
    let end = follower.find_map(Result::err).unwrap();
    assert!(
        matches!(end, FollowError::Replay(ReplayError::Missing(_))),
        "{end}"
    );
}

#[test]
fn a_follower_keeps_up_with_a_writer_in_haste_and_misses_nothing() {
    const LINES: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let (writer, _told) = create(folder.path());
    let (follower, _stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    let following = std::thread::spawn(move || {
        let entries = follower.map(Result::unwrap);
        let noted = entries.filter(|entry| !entry.records.is_empty());
        let numbers = noted.map(|entry| entry.records[0].text.parse::<u64>().unwrap());
        numbers
            .take(usize::try_from(LINES).unwrap())
            .collect::<Vec<_>>()
    });
    for n in 0..LINES {
        writer.append(at(1), &[note(n.to_string())]).unwrap();
    }
    writer.close().unwrap();
    assert!(following.join().unwrap().into_iter().eq(0..LINES));
}

#[test]
fn a_line_that_nothing_vouches_for_is_shown_only_after_a_takeover() {
    let folder = tempfile::tempdir().unwrap();
    let lines = forge(&[&note_json("a"), &note_json("b"), &note_json("c")]);
    let torn = [lines.concat().as_bytes(), &[0; 50]].concat();
    put(folder.path(), &torn);
    let (mut follower, stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    assert_eq!(texts(&mut follower, 2), ["a", "b"]);
    let waiting = std::thread::spawn(move || texts(&mut follower, 1));
    let (opened, _, _) = open(folder.path()).unwrap();
    assert_eq!(waiting.join().unwrap(), ["c"]);
    assert_eq!(bytes(folder.path()), lines.concat().as_bytes());
    drop(opened);
    stop.stop();
}

#[test]
fn a_stopped_follower_ends_also_while_it_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (_writer, _told) = create(folder.path());
    let (mut follower, stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    let waiting = std::thread::spawn(move || follower.next().is_none());
    stop.stop();
    assert!(waiting.join().unwrap());
}

/// The lines before the damage are shown, then the refusal, then nothing.
fn ends_with(ledger: &[u8], shown: &[&str], is_expected: impl Fn(&ReplayError) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), ledger);
    let (mut follower, _stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    let mut texts = Vec::new();
    let error = loop {
        match follower.next().unwrap() {
            Ok(entry) => texts.extend(entry.records.into_iter().map(|note| note.text)),
            Err(FollowError::Replay(error)) => break error,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(texts, shown);
    assert!(is_expected(&error), "{error}");
    assert!(follower.next().is_none());
}

#[test]
fn lost_lines_and_unknown_records_end_the_following() {
    let lines = forge(&[
        &note_json("a"),
        &note_json("b"),
        &note_json("c"),
        &note_json("d"),
    ]);
    let all = lines.concat();
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), all.as_bytes());
    drop(open(folder.path()).unwrap());
    let (mut follower, _stop) = Follower::start(folder.path(), Notes, Seq(0)).unwrap();
    assert_eq!(
        texts(&mut follower, 4).len(),
        4,
        "the hint vouches for the last line"
    );
    put(folder.path(), lines[..2].concat().as_bytes());
    let error = follower.next().unwrap().unwrap_err();
    assert!(
        matches!(error, FollowError::Replay(ReplayError::Damaged(_))),
        "{error}"
    );

    let unknown = forge(&[&note_json("a"), r#"{"type":"future"}"#, &note_json("c")]).concat();
    ends_with(
        unknown.as_bytes(),
        &["a"],
        |error| matches!(error, ReplayError::UnknownRecord { kind, .. } if kind == "future"),
    );
}
