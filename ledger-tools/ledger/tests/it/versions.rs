//! Ledgers of other versions: newer formats, unknown records, foreign files.

use crate::common::{at, bytes, forge, note, note_json, open, put, read, texts};
use ledger::{OpenError, ReplayError, Trouble};

/// Both readers and writers refuse the bytes with `message`, and change none of them.
fn refused(ledger: &[u8], message: &str) {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), ledger);
    let reading = read(folder.path()).map(|_| ()).unwrap_err();
    let OpenError::Replay(opening) = open(folder.path()).err().unwrap() else {
        panic!("opening fails as reading does");
    };
    for error in [reading, opening] {
        assert_eq!(error.trouble(), Trouble::Unreadable);
        let text = error
            .to_string()
            .replace(&folder.path().display().to_string(), "RUN");
        assert_eq!(text, message);
    }
    assert_eq!(bytes(folder.path()), ledger, "nothing is changed");
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    refused(
        b"{\"v\":99}\nsome lines\n",
        "RUN/ledger.jsonl, line 1, byte 0 is in format 99; this program reads format 1",
    );
}

#[test]
fn a_newer_line_in_an_older_ledger_is_refused_with_the_version_that_wrote_it() {
    let first = r#"{"type":"note","text":"a","version":"1.2.3"}"#;
    let lines = forge(&[first, ""]);
    let body = lines[1].replace(r#""v":1"#, r#""v":2"#);
    let body = &body[..body.len() - 43];
    let before = &lines[0][lines[0].len() - 35..lines[0].len() - 3];
    let newer = format!(
        "{body},\"sum\":\"{}\"}}\n",
        crate::common::sum_after(before, body)
    );
    refused(
        [&lines[0], &newer].map(String::as_str).concat().as_bytes(),
        &format!(
            "RUN/ledger.jsonl, line 2, byte {} is in format 2, written by version 1.2.3; \
             this program reads format 1",
            lines[0].len()
        ),
    );
}

#[test]
fn an_unknown_record_is_refused_with_its_type_and_the_version_that_wrote_it() {
    let first = r#"{"type":"note","text":"a","version":"1.2.3"}"#;
    let lines = forge(&[first, r#"{"type":"future","z":1}"#]);
    refused(
        lines.concat().as_bytes(),
        &format!(
            "unknown record type `future` at RUN/ledger.jsonl, line 2, byte {}, \
             written by version 1.2.3",
            lines[0].len()
        ),
    );
}

#[test]
fn an_ignorable_record_and_an_unknown_field_are_kept_as_they_are() {
    let future = r#"{"type":"future","ignorable":true,"z":1}"#;
    let extra = r#"{"type":"note","text":"b","zz":[1,2]}"#;
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        forge(&[&note_json("a"), future, extra]).concat().as_bytes(),
    );
    let before = bytes(folder.path());
    let (opened, read_texts, _) = open(folder.path()).unwrap();
    assert_eq!(read_texts, ["a", "b"]);
    opened.writer.append(at(1), &[note("c")]).unwrap();
    opened.writer.close().unwrap();
    assert!(bytes(folder.path()).starts_with(&before));
    let (_, entries) = read(folder.path()).unwrap();
    assert_eq!(texts(&entries), ["a", "b", "c"]);
    assert_eq!(entries[1].ignored, [future]);
    assert_eq!((entries[1].records.len(), entries[2].ignored.len()), (0, 0));
}

#[test]
fn what_never_was_a_ledger_is_refused_and_not_taken_for_a_torn_one() {
    for foreign in [
        &b"{\"v\":0,\"seq\":1,\"type\":\"old\"}\n"[..],
        b"{\"type\":\"old\",\"seq\":1}\n{\"type\":\"old\",\"seq\":2}\n",
        b"hello\n",
        b"\n",
    ] {
        refused(
            foreign,
            "RUN/ledger.jsonl, line 1, byte 0 does not begin like a ledger",
        );
    }
}

#[test]
fn a_record_that_cannot_be_read_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for records in [r#"{"type":"note"}"#, r#"{"text":"no type"}"#, "1", "{"] {
        put(
            folder.path(),
            forge(&[&note_json("a"), records]).concat().as_bytes(),
        );
        let error = read(folder.path()).unwrap_err();
        let ReplayError::Malformed { place, .. } = &error else {
            panic!("{records}: {error}");
        };
        assert_eq!(place.line, 2, "{records}");
    }
}

#[test]
fn an_entry_that_the_fold_refuses_stops_the_opening_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        forge(&[&note_json("a"), &note_json("b")])
            .concat()
            .as_bytes(),
    );
    let mut refuse_second = |entry: ledger::Entry<_>| match entry.seq.0 {
        2 => Err("illegal".into()),
        _ => Ok(()),
    };
    let error = ledger::replay(folder.path(), &crate::common::Notes, &mut refuse_second);
    let ReplayError::Refused { place, source } = error.unwrap_err() else {
        panic!("the fold refused");
    };
    assert_eq!((place.line, source.to_string().as_str()), (2, "illegal"));
}
