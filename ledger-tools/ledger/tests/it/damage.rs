//! Hand-made ledgers that end torn or are damaged in the middle: reading, taking over, reading again.

use crate::common::{at, bytes, forge, note, note_json, open, put, read, sum_after, texts};
use ledger::{ReplayError, Tail, Trouble};

fn three() -> Vec<String> {
    forge(&[&note_json("a"), &note_json("b"), &note_json("c")])
}

/// Reads `good` followed by `tail`, takes it over, appends `new`, and reads it again.
fn check_torn(tail: &[u8], kept: &[&str], torn_bytes: Option<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let good = three().concat().into_bytes();
    put(folder.path(), &[&good, tail].concat());
    let before = bytes(folder.path());

    let (replayed, entries) = read(folder.path()).unwrap();
    assert_eq!(texts(&entries), kept);
    match (&replayed.tail, torn_bytes) {
        (Tail::Torn(torn), Some(expected)) => {
            assert_eq!(
                (torn.place.byte, torn.bytes),
                (good.len() as u64, expected as u64)
            );
        }
        (Tail::Whole | Tail::Unended, None) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(bytes(folder.path()), before, "reading changes no byte");

    let (opened, _, _) = open(folder.path()).unwrap();
    assert_eq!(opened.torn.is_some(), torn_bytes.is_some());
    let seq = opened.writer.append(at(9), &[note("new")]).unwrap();
    assert_eq!(seq.0, kept.len() as u64 + 1);
    opened.writer.close().unwrap();

    let (replayed, entries) = read(folder.path()).unwrap();
    assert_eq!(replayed.tail, Tail::Whole);
    assert_eq!(texts(&entries), [kept, &["new"]].concat());
    assert!(
        bytes(folder.path()).starts_with(&good),
        "acknowledged lines keep their bytes"
    );
    for line in bytes(folder.path()).split_inclusive(|byte| *byte == b'\n') {
        let value: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert!(value["seq"].is_u64());
    }
}

#[test]
fn a_torn_end_is_told_cut_off_and_kept_aside() {
    let fourth = &forge(&["", "", "", &note_json("d")])[3];
    let cut = &fourth.as_bytes()[..60];
    check_torn(cut, &["a", "b", "c"], Some(60));
    let inside_a_character = b"{\"v\":1,\"seq\":4,\"epoch\":1,\"dw\":3,\"at\":\"na\xC3";
    check_torn(
        inside_a_character,
        &["a", "b", "c"],
        Some(inside_a_character.len()),
    );
    check_torn(&[0; 300], &["a", "b", "c"], Some(300));
    check_torn(b"", &["a", "b", "c"], None);
}

#[test]
fn a_whole_last_line_without_its_line_feed_is_kept() {
    let lines = forge(&[
        &note_json("a"),
        &note_json("b"),
        &note_json("c"),
        &note_json("d"),
    ]);
    check_torn(lines[3].trim_end().as_bytes(), &["a", "b", "c", "d"], None);
}

#[test]
fn an_empty_file_is_a_ledger_without_lines() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), b"");
    assert_eq!(read(folder.path()).unwrap().0.head, None);
    let (opened, _, _) = open(folder.path()).unwrap();
    assert_eq!(opened.writer.append(at(1), &[note("a")]).unwrap().0, 1);
    opened.writer.close().unwrap();
    assert_eq!(texts(&read(folder.path()).unwrap().1), ["a"]);
}

/// `damaged` is refused by readers and writers at `line` and `byte`; nothing is changed.
fn check_damage(damaged: &[u8], line: u64, byte: usize, found: &str) {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), damaged);
    let refusals = [
        read(folder.path()).map(|_| ()).unwrap_err(),
        match open(folder.path()).err().unwrap() {
            ledger::OpenError::Replay(error) => error,
            other => panic!("{other}"),
        },
    ];
    for error in refusals {
        assert_eq!(error.trouble(), Trouble::Unreadable);
        let ReplayError::Damaged(damage) = error else {
            panic!("{error}");
        };
        assert_eq!(
            (damage.place.line, damage.place.byte),
            (line, byte as u64),
            "{damage}"
        );
        assert_eq!(damage.found, found);
    }
    assert_eq!(bytes(folder.path()), damaged, "nothing is changed");
}

#[test]
fn damage_before_acknowledged_lines_stops_with_the_place() {
    let notes: Vec<String> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|t| note_json(t))
        .collect();
    let lines = forge(&notes.iter().map(String::as_str).collect::<Vec<_>>());
    let two = lines[..2].concat();
    let join = |parts: &[&[u8]]| parts.concat();

    let nuls = [[0; 300].as_slice(), b"\n"].concat();
    let rest = lines[3..].concat();
    check_damage(
        &join(&[two.as_bytes(), &nuls, rest.as_bytes()]),
        3,
        two.len(),
        "NUL bytes",
    );

    let glued = [&lines[2].as_bytes()[..120], lines[3].as_bytes()].concat();
    let sum = &lines[3][lines[3].len() - 35..lines[3].len() - 3];
    check_damage(
        &join(&[two.as_bytes(), &glued, lines[4].as_bytes()]),
        3,
        two.len(),
        &format!("sum {sum}"),
    );

    let all_but_two = lines[2..].concat();
    check_damage(
        &join(&[two.as_bytes(), b"\n", all_but_two.as_bytes()]),
        3,
        two.len(),
        "an empty line",
    );

    let long = [vec![b'x'; 20_000_000], b"\n".to_vec()].concat();
    check_damage(
        &join(&[lines[0].as_bytes(), &long, lines[2].as_bytes()]),
        2,
        lines[0].len(),
        "20000001 bytes without a line feed",
    );
}

#[test]
fn the_same_bytes_in_a_batch_that_nothing_vouches_for_are_torn() {
    let notes: Vec<String> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|t| note_json(t))
        .collect();
    let lines = forge(&notes.iter().map(String::as_str).collect::<Vec<_>>());
    let unvouched = lines[4].replace(r#""dw":4"#, r#""dw":2"#);
    let body = &unvouched[..unvouched.len() - 43];
    let before = &lines[3][lines[3].len() - 35..lines[3].len() - 3];
    let fifth = format!("{body},\"sum\":\"{}\"}}\n", sum_after(before, body));
    let folder = tempfile::tempdir().unwrap();
    let two = lines[..2].concat();
    put(
        folder.path(),
        &[two.as_bytes(), &[0; 300], b"\n", fifth.as_bytes()].concat(),
    );
    let (replayed, entries) = read(folder.path()).unwrap();
    assert_eq!(texts(&entries), ["a", "b"]);
    assert!(matches!(replayed.tail, Tail::Torn(_)), "{replayed:?}");
    let (opened, _, _) = open(folder.path()).unwrap();
    let kept = std::fs::read(opened.torn.unwrap()).unwrap();
    assert_eq!(kept, [&[0; 300], &b"\n"[..], fifth.as_bytes()].concat());
}
