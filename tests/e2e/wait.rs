//! Waiting for what nobody announces: another process that ends, a file that grows. Looks again and
//! again, within a limit that is generous on a slow machine; never waits for time itself to pass.

use std::time::{Duration, Instant};

/// Longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(3);

/// Looks until something is found.
///
/// # Panics
/// When that takes longer than 20 seconds.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(PAUSE);
    }
}
