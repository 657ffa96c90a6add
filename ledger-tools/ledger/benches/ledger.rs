//! How fast a ledger is read and written: lines of 512 bytes, replayed with full verification, and
//! appended by many threads beside a bare group commit of the same bytes. Never asserts.

use chrono::{DateTime, Utc};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ledger::{Codec, DecodeError, Filesystems, Seq, Word, Writer};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const LINE_BYTES: usize = 512;
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
        bencher.iter(|| {
            let mut lines = 0;
            ledger::replay(folder.path(), &Texts, &mut |entry| {
                lines += entry.records.len();
                Ok(())
            })
            .expect("the ledger is whole");
            lines
        });
    });
    group.finish();
}

/// The last durable line, to be waited for.
#[derive(Default)]
struct Durable(Mutex<u64>, Condvar);

impl Durable {
    fn rise_to(&self, seq: u64) {
        *self.0.lock().expect("nobody panics") = seq;
        self.1.notify_all();
    }

    fn wait_for(&self, seq: u64) {
        let mut durable = self.0.lock().expect("nobody panics");
        while *durable < seq {
            durable = self.1.wait(durable).expect("nobody panics");
        }
    }
}

/// Time that `appenders` threads need for `rounds` lines each, every line awaited before the next.
fn by_ledger(folder: &Path, appenders: usize, rounds: u64) -> Duration {
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
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..appenders {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let record = std::slice::from_ref(&text);
                    let Seq(seq) = writer.append(at(), record).expect("the writer takes lines");
                    durable.wait_for(seq);
                }
            });
        }
    });
    let took = start.elapsed();
    writer.close().expect("the ledger can be closed");
    took
}

/// The same with nothing but a queue, one write and one sync: what the disk itself allows.
fn by_bare_group_commit(folder: &Path, appenders: usize, rounds: u64) -> Duration {
    let mut file = std::fs::File::create(folder.join("bare")).expect("a file can be created");
    let queue = (Mutex::new((Vec::<u8>::new(), 0_u64)), Condvar::new());
    let durable = Durable::default();
    let total = appenders as u64 * rounds;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..appenders {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let mut queued = queue.0.lock().expect("nobody panics");
                    queued.0.extend_from_slice(&[b'x'; LINE_BYTES]);
                    queued.1 += 1;
                    let seq = queued.1;
                    drop(queued);
                    queue.1.notify_one();
                    durable.wait_for(seq);
                }
            });
        }
        let mut synced = 0;
        while synced < total {
            let mut queued = queue.0.lock().expect("nobody panics");
            while queued.0.is_empty() {
                queued = queue.1.wait(queued).expect("nobody panics");
            }
            let (bytes, last) = (std::mem::take(&mut queued.0), queued.1);
            drop(queued);
            file.write_all(&bytes).expect("the file takes bytes");
            file.sync_data().expect("the file can be synced");
            synced = last;
            durable.rise_to(last);
        }
    });
    start.elapsed()
}

type Way = fn(&Path, usize, u64) -> Duration;

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    let ways: [(&str, Way); 2] = [
        ("ledger", by_ledger),
        ("bare group commit", by_bare_group_commit),
    ];
    for appenders in [8, 64] {
        group.throughput(Throughput::Elements(appenders as u64));
        for (name, way) in ways {
            group.bench_function(BenchmarkId::new(name, appenders), |bencher| {
                bencher.iter_custom(|rounds| {
                    let folder = tempfile::tempdir().expect("a temporary folder can be made");
                    way(folder.path(), appenders, rounds)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, replay, append);
criterion_main!(benches);
