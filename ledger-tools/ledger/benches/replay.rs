//! How fast a ledger is read: lines of 512 bytes, replayed with full verification. Never asserts.

use chrono::{DateTime, Utc};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ledger::{Codec, DecodeError, Filesystems};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;
const REPLAYED_LINES: u64 = 100_000;

struct Texts;

#[derive(serde::Deserialize)]
struct Text {
    text: String,
}

impl Codec for Texts {
    type Record = String;

    fn encode(&self, record: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"type":"text","text":""#);
        out.extend_from_slice(record.as_bytes());
        out.extend_from_slice(br#""}"#);
    }

    fn decode(&self, _kind: &str, json: &str) -> Result<String, DecodeError> {
        serde_json::from_str(json)
            .map(|text: Text| text.text)
            .map_err(|error| DecodeError::Malformed(error.to_string()))
    }
}

/// A text that makes a line of about 512 bytes.
fn text() -> String {
    "a line of the ledger ".repeat(17)[..340].to_owned()
}

fn at() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

fn replayed(folder: &Path) -> usize {
    let mut records = 0;
    ledger::replay(folder, &Texts, &mut |entry| {
        records += entry.records.len();
        Ok(())
    })
    .expect("the ledger is whole");
    records
}

/// How long this thread has been on a core, as Linux tells it.
fn on_core() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn replay(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let writer = ledger::create(folder.path(), Texts, Filesystems::Any, Box::new(|_| {}))
        .expect("a ledger can be created");
    for _ in 0..REPLAYED_LINES {
        writer
            .append(at(), &[text()])
            .expect("the writer takes lines");
    }
    writer.close().expect("the ledger can be closed");
    let mut group = criterion.benchmark_group("replay");
    group
        .sample_size(20)
        .throughput(Throughput::Elements(REPLAYED_LINES));
    group.bench_function("lines of 512 bytes", |bencher| {
        bencher.iter(|| replayed(folder.path()));
    });
    // On a machine with other work the time on a core says more than the time that passed.
    group.bench_function("lines of 512 bytes, time on a core", |bencher| {
        bencher.iter_custom(|rounds| {
            let before = on_core();
            for _ in 0..rounds {
                black_box(replayed(folder.path()));
            }
            on_core().saturating_sub(before)
        });
    });
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
