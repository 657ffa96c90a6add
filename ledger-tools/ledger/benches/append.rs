//! How fast lines become durable: threads that each wait for their line before the next, by the ledger, by a
//! bare group commit of the same bytes (what the disk itself allows) and, with the feature `sqlite`, by SQLite.
//! All in turn within one run, so that the ratios hold on a machine with other work. Never asserts.

#[path = "append/bare.rs"]
mod bare;
#[path = "append/by_ledger.rs"]
mod by_ledger;
#[cfg(feature = "sqlite")]
#[path = "append/by_sqlite.rs"]
mod by_sqlite;
#[path = "append/waiting.rs"]
mod waiting;

use std::path::Path;
use std::time::Duration;

const LINE_BYTES: usize = 512;

/// How often each way is measured.
const ROUNDS: usize = 9;

/// Lines that each thread appends, one after the other.
const LINES: u64 = 60;

/// What one measurement came to.
struct Measured {
    took: Duration,
    syncs: u64,
}

type Way = fn(&Path, usize, u64) -> Measured;

const WAYS: &[(&str, Way)] = &[
    ("ledger", by_ledger::append),
    ("bare group commit", bare::append),
    #[cfg(feature = "sqlite")]
    ("SQLite, WAL, FULL", by_sqlite::append),
];

fn main() {
    println!(
        "lines of {LINE_BYTES} bytes; medians of {ROUNDS} rounds, lowest and highest in parentheses"
    );
    for appenders in [8, 64, 256] {
        compare(appenders);
    }
}

fn compare(appenders: usize) {
    let mut rates = vec![Vec::new(); WAYS.len()];
    let mut sizes = vec![Vec::new(); WAYS.len()];
    for _ in 0..ROUNDS {
        for (index, (_, way)) in WAYS.iter().enumerate() {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let Measured { took, syncs } = way(folder.path(), appenders, LINES);
            let lines = appenders as f64 * LINES as f64;
            rates[index].push(lines / took.as_secs_f64());
            sizes[index].push(lines / syncs as f64);
        }
    }
    println!("{appenders} threads:");
    // What the ledger reached of each, round by round: neighbours in time share the machine's mood.
    for (index, (name, _)) in WAYS.iter().enumerate() {
        let mut shares: Vec<f64> = rates[0]
            .iter()
            .zip(&rates[index])
            .map(|(ours, theirs)| ours / theirs)
            .collect();
        let share = median(&mut shares);
        let size = median(&mut sizes[index].clone());
        let rate = median(&mut rates[index].clone());
        let lowest = rates[index].iter().copied().fold(f64::MAX, f64::min);
        let highest = rates[index].iter().copied().fold(0.0, f64::max);
        println!(
            "  {name:<18} {rate:>9.0} lines a second ({lowest:.0}-{highest:.0}), {size:>5.1} a sync; the ledger does {share:.2} of it"
        );
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
