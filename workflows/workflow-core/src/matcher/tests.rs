//! Orders against histories, case by case.

use super::{Matcher, Offer, Standing};
use crate::history::{History, IllegalRecord, Place};
use crate::key::{ContentKey, Ordinal, TaskKey};

fn key(name: &str, ordinal: u32) -> TaskKey {
    TaskKey {
        content: ContentKey::explicit(name),
        ordinal: Ordinal(ordinal),
    }
}

fn at(seq: u64) -> Place {
    Place { seq, index: 0 }
}

/// A history from words: `p1` was ordered, `p1=x` settled with `x`, in that order.
fn history(words: &str) -> History<&str> {
    let mut history = History::default();
    for (word, seq) in words.split_whitespace().zip(1..) {
        let (task, result) = word.split_once('=').unwrap_or((word, ""));
        let (name, ordinal) = task.split_once('/').unwrap_or((task, "1"));
        let key = key(name, ordinal.parse().unwrap());
        history.ordered(key).unwrap();
        if !result.is_empty() {
            history.settled(key, at(seq), result).unwrap();
        }
    }
    history
}

/// What becomes of each order: `=` answered, `~` waits, `!` runs; then what is delivered.
fn check(past: &str, orders: &str, expected: &str) {
    let mut matcher = Matcher::new(history(past));
    let mut told: Vec<String> = orders
        .split_whitespace()
        .map(|name| match matcher.offer(ContentKey::explicit(name)) {
            Offer::Answered(key) => format!("={name}/{}", key.ordinal.0),
            Offer::Waits(key) => format!("~{name}/{}", key.ordinal.0),
            Offer::Run(key) => format!("!{name}/{}", key.ordinal.0),
        })
        .collect();
    let delivered = std::iter::from_fn(|| matcher.deliver());
    told.extend(delivered.map(|(_, result)| result.to_owned()));
    assert_eq!(told.join(" "), expected, "{orders} after {past}");
}

#[test]
fn a_first_run_runs_everything() {
    check("", "a b a", "!a/1 !b/1 !a/2");
}

#[test]
fn a_resumed_fan_out_runs_what_had_not_settled_and_delivers_in_ledger_order() {
    check("p3=z p1=x p2", "p1 p2 p3", "=p1/1 ~p2/1 =p3/1 z x");
    check("p3=z p1=x p2", "p3 p2 p1", "=p3/1 ~p2/1 =p1/1 z x");
}

#[test]
fn equal_orders_keep_their_places() {
    check("same=x", "same same", "=same/1 !same/2 x");
    check("same same/2=y", "same same", "~same/1 =same/2 y");
}

#[test]
fn an_edited_script_pays_only_for_what_changed() {
    check("p1=x p2=y q=z", "p1 p2 Q", "=p1/1 =p2/1 !Q/1 x y");
    check("p1=x p2=y q=z", "P1 p2 Q", "!P1/1 =p2/1 !Q/1 y");
}

#[test]
fn what_is_not_asked_again_is_known() {
    let mut matcher = Matcher::new(history("p1=x p2 p3=z"));
    matcher.offer(ContentKey::explicit("p3"));
    let mut left = [key("p1", 1), key("p2", 1)];
    left.sort();
    assert_eq!(matcher.unasked().collect::<Vec<_>>(), left);
}

#[test]
fn a_live_result_waits_until_the_ledgers_earlier_ones_are_delivered() {
    let mut matcher = Matcher::new(history("a=x b=y"));
    matcher.offer(ContentKey::explicit("new"));
    matcher.offer(ContentKey::explicit("b"));
    matcher.settle(key("new", 1), at(9), "n").unwrap();
    assert_eq!(matcher.deliver(), Some((key("b", 1), "y")));
    matcher.offer(ContentKey::explicit("a"));
    assert_eq!(matcher.deliver(), Some((key("a", 1), "x")));
    assert_eq!(matcher.deliver(), Some((key("new", 1), "n")));
    assert_eq!(matcher.deliver(), None);
}

#[test]
fn a_task_may_settle_before_the_script_asks_for_it_again() {
    let mut matcher = Matcher::new(history("a"));
    matcher.settle(key("a", 1), at(9), "x").unwrap();
    assert_eq!(matcher.standing(), Standing::Nothing);
    let offer = matcher.offer(ContentKey::explicit("a"));
    assert_eq!(offer, Offer::Answered(key("a", 1)));
    assert_eq!(matcher.deliver(), Some((key("a", 1), "x")));
}

#[test]
fn a_script_that_nothing_can_wake_is_known() {
    let mut matcher = Matcher::new(History::default());
    assert_eq!(matcher.standing(), Standing::Nothing);
    matcher.offer(ContentKey::explicit("a"));
    assert_eq!(matcher.standing(), Standing::Waits);
    assert_eq!(matcher.open().collect::<Vec<_>>(), [key("a", 1)]);
    matcher.settle(key("a", 1), at(1), "x").unwrap();
    assert_eq!(matcher.standing(), Standing::Ready);
    assert_eq!(matcher.open().count(), 0);
    matcher.deliver();
    assert_eq!(matcher.standing(), Standing::Nothing);
}

#[test]
fn what_cannot_settle_is_refused_and_changes_nothing() {
    let mut matcher = Matcher::new(history("old=x"));
    let (a, old) = (key("a", 1), key("old", 1));
    assert_eq!(
        matcher.settle(a, at(9), "x"),
        Err(IllegalRecord::NeverOrdered(a))
    );
    assert_eq!(
        matcher.settle(old, at(9), "y"),
        Err(IllegalRecord::SettledTwice(old))
    );
    matcher.offer(a.content);
    let early = matcher.settle(a, at(1), "x");
    assert!(
        matches!(early, Err(IllegalRecord::OutOfOrder { .. })),
        "{early:?}"
    );
    assert_eq!(matcher.settle(a, at(9), "x"), Ok(()));
    assert_eq!(
        matcher.settle(a, at(10), "x"),
        Err(IllegalRecord::SettledTwice(a))
    );
    matcher.deliver();
    assert_eq!(
        matcher.settle(a, at(10), "x"),
        Err(IllegalRecord::SettledTwice(a))
    );
}
