//! How long something is waited for: the one clock of this room. Never decides what happens when
//! patience ends.

use std::time::{Duration, Instant};

/// Time between two looks at something that cannot be waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// A wait that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    begun: Instant,
    limit: Duration,
}

impl Patience {
    /// Begins now.
    pub(crate) fn of(limit: Duration) -> Self {
        Self {
            begun: Instant::now(),
            limit,
        }
    }

    /// What is left of it.
    pub(crate) fn rest(&self) -> Duration {
        self.limit.saturating_sub(self.spent())
    }

    /// Whether nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        self.rest().is_zero()
    }

    /// How long it has lasted.
    pub(crate) fn spent(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Waits a little before the next look; false when it is over.
    pub(crate) fn pause(&self) -> bool {
        self.nap(PAUSE);
        !self.is_over()
    }

    /// Waits this long, or until it is over.
    pub(crate) fn nap(&self, time: Duration) {
        std::thread::sleep(time.min(self.rest()));
    }
}
