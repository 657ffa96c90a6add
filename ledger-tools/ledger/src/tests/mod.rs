//! The ledger on a simulated disk: power cuts, failing calls, damage. Never touches the real one.

mod blobs;
mod crash;
mod damage;
mod room;
mod sim;
mod writing;

use crate::codec::{Codec, DecodeError, Entry};
use crate::disk::Disk;
use crate::error::ReplayError;
use crate::format::Seq;
use crate::log::Queued;
use crate::replay::{Replayed, replay_disk};
use chrono::DateTime;

/// Records that are plain texts.
#[derive(Debug, Clone, Copy)]
struct Texts;

impl Codec for Texts {
    type Record = String;

    fn encode(&self, record: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"type":"text","text":"#);
        serde_json::to_writer(&mut *out, record).unwrap();
        out.push(b'}');
    }

    fn decode(&self, kind: &str, json: &str) -> Result<String, DecodeError> {
        #[derive(serde::Deserialize)]
        struct Text {
            text: String,
        }
        if kind != "text" {
            return Err(DecodeError::UnknownKind);
        }
        serde_json::from_str(json)
            .map(|text: Text| text.text)
            .map_err(|error| DecodeError::Malformed(error.to_string()))
    }
}

/// The text of line `seq`, of a length that differs from line to line.
fn text(seq: u64) -> String {
    format!(
        "{seq} {}",
        "x".repeat(usize::try_from(seq * 7 % 41).unwrap())
    )
}

/// Line `seq` on its way to the disk.
fn queued(seq: u64) -> Queued {
    let mut records = Vec::new();
    Texts.encode(&text(seq), &mut records);
    let at = DateTime::from_timestamp_millis(1_796_041_868_114).unwrap();
    Queued {
        seq: Seq(seq),
        at,
        records,
    }
}

/// The numbers and texts of a ledger's lines.
type Read = Vec<(u64, String)>;

fn collect(
    into: &mut Read,
) -> impl FnMut(Entry<String>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    |entry| {
        into.push((entry.seq.0, entry.records.concat()));
        Ok(())
    }
}

fn read(disk: &dyn Disk) -> Result<(Replayed, Read), ReplayError> {
    let mut lines = Read::new();
    let replayed = replay_disk(disk, &Texts, &mut collect(&mut lines))?;
    Ok((replayed, lines))
}

/// What lines 1 to `last` are read as.
fn lines_to(last: u64) -> Read {
    (1..=last).map(|seq| (seq, text(seq))).collect()
}
