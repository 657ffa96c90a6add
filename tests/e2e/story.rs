//! What a ledger tells, read by a reader of its own: the chain of sums is checked by the ten lines
//! that the format promises, and no code is shared with the product.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The records of a ledger, in order.
#[derive(Debug)]
pub(crate) struct Story {
    records: Vec<Value>,
}

/// Tokens, as added up from records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// Input of answers.
    pub(crate) input: u64,
    /// Output of answers.
    pub(crate) output: u64,
    /// Reservations of requests that were never answered.
    pub(crate) unreported: u64,
}

impl Story {
    /// Reads the whole lines of a ledger. A last line that is not whole is left out.
    ///
    /// # Panics
    /// When a line does not follow from the one before.
    #[track_caller]
    pub(crate) fn read(ledger: &Path) -> Self {
        let text = std::fs::read_to_string(ledger).expect("a ledger");
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut before = String::new();
        let mut records = Vec::new();
        for (at, line) in whole.lines().enumerate() {
            let (body, rest) = line.rsplit_once(",\"sum\":\"").expect("a sum");
            let digest = Sha256::digest(format!("{before}{body}"));
            let sum: String = digest[..16].iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(rest, format!("{sum}\"}}"), "line {}", at + 1);
            let parsed: Value = serde_json::from_str(line).expect("a line is JSON");
            assert_eq!(parsed["seq"], at + 1);
            records.extend(parsed["records"].as_array().expect("records").clone());
            before = sum;
        }
        Self { records }
    }

    /// The records of a type.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<&Value> {
        let fitting = self.records.iter().filter(|record| record["type"] == kind);
        fitting.collect()
    }

    /// Every answer, as `alpha/2.1`: the first of the second attempt at `alpha`.
    pub(crate) fn answered(&self) -> Vec<String> {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let answers = self.of_type("model.responded").into_iter();
        let named = answers.map(|answer| {
            let whose = attempt_of(answer);
            let count = counts.entry(whose.clone()).or_default();
            *count += 1;
            format!("{whose}.{count}")
        });
        named.collect()
    }

    /// How often a request for each answer was lost, by its name as in [`Self::answered`].
    pub(crate) fn lost(&self) -> BTreeMap<String, usize> {
        let mut answers: BTreeMap<String, u32> = BTreeMap::new();
        let mut lost = BTreeMap::new();
        for record in &self.records {
            let whose = attempt_of(record);
            match record["type"].as_str() {
                Some("model.responded") => *answers.entry(whose).or_default() += 1,
                Some("model.failed") => {
                    let next = answers.get(&whose).copied().unwrap_or(0) + 1;
                    *lost.entry(format!("{whose}.{next}")).or_default() += 1;
                }
                _ => {}
            }
        }
        lost
    }

    /// How each task ended.
    ///
    /// # Panics
    /// When one ended twice.
    pub(crate) fn ends(&self) -> BTreeMap<String, String> {
        let ended = self.of_type("task.ended");
        let ends: BTreeMap<String, String> = ended
            .iter()
            .map(|end| (text(&end["task"]), text(&end["state"])))
            .collect();
        assert_eq!(ends.len(), ended.len(), "a task ended twice");
        ends
    }

    /// The attempts and landings, each of which happens once.
    ///
    /// # Panics
    /// When one happened twice.
    pub(crate) fn done_once(&self) -> BTreeSet<String> {
        let mut done = BTreeSet::new();
        for kind in ["attempt.started", "work.committed", "work.landed"] {
            for record in self.of_type(kind) {
                let name = format!("{kind} {}", attempt_of(record));
                assert!(done.insert(name.clone()), "{name} happened twice");
            }
        }
        for check in self.of_type("check.finished") {
            let name = format!(
                "check {} {} {}",
                attempt_of(check),
                check["stage"],
                check["index"]
            );
            assert!(done.insert(name.clone()), "{name} was recorded twice");
        }
        done
    }

    /// What was used, added up by hand.
    pub(crate) fn tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        let mut open: BTreeMap<String, u64> = BTreeMap::new();
        for record in &self.records {
            let whose = attempt_of(record);
            match record["type"].as_str() {
                Some("model.requested") => {
                    open.insert(whose, number(&record["reserved"]));
                }
                Some("model.responded") => {
                    open.remove(&whose);
                    tokens.input += number(&record["usage"]["input"]);
                    tokens.output += number(&record["usage"]["output"]);
                }
                Some("model.failed") if record["billed"] == "reservation" => {
                    tokens.unreported += open.remove(&whose).expect("a request was open");
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "requests without an end: {open:?}");
        tokens
    }
}

fn attempt_of(record: &Value) -> String {
    format!("{}/{}", text(&record["task"]), record["attempt"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}
