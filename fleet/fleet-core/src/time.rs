//! Instants and durations as values. Never reads a clock: adapters hand instants in.

use serde::{Deserialize, Serialize};

/// Wall time in milliseconds since 1970-01-01 UTC. Information for people, never order.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Milliseconds from `earlier` to this instant; 0 when the clock went back.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// Where an entry stands in the ledger, and when it was formed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Line number, from 1.
    pub seq: u64,
    /// Which taking of the lock wrote it.
    pub epoch: u64,
    /// Wall time.
    pub at: Timestamp,
}
