//! The ledger itself.

use crate::Measured;
use crate::waiting::Durable;
use chrono::{DateTime, Utc};
use ledger::{Codec, DecodeError, Filesystems, Seq, Word, Writer};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

struct Texts;

impl Codec for Texts {
    type Record = String;

    fn encode(&self, record: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"type":"text","text":""#);
        out.extend_from_slice(record.as_bytes());
        out.extend_from_slice(br#""}"#);
    }

    fn decode(&self, _kind: &str, json: &str) -> Result<String, DecodeError> {
        Ok(json.to_owned())
    }
}

/// A text that makes a line of about 512 bytes.
fn text() -> String {
    "a line of the ledger ".repeat(17)[..340].to_owned()
}

pub(crate) fn append(folder: &Path, appenders: usize, lines: u64) -> Measured {
    let durable = Arc::new(Durable::default());
    let told = Arc::clone(&durable);
    let writer: Writer<Texts> = ledger::create(
        folder,
        Texts,
        Filesystems::Any,
        Box::new(move |word| match word {
            Word::Durable(Seq(seq)) => told.rise_to(seq),
            Word::Failed(_) => told.rise_to(u64::MAX),
            Word::Filling(_) => {}
        }),
    )
    .expect("a ledger can be created");
    let text = text();
    let at: DateTime<Utc> = DateTime::UNIX_EPOCH;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..appenders {
            scope.spawn(|| {
                for _ in 0..lines {
                    let record = std::slice::from_ref(&text);
                    let Seq(seq) = writer.append(at, record).expect("the writer takes lines");
                    durable.wait_for(seq);
                }
            });
        }
    });
    let took = start.elapsed();
    writer.close().expect("the ledger can be closed");
    Measured {
        took,
        syncs: syncs(folder),
    }
}

/// Lines that were synced together carry the same watermark.
fn syncs(folder: &Path) -> u64 {
    let mut syncs = 0;
    let mut last = None;
    ledger::replay(folder, &Texts, &mut |entry| {
        // The closing witness is the one line without records.
        if last != Some(entry.durable) && !entry.records.is_empty() {
            syncs += 1;
            last = Some(entry.durable);
        }
        Ok(())
    })
    .expect("the ledger is whole");
    syncs
}
