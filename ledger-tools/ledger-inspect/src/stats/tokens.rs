//! Tokens by task: what providers reported, and what was booked because they reported nothing. Adds up what the
//! records say, by rules of its own, so that it can be held against what the fleet shows.

use crate::filter::Filter;
use crate::record::Record;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// What one task used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TokenStats {
    /// The task.
    pub task: String,
    /// Its role.
    pub role: String,
    /// The model of that role, `provider/model`; empty when the ledger does not say.
    pub model: String,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that were answered.
    pub answers: u64,
    /// Requests without an answer, or whose answer came without a count: booked at their reservation.
    pub lost: u64,
    /// Input tokens as reported, cached ones included.
    pub input: u64,
    /// Of these, read from the provider's cache.
    pub cached: u64,
    /// Output tokens as reported.
    pub output: u64,
    /// Reservations of the lost ones.
    pub unreported: u64,
    /// Reservations of requests whose outcome the ledger does not have.
    pub open: u64,
}

impl TokenStats {
    /// Everything that was booked.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input + self.output + self.unreported
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.answers += other.answers;
        self.lost += other.lost;
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.unreported += other.unreported;
        self.open += other.open;
    }
}

/// The accounts while they are being added up.
#[derive(Default)]
pub(super) struct Book {
    models: HashMap<String, String>,
    roles: HashMap<String, String>,
    /// Index into `accounts`.
    tasks: HashMap<String, usize>,
    accounts: Vec<TokenStats>,
    /// Reservations of requests without an outcome so far, by task, attempt and step. An outcome closes its
    /// request once: told again, it counts no more.
    open: BTreeMap<(usize, u64, u64), u64>,
}

#[derive(Deserialize)]
struct Opened {
    plan: Plan,
}

#[derive(Deserialize)]
struct Plan {
    roles: HashMap<String, Role>,
}

#[derive(Deserialize)]
struct Role {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    provider: String,
    model: String,
}

#[derive(Deserialize)]
struct Queued {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    id: String,
    role: String,
}

#[derive(Deserialize)]
struct Responded {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    input: u64,
    output: u64,
    #[serde(default)]
    cached: u64,
}

#[derive(Deserialize)]
struct Failed {
    billed: String,
}

impl Book {
    /// Takes in a record, as far as it speaks of tokens and `filter` takes it. Who has which role is always
    /// taken in.
    pub(super) fn note(&mut self, record: &Record<'_>, filter: &Filter) {
        let kind = record.kind().unwrap_or_default();
        match kind.as_str() {
            "run.opened" => self.opened(record.raw()),
            "task.queued" => self.queued(record.raw()),
            "model.requested" | "model.responded" | "model.failed" if filter.takes(record) => {
                self.asked(&kind, record);
            }
            _ => {}
        }
    }

    fn opened(&mut self, raw: &str) {
        if let Ok(opened) = serde_json::from_str::<Opened>(raw) {
            for (role, Role { model }) in opened.plan.roles {
                let Model { provider, model } = model;
                self.models.insert(role, format!("{provider}/{model}"));
            }
        }
    }

    fn queued(&mut self, raw: &str) {
        if let Ok(Queued { spec }) = serde_json::from_str(raw) {
            self.roles.insert(spec.id, spec.role);
        }
    }

    fn asked(&mut self, kind: &str, record: &Record<'_>) {
        let (Some(task), Some(attempt), Some(step)) = (
            record.task(),
            record.number("attempt"),
            record.number("step"),
        ) else {
            return;
        };
        let index = self.account(task);
        let key = (index, attempt, step);
        if kind == "model.requested" {
            self.accounts[index].requests += 1;
            let reserved = record.number("reserved").unwrap_or(0);
            // A step asked again has its earlier request settled before.
            self.open.insert(key, reserved);
        } else if let Some(reserved) = self.open.remove(&key) {
            self.settle(index, reserved, kind, record.raw());
        }
    }

    fn settle(&mut self, index: usize, reserved: u64, kind: &str, raw: &str) {
        let account = &mut self.accounts[index];
        let usage = match kind {
            "model.responded" => {
                account.answers += 1;
                serde_json::from_str(raw).map_or(None, |Responded { usage }| usage)
            }
            _ => None,
        };
        let is_free = kind == "model.failed"
            && serde_json::from_str(raw).is_ok_and(|Failed { billed }| billed == "nothing");
        match usage {
            Some(usage) => {
                account.input += usage.input;
                account.output += usage.output;
                account.cached += usage.cached;
            }
            None if is_free => {}
            None => {
                account.lost += 1;
                account.unreported += reserved;
            }
        }
    }

    fn account(&mut self, task: String) -> usize {
        *self.tasks.entry(task).or_insert_with_key(|task| {
            let role = self.roles.get(task).cloned().unwrap_or_default();
            self.accounts.push(TokenStats {
                task: task.clone(),
                model: self.models.get(&role).cloned().unwrap_or_default(),
                role,
                ..TokenStats::default()
            });
            self.accounts.len() - 1
        })
    }

    /// The accounts, with what is still open.
    pub(super) fn closed(mut self) -> Vec<TokenStats> {
        for ((index, ..), reserved) in &self.open {
            self.accounts[*index].open += reserved;
        }
        self.accounts
    }
}
