//! Many seeds, with and without kills. A failing seed is printed; `SEED=n` plays one alone.

use simulation::{Faults, play};

const SEEDS: u64 = 1_000;

fn seeds() -> Vec<u64> {
    match std::env::var("SEED") {
        Ok(one) => vec![one.parse().expect("SEED is a number")],
        Err(_) => (0..SEEDS).collect(),
    }
}

#[test]
fn every_seed_ends_and_breaks_nothing_without_kills() {
    for seed in seeds() {
        let report = play(
            seed,
            Faults {
                kill_percent: 0,
                kills_max: 0,
            },
        );
        assert!(report.is_ok(), "{}", report.unwrap_err());
    }
}

#[test]
fn every_seed_ends_and_breaks_nothing_with_kills_between_appends() {
    let mut kills = 0;
    for seed in seeds() {
        match play(
            seed,
            Faults {
                kill_percent: 8,
                kills_max: 12,
            },
        ) {
            Ok(report) => kills += report.kills,
            Err(violation) => panic!("{violation}"),
        }
    }
    assert!(kills > 0, "no run was killed: the test shows nothing");
}

#[test]
fn a_seed_plays_the_same_every_time() {
    let faults = Faults {
        kill_percent: 8,
        kills_max: 12,
    };
    let one = format!("{:?}", play(42, faults).unwrap());
    assert_eq!(one, format!("{:?}", play(42, faults).unwrap()));
}
