//! Ledgers for the tests, written by the real writer. Never asserts.

use chrono::DateTime;
use ledger::{Codec, DecodeError, Filesystems};
use std::path::Path;

/// Records that are their own JSON.
pub(crate) struct Raw;

impl Codec for Raw {
    type Record = String;

    fn encode(&self, record: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(record.as_bytes());
    }

    fn decode(&self, _kind: &str, json: &str) -> Result<String, DecodeError> {
        Ok(json.to_owned())
    }
}

/// Writes a run: one line for each list of records, each its own batch, then the witness.
pub(crate) fn written(lines: &[&[&str]]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (sender, durable) = std::sync::mpsc::channel();
    let told = Box::new(move |word: ledger::Word<'_>| {
        if let ledger::Word::Durable(seq) = word {
            let _ = sender.send(seq);
        }
    });
    let writer = ledger::create(folder.path(), Raw, Filesystems::Any, told).unwrap();
    for records in lines {
        let at = DateTime::from_timestamp_millis(1_796_041_868_114).unwrap();
        let records: Vec<String> = records.iter().map(|record| (*record).to_owned()).collect();
        let seq = writer.append(at, &records).unwrap();
        while durable.recv().unwrap() < seq {}
    }
    writer.close().unwrap();
    folder
}

/// A run of `lines` lines, the last of them the witness.
pub(crate) fn run_of(lines: usize) -> tempfile::TempDir {
    let records: Vec<String> = (1..lines)
        .map(|n| {
            format!(
                r#"{{"type":"note.taken","task":"t{}","text":"{n}"}}"#,
                n % 2
            )
        })
        .collect();
    let singles: Vec<[&str; 1]> = records.iter().map(|record| [record.as_str()]).collect();
    let lists: Vec<&[&str]> = singles.iter().map(<[&str; 1]>::as_slice).collect();
    written(&lists)
}

/// The ledger's lines, line feeds included.
pub(crate) fn lines_of(folder: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(folder.join("ledger.jsonl")).unwrap();
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// A folder with these bytes as its ledger, without the file `durable`.
pub(crate) fn folder_with(bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ledger.jsonl"), bytes).unwrap();
    folder
}

/// `text` with the folder's path as `RUN`.
pub(crate) fn anonymous(text: &str, folder: &Path) -> String {
    text.replace(&folder.display().to_string(), "RUN")
}

/// A ledger as its bytes, made by the rules of the format page and nothing else.
pub(crate) struct Forged {
    /// Its lines, line feeds included.
    pub(crate) lines: Vec<Vec<u8>>,
    /// The file `durable` after its last line.
    pub(crate) durable: Vec<u8>,
}

/// `count` lines of the run `run`, in batches of three.
pub(crate) fn forged(run: &str, count: usize) -> Forged {
    let mut sum = String::new();
    let mut lines = Vec::new();
    for seq in 1..=count {
        let dw = (seq - 1) / 3 * 3;
        let filler = "x".repeat(seq * 7 % 41);
        let body = format!(
            r#"{{"v":1,"seq":{seq},"epoch":1,"dw":{dw},"at":"2026-11-30T12:31:08.114Z","records":[{{"type":"note.taken","run":"{run}","text":"{filler}"}}]"#
        );
        sum = sum_of(&format!("{sum}{body}"));
        lines.push(format!("{body},\"sum\":\"{sum}\"}}\n").into_bytes());
    }
    let hint = format!(r#"{{"seq":{count},"sum":"{sum}""#);
    let durable = format!("{hint},\"check\":\"{}\"}}\n", sum_of(&hint)).into_bytes();
    Forged { lines, durable }
}

fn sum_of(text: &str) -> String {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(text);
    hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
