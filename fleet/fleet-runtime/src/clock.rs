//! The clock of the manager. The only place of this crate that reads one.

use chrono::{DateTime, Utc};
use fleet_core::time::Timestamp;
use std::time::Instant;

/// Tells the time. Wall time is information for people; durations come from the monotonic clock.
pub trait Clock: Send + Sync + 'static {
    /// Wall time.
    fn now(&self) -> DateTime<Utc>;
    /// A monotonic instant.
    fn instant(&self) -> Instant;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }
}

/// Wall time as the cores know it.
#[must_use]
pub fn timestamp(at: DateTime<Utc>) -> Timestamp {
    Timestamp(at.timestamp_millis())
}
