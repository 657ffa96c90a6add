//! A codec of notes and the few steps that the tests of the public interface share. Never asserts.

use chrono::{DateTime, Utc};
use ledger::{
    Codec, DecodeError, Entry, Filesystems, OnDurable, Opened, Seq, Word, WriteError, Writer,
};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The only record that the tests know.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Note {
    /// Any text.
    pub(crate) text: String,
}

/// Reads and writes notes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notes;

impl Codec for Notes {
    type Record = Note;

    fn encode(&self, record: &Note, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"type":"note","text":"#);
        serde_json::to_writer(&mut *out, &record.text).unwrap();
        out.push(b'}');
    }

    fn decode(&self, kind: &str, json: &str) -> Result<Note, DecodeError> {
        match kind {
            "note" => serde_json::from_str(json).map_err(|e| DecodeError::Malformed(e.to_string())),
            _ => Err(DecodeError::UnknownKind),
        }
    }
}

/// A note.
pub(crate) fn note(text: impl Into<String>) -> Note {
    Note { text: text.into() }
}

/// The instant of test number `n`.
pub(crate) fn at(n: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_796_041_868_114 + n).unwrap()
}

/// What the writer's thread told.
pub(crate) type Told = Receiver<Result<Seq, WriteError>>;

/// A callback that sends all it is told.
pub(crate) fn telling() -> (OnDurable, Told) {
    let (sender, told): (Sender<Result<Seq, WriteError>>, Told) = channel();
    let callback = Box::new(move |word: Word<'_>| {
        let told = match word {
            Word::Durable(seq) => Ok(seq),
            Word::Failed(error) => Err(error.clone()),
            Word::Filling(_) => return,
        };
        // A test that has seen enough no longer listens.
        let _ = sender.send(told);
    });
    (callback, told)
}

/// Waits until `seq` is durable.
pub(crate) fn wait_for(told: &Told, seq: Seq) {
    while told.recv().unwrap().unwrap() < seq {}
}

/// A new ledger in `folder`.
pub(crate) fn create(folder: &Path) -> (Writer<Notes>, Told) {
    let (callback, told) = telling();
    let writer = ledger::create(folder, Notes, Filesystems::Any, callback).unwrap();
    (writer, told)
}

/// The texts of a ledger, taken over.
pub(crate) fn open(folder: &Path) -> Result<(Opened<Notes>, Vec<String>, Told), ledger::OpenError> {
    let (callback, told) = telling();
    let mut texts = Vec::new();
    let mut collect = |entry: Entry<Note>| {
        texts.extend(entry.records.into_iter().map(|note| note.text));
        Ok(())
    };
    let opened = ledger::open(folder, Notes, Filesystems::Any, &mut collect, callback)?;
    Ok((opened, texts, told))
}

/// The entries of a ledger, only read.
pub(crate) fn read(
    folder: &Path,
) -> Result<(ledger::Replayed, Vec<Entry<Note>>), ledger::ReplayError> {
    let mut entries = Vec::new();
    let replayed = ledger::replay(folder, &Notes, &mut |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok((replayed, entries))
}

/// Lines with a right chain round these record lists, as another program would write them. Each line is
/// its own batch.
pub(crate) fn forge(records: &[&str]) -> Vec<String> {
    let mut before = String::new();
    let mut lines = Vec::new();
    for (index, list) in records.iter().enumerate() {
        let seq = index + 1;
        let body = format!(
            r#"{{"v":1,"seq":{seq},"epoch":1,"dw":{index},"at":"2026-11-30T12:31:08.114Z","records":[{list}]"#
        );
        before = sum_after(&before, &body);
        lines.push(format!("{body},\"sum\":\"{before}\"}}\n"));
    }
    lines
}

/// The sum of a line's body after the line with the sum `before`.
pub(crate) fn sum_after(before: &str, body: &str) -> String {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(format!("{before}{body}"));
    hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A record list with one note.
pub(crate) fn note_json(text: &str) -> String {
    format!(r#"{{"type":"note","text":"{text}"}}"#)
}

/// Writes `bytes` as the ledger of `folder`.
pub(crate) fn put(folder: &Path, bytes: &[u8]) {
    std::fs::write(folder.join("ledger.jsonl"), bytes).unwrap();
}

/// The ledger's bytes.
pub(crate) fn bytes(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("ledger.jsonl")).unwrap()
}

/// The texts of all notes.
pub(crate) fn texts(entries: &[Entry<Note>]) -> Vec<&str> {
    entries
        .iter()
        .flat_map(|entry| &entry.records)
        .map(|note| note.text.as_str())
        .collect()
}
