//! Many seeds, with and without faults. A failing seed is printed; `SEED=n` plays one alone.

use fleet_core::record::RunOutcome;
use simulation::{Faults, play};
use std::collections::BTreeSet;

const SEEDS: u64 = 1_000;

const EVERYTHING: Faults = Faults {
    kill_percent: 4,
    stop_percent: 2,
    outage_percent: 3,
    max: 12,
};

fn seeds() -> Vec<u64> {
    match std::env::var("SEED") {
        Ok(one) => vec![one.parse().expect("SEED is a number")],
        Err(_) => (0..SEEDS).collect(),
    }
}

/// Plays every seed and answers how many managers and which outcomes there were.
fn check(faults: Faults) -> (u32, BTreeSet<&'static str>) {
    let (mut managers, mut outcomes) = (0, BTreeSet::new());
    for seed in seeds() {
        match play(seed, faults) {
            Ok(report) => {
                managers += report.managers;
                outcomes.insert(report.ended.outcome.word());
            }
            Err(violation) => panic!("{violation}"),
        }
    }
    (managers, outcomes)
}

#[test]
fn every_seed_ends_and_breaks_nothing_without_faults() {
    let (managers, outcomes) = check(Faults::default());
    if seeds().len() > 1 {
        assert_eq!(u64::from(managers), SEEDS);
        let all = [
            RunOutcome::Done,
            RunOutcome::Partial,
            RunOutcome::Failed,
            RunOutcome::Budget,
        ];
        assert_eq!(outcomes, all.map(RunOutcome::word).into());
    }
}

#[test]
fn every_seed_ends_and_breaks_nothing_with_kills_between_appends() {
    let kills = Faults {
        kill_percent: 8,
        max: 12,
        ..Faults::default()
    };
    let (managers, _) = check(kills);
    assert!(
        managers as usize > seeds().len(),
        "no run was killed: the test shows nothing"
    );
}

#[test]
fn every_seed_ends_and_breaks_nothing_with_kills_stops_and_outages() {
    let (managers, _) = check(EVERYTHING);
    assert!(
        managers as usize > seeds().len(),
        "nothing struck: the test shows nothing"
    );
}

#[test]
fn a_seed_plays_the_same_every_time() {
    let one = format!("{:?}", play(42, EVERYTHING).unwrap());
    assert_eq!(one, format!("{:?}", play(42, EVERYTHING).unwrap()));
}
