//! Many seeds, with and without faults, and with planted bugs. A failing seed is printed; `SEED=n`
//! plays one alone, `SEEDS=n` plays that many.

use fleet_core::record::RunOutcome;
use simulation::{Bug, Faults, play, play_with};
use std::collections::BTreeSet;
use std::ops::Range;

/// Seeds where nothing else is said.
const SEEDS: u64 = 1_000;

/// Seeds within which each planted bug shows.
const SEEDS_FOR_A_BUG: u64 = 300;

fn seeds() -> Range<u64> {
    let number = |name: &str| {
        let value = std::env::var(name).ok()?;
        Some(value.parse().expect("SEED and SEEDS are numbers"))
    };
    match number("SEED") {
        Some(one) => one..one + 1,
        None => 0..number("SEEDS").unwrap_or(SEEDS),
    }
}

/// Plays every seed and answers how many managers and which outcomes there were.
fn check(faults: Faults) -> (u64, BTreeSet<&'static str>) {
    let (mut managers, mut outcomes) = (0, BTreeSet::new());
    for seed in seeds() {
        match play(seed, faults) {
            Ok(report) => {
                managers += u64::from(report.managers);
                outcomes.insert(report.ended.outcome.word());
            }
            Err(violation) => panic!("{violation}"),
        }
    }
    (managers, outcomes)
}

/// Plays every seed, of which several must have met with faults.
fn check_struck(faults: Faults) {
    let (managers, _) = check(faults);
    let played = seeds().end - seeds().start;
    assert!(
        managers > played || played == 1,
        "nothing struck: the test shows nothing"
    );
}

#[test]
fn every_seed_ends_and_breaks_nothing_without_faults() {
    let (managers, outcomes) = check(Faults::default());
    if seeds().end > SEEDS / 2 && seeds().start == 0 {
        assert_eq!(managers, seeds().end);
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
fn every_seed_ends_the_same_with_kills_between_appends() {
    check_struck(Faults {
        kill_percent: 8,
        max: 12,
        ..Faults::default()
    });
}

#[test]
fn every_seed_ends_the_same_with_all_faults_that_can_be_borne() {
    check_struck(Faults::BEARABLE);
}

#[test]
fn every_seed_ends_and_breaks_nothing_with_every_fault() {
    check_struck(Faults::EVERYTHING);
}

#[test]
fn conversations_outgrow_their_models_and_the_runs_end_all_the_same() {
    let compacted = (0..60).filter(|seed| {
        let report = play(*seed, Faults::BEARABLE);
        report.is_ok_and(|report| report.compactions > 0)
    });
    assert!(compacted.count() >= 8);
}

#[test]
fn every_planted_bug_is_noticed() {
    let unnoticed: Vec<Bug> = Bug::ALL
        .into_iter()
        .filter(|bug| {
            (0..SEEDS_FOR_A_BUG).all(|seed| play_with(seed, Faults::BEARABLE, Some(*bug)).is_ok())
        })
        .collect();
    assert_eq!(unnoticed, []);
}

#[test]
fn a_seed_plays_the_same_every_time() {
    let one = format!("{:?}", play(42, Faults::EVERYTHING).unwrap());
    assert_eq!(one, format!("{:?}", play(42, Faults::EVERYTHING).unwrap()));
}
