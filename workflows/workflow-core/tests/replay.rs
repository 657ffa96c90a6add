//! A script stopped anywhere and run again, with its tasks settling in any order, is told the same
//! results in the same order, and no settled task runs twice.
//!
//! The script here is a pure function of what it was told: after each result it may order more tasks,
//! some of them equal to earlier ones. That is all a real script can do.

use proptest::prelude::*;
use workflow_core::history::{History, Place};
use workflow_core::key::{ContentKey, TaskKey};
use workflow_core::matcher::{Matcher, Offer, Standing};

/// A result: the number says which of the ledger's settlements it is, so reruns would differ.
type Told = (TaskKey, u64);

/// The ledger of the run: what was ordered and what settled, in order.
#[derive(Debug, Clone, Default)]
struct Ledger {
    ordered: Vec<TaskKey>,
    settled: Vec<Told>,
}

impl Ledger {
    fn history(&self) -> History<u64> {
        let mut history = History::default();
        for key in &self.ordered {
            history.ordered(*key).expect("a key is ordered once");
        }
        for ((key, result), seq) in self.settled.iter().zip(1..) {
            let place = Place { seq, index: 0 };
            history
                .settled(*key, place, *result)
                .expect("a key settles once");
        }
        history
    }
}

/// What the script orders next, given all it was told. `salt` is the script's text.
fn orders(told: &[Told], salt: u64) -> Vec<ContentKey> {
    const MOST_RESULTS: usize = 12;
    if told.len() >= MOST_RESULTS {
        return Vec::new();
    }
    let last = told.last().map_or(0, |(_, result)| *result);
    let seed = salt
        .wrapping_mul(31)
        .wrapping_add(last)
        .wrapping_add(told.len() as u64);
    let width = if told.is_empty() { 4 } else { seed % 3 };
    // Few different contents, so that equal orders are frequent.
    (0..width)
        .map(|n| ContentKey::explicit(&((seed + n) % 5).to_string()))
        .collect()
}

/// Runs the script over a ledger until it ends or `most_settled` tasks settled live; `choices` say
/// which running task settles next. Returns what the script was told.
fn run(ledger: &mut Ledger, salt: u64, choices: &[usize], most_settled: usize) -> Vec<Told> {
    let mut matcher = Matcher::new(ledger.history());
    let mut told: Vec<Told> = Vec::new();
    let mut choices = choices.iter().cycle();
    let mut live = 0;
    order(&mut matcher, ledger, &told, salt);
    loop {
        match matcher.standing() {
            Standing::Nothing => return told,
            Standing::Ready => {
                told.extend(matcher.deliver());
                order(&mut matcher, ledger, &told, salt);
            }
            Standing::Waits if live == most_settled => return told,
            Standing::Waits => {
                let open: Vec<TaskKey> = matcher.open().collect();
                let key = open[choices.next().expect("there are choices") % open.len()];
                live += 1;
                let seq = 1 + ledger.settled.len() as u64;
                let place = Place { seq, index: 0 };
                matcher
                    .settle(key, place, seq)
                    .expect("an open task settles");
                ledger.settled.push((key, seq));
            }
        }
    }
}

fn order(matcher: &mut Matcher<u64>, ledger: &mut Ledger, told: &[Told], salt: u64) {
    for content in orders(told, salt) {
        if let Offer::Run(key) = matcher.offer(content) {
            assert!(!ledger.ordered.contains(&key), "{key} is ordered twice");
            ledger.ordered.push(key);
        }
    }
}

proptest! {
    #[test]
    fn a_stopped_script_goes_on_as_if_it_had_not_stopped(
        salt in any::<u64>(),
        stops in prop::collection::vec(0_usize..4, 0..6),
        choices in prop::collection::vec(any::<usize>(), 1..20),
    ) {
        let mut ledger = Ledger::default();
        let mut before: Vec<Told> = Vec::new();
        for stop in stops {
            let told = run(&mut ledger, salt, &choices, stop);
            prop_assert_eq!(&told[..before.len().min(told.len())], &before[..]);
            before = told;
        }
        let told = run(&mut ledger, salt, &choices, usize::MAX);
        prop_assert_eq!(&told[..before.len()], &before[..]);

        let settled_at_the_end = ledger.settled.len();
        let again = run(&mut ledger, salt, &choices, usize::MAX);
        prop_assert_eq!(again, told);
        prop_assert_eq!(ledger.settled.len(), settled_at_the_end);
    }

    #[test]
    fn the_order_of_a_fan_out_does_not_matter(
        names in prop::collection::vec(0_u8..5, 1..12),
        settled in prop::collection::vec(any::<bool>(), 12),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let contents: Vec<ContentKey> =
            names.iter().map(|name| ContentKey::explicit(&name.to_string())).collect();
        let mut ledger = Ledger::default();
        let mut first = Matcher::<u64>::new(History::default());
        for content in &contents {
            let Offer::Run(key) = first.offer(*content) else {
                panic!("a first run runs everything");
            };
            ledger.ordered.push(key);
        }
        let done = ledger.ordered.iter().zip(settled).filter(|(_, settled)| *settled);
        ledger.settled = done.zip(1..).map(|((key, _), result)| (*key, result)).collect();

        let mut turned = contents.clone();
        turned.rotate_left(shuffle.index(contents.len()));
        prop_assert_eq!(answers(&ledger, &contents), answers(&ledger, &turned));
    }
}

/// Which orders the ledger answers, and what is told in which order.
fn answers(ledger: &Ledger, orders: &[ContentKey]) -> (Vec<TaskKey>, Vec<Told>) {
    let mut matcher = Matcher::new(ledger.history());
    let mut answered: Vec<TaskKey> = orders
        .iter()
        .filter_map(|content| match matcher.offer(*content) {
            Offer::Answered(key) => Some(key),
            Offer::Waits(_) => None,
            Offer::Run(key) => panic!("{key} is ordered already"),
        })
        .collect();
    answered.sort();
    (answered, std::iter::from_fn(|| matcher.deliver()).collect())
}
