//! Verifying: the sound, the torn, and every damaged place named once.

use crate::common::{anonymous, folder_with, lines_of, run_of};
use ledger_inspect::{InspectError, Report, verify};
use std::path::Path;

fn text(report: &Report, folder: &Path) -> String {
    let mut out = Vec::new();
    report.write_text(&mut out).unwrap();
    anonymous(&String::from_utf8(out).unwrap(), folder)
}

#[test]
fn a_ledger_of_the_real_writer_is_sound_and_its_head_the_writers() {
    let folder = run_of(30);
    let report = verify(folder.path()).unwrap();
    assert!(report.is_sound());
    let head = report.head.clone().unwrap();
    let replayed = ledger::replay(folder.path(), &crate::common::Raw, &mut |_| Ok(())).unwrap();
    let theirs = replayed.head.unwrap();
    assert_eq!(
        (head.seq, head.sum.as_str()),
        (theirs.seq.0, theirs.sum.as_str())
    );
    assert_eq!((report.lines, report.torn), (30, None));
    assert_eq!(
        verify(&folder.path().join("ledger.jsonl")).unwrap().lines,
        30
    );
}

/// The damaged places of `bytes` as `line: found; lost`, and the whole lines.
fn check(bytes: &[u8], expected: &[&str], lines: u64) {
    let folder = folder_with(bytes);
    let report = verify(folder.path()).unwrap();
    let places: Vec<String> = report
        .damage
        .iter()
        .map(|d| {
            format!(
                "{}@{}: {} {:?}",
                d.place.line, d.place.byte, d.found, d.lost
            )
        })
        .collect();
    assert_eq!(places, expected);
    assert_eq!((report.lines, report.torn.is_some()), (lines, false));
}

#[test]
fn each_damaged_place_is_named_once_with_the_lines_that_are_lost() {
    let folder = run_of(8);
    let lines = lines_of(folder.path());
    let start = |line: usize| lines[..line - 1].concat().len();
    let with = |line: usize, bytes: &[u8]| {
        let mut changed = lines.clone();
        changed[line - 1] = bytes.to_vec();
        changed.concat()
    };
    let third = start(3);

    let nuls = [&[0; 300], &b"\n"[..]].concat();
    check(
        &with(3, &nuls),
        &[&format!("3@{third}: NUL bytes Some((3, 3))")],
        7,
    );
    check(
        &with(3, b"\n"),
        &[&format!("3@{third}: an empty line Some((3, 3))")],
        7,
    );
    let long = [vec![b'x'; 20_000_000], b"\n".to_vec()].concat();
    let found = "20000001 bytes without a line feed";
    check(
        &with(3, &long),
        &[&format!("3@{third}: {found} Some((3, 3))")],
        7,
    );
    check(
        &with(3, b""),
        &[&format!("3@{third}: line 4 Some((3, 3))")],
        7,
    );
    check(
        &with(3, &[lines[2].clone(), lines[2].clone()].concat()),
        &[&format!("4@{}: line 3 None", start(4))],
        8,
    );

    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    let report = verify(folder_with(&swapped.concat()).path()).unwrap();
    assert_eq!(report.damage[0].place.line, 3);
}

#[test]
fn an_empty_line_between_whole_lines_costs_no_line() {
    let lines = lines_of(run_of(5).path());
    let changed = [lines[..2].concat(), b"\n".to_vec(), lines[2..].concat()].concat();
    let at = lines[..2].concat().len();
    check(&changed, &[&format!("3@{at}: an empty line None")], 5);
}

#[test]
fn any_flipped_bit_damages_its_line_and_no_other() {
    let lines = lines_of(run_of(6).path());
    for line in 1..=4 {
        let start = lines[..line - 1].concat().len();
        for byte in 0..lines[line - 1].len() - 1 {
            let mut changed = lines.concat();
            changed[start + byte] ^= if byte % 2 == 0 { 1 } else { 2 };
            let report = match verify(folder_with(&changed).path()) {
                Ok(report) => report,
                Err(InspectError::Newer { place, .. }) if place.line == 1 => continue,
                Err(error) => panic!("{error}"),
            };
            let places: Vec<u64> = report
                .damage
                .iter()
                .map(|damage| damage.place.line)
                .collect();
            let n = u64::try_from(line).unwrap();
            // A line feed in the middle of a line makes two pieces of it.
            assert!(
                places == [n] || places == [n, n + 1],
                "byte {byte} of {line}: {places:?}"
            );
            let lost = report
                .damage
                .iter()
                .filter_map(|damage| damage.lost)
                .collect::<Vec<_>>();
            assert_eq!(lost, [(n, n)], "byte {byte} of line {line}");
            assert_eq!(report.lines, 5, "byte {byte} of line {line}");
        }
    }
}

#[test]
fn the_report_for_people() {
    let folder = run_of(4);
    insta::assert_snapshot!(text(&verify(folder.path()).unwrap(), folder.path()), @"
    RUN/ledger.jsonl: 4 lines are whole, 608 bytes
    head: line 4, epoch 1, sum 0b4df5746fe5f7772e087dcf6eb8fd31
    no damage
    ");

    let mut bytes = lines_of(folder.path());
    bytes[1][90] ^= 1;
    std::fs::write(folder.path().join("ledger.jsonl"), bytes[..3].concat()).unwrap();
    insta::assert_snapshot!(text(&verify(folder.path()).unwrap(), folder.path()), @"
    RUN/ledger.jsonl: 2 lines are whole, 489 bytes
    head: line 3, epoch 1, sum 5283899b0009d3c5ba22530b38f7231c
    damaged: RUN/ledger.jsonl, line 2, byte 163: expected sum 2f66a3818f1422f968cb19f8a85f4f8a, found sum e0f34a9bf224efa183b3375e9dcdfc56; line 2 is lost
    damaged: RUN/ledger.jsonl, line 4, byte 489: expected the lines up to 4, as acknowledged, found the end of the file; line 4 is lost
    damaged in 2 places
    ");

    let torn = folder_with(&[lines_of(run_of(2).path()).concat(), vec![0; 80]].concat());
    insta::assert_snapshot!(text(&verify(torn.path()).unwrap(), torn.path()), @"
    RUN/ledger.jsonl: 2 lines are whole, 362 bytes
    head: line 2, epoch 1, sum 4b8e7104bda928a03272fe51da13b3c8
    torn: RUN/ledger.jsonl, line 3, byte 282: 80 bytes are not acknowledged
    no damage
    ");
}

#[test]
fn the_report_for_programs() {
    let folder = run_of(3);
    let mut bytes = lines_of(folder.path()).concat();
    bytes[90] ^= 1;
    std::fs::write(folder.path().join("ledger.jsonl"), bytes).unwrap();
    let mut out = Vec::new();
    verify(folder.path()).unwrap().write_json(&mut out).unwrap();
    insta::assert_snapshot!(anonymous(&String::from_utf8(out).unwrap(), folder.path()), @r#"{"schema":"codewhale.ledger.verify/1","sound":false,"path":"RUN/ledger.jsonl","bytes":445,"lines":2,"head":{"seq":3,"epoch":1,"sum":"b60bec9acf8cc8c51382faca4cfdf44f"},"damage":[{"place":{"segment":"RUN/ledger.jsonl","line":1,"byte":0},"expected":"sum 5f3f0bf12ce8bbe8a3b337a2d04aa9f9","found":"sum 61d2867ad0616c615a8717733f6aebc7","lost":[1,1]}],"torn":null,"blobs":{"referenced":0,"bytes":0,"damage":[]}}"#);
}

#[test]
fn another_last_acknowledged_line_than_the_one_on_record_is_damage() {
    let (ours, theirs) = (run_of(4), run_of(5));
    let durable = std::fs::read(ours.path().join("durable")).unwrap();
    std::fs::write(theirs.path().join("durable"), durable).unwrap();
    let report = verify(theirs.path()).unwrap();
    assert_eq!(report.damage.len(), 1);
    assert!(
        report.damage[0].expected.ends_with("as acknowledged"),
        "{report:?}"
    );
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        verify(empty.path()),
        Err(InspectError::Missing(_))
    ));
    let newer = folder_with(b"{\"v\":99}\nsome lines\n");
    let error = verify(newer.path()).unwrap_err().to_string();
    assert_eq!(
        anonymous(&error, newer.path()),
        "RUN/ledger.jsonl, line 1, byte 0 is in format 99; this program reads format 1"
    );
    let foreign = verify(folder_with(b"hello\n").path()).unwrap();
    assert_eq!(
        (foreign.damage.len(), foreign.torn),
        (1, None),
        "never taken for a torn ledger"
    );
}
