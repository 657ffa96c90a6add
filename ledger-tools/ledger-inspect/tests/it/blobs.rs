//! Verifying the blobs of a run: each that a record refers to is there, whole, and what its name says.

use crate::common::{anonymous, written};
use ledger_inspect::verify;
use std::path::Path;

/// A run whose records refer to three blobs, in every place where a reference may stand.
fn run() -> (tempfile::TempDir, [ledger::Blob; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let blobs = ledger::Blobs::of(folder.path());
    let stored = [b'a', b'b', b'c'].map(|byte| blobs.put(&vec![byte; 20_000]).unwrap());
    let reference = stored
        .each_ref()
        .map(|blob| format!(r#"{{"blob":"{}","bytes":{}}}"#, blob.sha256, blob.bytes));
    let records = [
        r#"{"type":"run.opened"}"#.to_owned(),
        format!(r#"{{"type":"tool.finished","text":{}}}"#, reference[0]),
        format!(
            r#"{{"type":"model.requested","told":["x",{}]}}"#,
            reference[1]
        ),
        format!(
            r#"{{"type":"attempt.finished","end":{{"how":"finished","text":{}}}}}"#,
            reference[2]
        ),
    ];
    let lists: Vec<[&str; 1]> = records.iter().map(|record| [record.as_str()]).collect();
    let lists: Vec<&[&str]> = lists.iter().map(<[&str; 1]>::as_slice).collect();
    let lines = written(&lists);
    for name in ["ledger.jsonl", "durable"] {
        std::fs::copy(lines.path().join(name), folder.path().join(name)).unwrap();
    }
    (folder, stored)
}

fn file(folder: &Path, blob: &ledger::Blob) -> std::path::PathBuf {
    let (first, rest) = blob.sha256.split_at(2);
    folder.join("blobs").join(first).join(rest)
}

#[test]
fn whole_blobs_are_counted_and_sound() {
    let (folder, _) = run();
    let report = verify(folder.path()).unwrap();
    assert!(report.is_sound());
    let blobs = report.blobs.unwrap();
    assert_eq!((blobs.referenced, blobs.bytes), (3, 60_000));
}

#[test]
fn a_missing_a_shortened_and_a_changed_blob_are_each_named_with_the_line_that_needs_it() {
    let (folder, stored) = run();
    std::fs::remove_file(file(folder.path(), &stored[0])).unwrap();
    std::fs::write(file(folder.path(), &stored[1]), vec![b'b'; 19_999]).unwrap();
    let mut changed = vec![b'c'; 20_000];
    changed[10_000] ^= 1;
    std::fs::write(file(folder.path(), &stored[2]), changed).unwrap();
    let report = verify(folder.path()).unwrap();
    assert!(!report.is_sound());
    let mut text = Vec::new();
    report.write_text(&mut text).unwrap();
    let text = anonymous(&String::from_utf8(text).unwrap(), folder.path());
    let places: Vec<&str> = text.lines().filter(|line| line.contains("blob")).collect();
    insta::assert_snapshot!(places.join("\n"), @"
    blobs referred to: 3, 60000 bytes
    damaged: blob cc17faaad36649c4603dda4d8ff97cb149722af0bcac0746305a2134ad2d0b97: expected 20000 bytes, found no such file; referred to by RUN/ledger.jsonl, line 2, byte 140
    damaged: blob 49a82a41772cfafe8b77be495a8d2fea49cd67100810a2911c12b524d6bf8b51: expected 20000 bytes, found 19999 bytes; referred to by RUN/ledger.jsonl, line 3, byte 380
    damaged: blob e7dfac8897878bfa2ddf9acf07d1766582563210ba32cd2e509732108945e77f: expected its name as its SHA-256, found faf1928fcc9a463886bdbacb67352acb03aa8568bfc4b6b376564664fad6f583; referred to by RUN/ledger.jsonl, line 4, byte 628
    ");
    assert!(text.ends_with("damaged in 3 places\n"), "{text}");
}

#[test]
fn what_agents_wrote_is_not_taken_for_a_reference() {
    let hash = "0".repeat(64);
    let deep = format!(
        r#"{{"type":"model.responded","answer":{{"items":[{{"blob":"{hash}","bytes":1}}]}}}}"#
    );
    let text =
        format!(r#"{{"type":"tool.finished","text":"{{\"blob\":\"{hash}\",\"bytes\":1}}"}}"#);
    let folder = written(&[&[&deep, &text]]);
    let report = verify(folder.path()).unwrap();
    assert_eq!(report.blobs.unwrap().referenced, 0);
}
