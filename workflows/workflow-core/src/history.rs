//! What the ledger holds of a script's tasks. Never reads a ledger: whoever replays one calls
//! [`History::ordered`] and [`History::settled`] for each record it meets.

use crate::key::TaskKey;
use std::collections::BTreeMap;

/// Where a record stands in the ledger: later records have greater places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line's `seq`, counted from 1.
    pub seq: u64,
    /// Which record of the line, counted from 0.
    pub index: u32,
}

/// Tasks that were ordered before, and the results of those that settled. `R` is whatever is handed
/// to the script for a settled task, a failure included.
#[derive(Debug, Clone)]
pub struct History<R> {
    pub(crate) recorded: BTreeMap<TaskKey, Recorded<R>>,
    pub(crate) last: Option<Place>,
}

/// How far a recorded task came.
#[derive(Debug, Clone)]
pub(crate) enum Recorded<R> {
    /// Ordered, and owed ever since.
    Open,
    /// Settled at this place.
    Settled(Place, R),
}

/// Why a record cannot be part of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalRecord {
    /// The task was ordered before.
    #[error("task {0} is ordered twice")]
    OrderedTwice(TaskKey),
    /// Nobody ordered the task.
    #[error("task {0} settled without having been ordered")]
    NeverOrdered(TaskKey),
    /// The task settled before.
    #[error("task {0} settled twice")]
    SettledTwice(TaskKey),
    /// The place is not after all places before it.
    #[error("task {key} settled at line {}, which is not after line {}", place.seq, last.seq)]
    OutOfOrder {
        /// The task.
        key: TaskKey,
        /// Where its record stands.
        place: Place,
        /// Where the record before it stands.
        last: Place,
    },
}

impl<R> Default for History<R> {
    fn default() -> Self {
        Self {
            recorded: BTreeMap::new(),
            last: None,
        }
    }
}

impl<R> History<R> {
    /// Takes in that a task was ordered.
    ///
    /// # Errors
    /// When it was ordered before. The history is unchanged then.
    pub fn ordered(&mut self, key: TaskKey) -> Result<(), IllegalRecord> {
        if self.recorded.contains_key(&key) {
            return Err(IllegalRecord::OrderedTwice(key));
        }
        self.recorded.insert(key, Recorded::Open);
        Ok(())
    }

    /// Takes in that a task settled, and with what.
    ///
    /// # Errors
    /// When it was never ordered, had settled, or the place is not later than the last one. The
    /// history is unchanged then.
    pub fn settled(&mut self, key: TaskKey, place: Place, result: R) -> Result<(), IllegalRecord> {
        match self.recorded.get_mut(&key) {
            None => return Err(IllegalRecord::NeverOrdered(key)),
            Some(Recorded::Settled(..)) => return Err(IllegalRecord::SettledTwice(key)),
            Some(open) => {
                advance(&mut self.last, key, place)?;
                *open = Recorded::Settled(place, result);
            }
        }
        Ok(())
    }
}

/// Moves `last` on to `place`.
pub(crate) fn advance(
    last: &mut Option<Place>,
    key: TaskKey,
    place: Place,
) -> Result<(), IllegalRecord> {
    match *last {
        Some(last) if place <= last => Err(IllegalRecord::OutOfOrder { key, place, last }),
        _ => {
            *last = Some(place);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{History, IllegalRecord, Place};
    use crate::key::{ContentKey, Ordinal, TaskKey};

    fn key(text: &str) -> TaskKey {
        TaskKey {
            content: ContentKey::explicit(text),
            ordinal: Ordinal(1),
        }
    }

    fn at(seq: u64) -> Place {
        Place { seq, index: 0 }
    }

    #[test]
    fn a_task_is_ordered_once_and_settles_once_after_that() {
        let mut history = History::default();
        let (a, b) = (key("a"), key("b"));
        assert_eq!(
            history.settled(a, at(1), ()),
            Err(IllegalRecord::NeverOrdered(a))
        );
        assert_eq!(history.ordered(a), Ok(()));
        assert_eq!(history.ordered(a), Err(IllegalRecord::OrderedTwice(a)));
        assert_eq!(history.settled(a, at(2), ()), Ok(()));
        assert_eq!(
            history.settled(a, at(3), ()),
            Err(IllegalRecord::SettledTwice(a))
        );
        assert_eq!(history.ordered(b), Ok(()));
        let refused = history.settled(b, at(2), ()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("task {b} settled at line 2, which is not after line 2")
        );
        assert_eq!(history.settled(b, Place { seq: 2, index: 1 }, ()), Ok(()));
    }
}
