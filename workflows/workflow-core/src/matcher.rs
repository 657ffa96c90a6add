//! Finds the orders of a running script in the history of its run, and says which result the script
//! is given next. Never runs a task and never wakes a script: it answers whoever does.
//!
//! Two rules make a replay branch as the first run did. An order is found by its content and, among
//! equal ones, by how many came before it, so the order of a fan-out does not matter. And results are
//! handed over one at a time, whenever the script has nothing left to do, in the order in which the
//! ledger recorded them.

use crate::history::{History, IllegalRecord, Place, Recorded, advance};
use crate::key::{ContentKey, Ordinal, TaskKey};
use std::collections::{BTreeMap, BTreeSet};

/// The tasks of one run of a script.
#[derive(Debug, Clone)]
pub struct Matcher<R> {
    /// Recorded by an earlier run of the script and not ordered by this one.
    unasked: BTreeMap<TaskKey, Recorded<R>>,
    /// How many equal orders this run gave.
    asked: BTreeMap<ContentKey, u32>,
    /// Ordered and not settled.
    open: BTreeSet<TaskKey>,
    /// Ordered, settled and not handed over.
    ready: BTreeMap<Place, (TaskKey, R)>,
    last: Option<Place>,
}

/// What becomes of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The ledger holds its result: nothing runs, [`Matcher::deliver`] hands it over in its turn.
    Answered(TaskKey),
    /// The ledger holds the order without a result: it runs already or is owed, and must not be
    /// ordered again.
    Waits(TaskKey),
    /// It is new: record it under this key, and run it.
    Run(TaskKey),
}

/// What a script that has nothing left to do waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A result is ready: [`Matcher::deliver`] gives it.
    Ready,
    /// Tasks are running.
    Waits,
    /// Nothing can wake it any more.
    Nothing,
}

impl<R> Matcher<R> {
    /// Starts a script over a history; an empty one for a first run.
    #[must_use]
    pub fn new(history: History<R>) -> Self {
        Self {
            unasked: history.recorded,
            asked: BTreeMap::new(),
            open: BTreeSet::new(),
            ready: BTreeMap::new(),
            last: history.last,
        }
    }

    /// The script orders a task.
    pub fn offer(&mut self, content: ContentKey) -> Offer {
        let asked = self.asked.entry(content).or_default();
        *asked += 1;
        let ordinal = Ordinal(*asked);
        let key = TaskKey { content, ordinal };
        match self.unasked.remove(&key) {
            Some(Recorded::Settled(place, result)) => {
                self.ready.insert(place, (key, result));
                Offer::Answered(key)
            }
            Some(Recorded::Open) => {
                self.open.insert(key);
                Offer::Waits(key)
            }
            None => {
                self.open.insert(key);
                Offer::Run(key)
            }
        }
    }

    /// A task settled, and its record is durable at this place. The script may not have ordered it
    /// yet in this run: its result is kept for when it does.
    ///
    /// # Errors
    /// When the task is not open, or the place is not later than the last one. Nothing changes then.
    pub fn settle(&mut self, key: TaskKey, place: Place, result: R) -> Result<(), IllegalRecord> {
        let is_kept = matches!(self.unasked.get(&key), Some(Recorded::Open));
        if !is_kept && !self.open.contains(&key) {
            return Err(self.why_not_open(key));
        }
        advance(&mut self.last, key, place)?;
        if is_kept {
            self.unasked.insert(key, Recorded::Settled(place, result));
        } else {
            self.open.remove(&key);
            self.ready.insert(place, (key, result));
        }
        Ok(())
    }

    fn why_not_open(&self, key: TaskKey) -> IllegalRecord {
        let asked = self.asked.get(&key.content).copied().unwrap_or_default();
        if self.unasked.contains_key(&key) || key.ordinal.0 <= asked {
            IllegalRecord::SettledTwice(key)
        } else {
            IllegalRecord::NeverOrdered(key)
        }
    }

    /// The next result for the script. Call it only when the script has nothing left to do, so that
    /// all that follows from one result happens before the next.
    pub fn deliver(&mut self) -> Option<(TaskKey, R)> {
        let (_, delivered) = self.ready.pop_first()?;
        Some(delivered)
    }

    /// What the script waits for when it has nothing left to do.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if !self.ready.is_empty() {
            Standing::Ready
        } else if !self.open.is_empty() {
            Standing::Waits
        } else {
            Standing::Nothing
        }
    }

    /// Tasks of this run that have not settled, by key: what a script that ends leaves behind.
    pub fn open(&self) -> impl Iterator<Item = TaskKey> {
        self.open.iter().copied()
    }

    /// Tasks that an earlier run ordered and this one has not, by key: what an edit removed.
    pub fn unasked(&self) -> impl Iterator<Item = TaskKey> {
        self.unasked.keys().copied()
    }
}

#[cfg(test)]
mod tests;
