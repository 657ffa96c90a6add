//! Keeps the limits of one exchange: how long each wait may take, and how much may come.
//! Never reads the wall clock.

use crate::errors::Fault;
use crate::limits::Limits;
use crate::wire::Progress;
use std::time::Duration;
use tokio::time::Instant;

/// The limits of an exchange that has begun.
#[derive(Debug)]
pub(super) struct Deadline {
    limits: Limits,
    started: Instant,
    /// Start and length of the wait under way, and what it is for.
    since: Instant,
    limit: Duration,
    what: &'static str,
    bytes: u64,
}

impl Deadline {
    pub(super) fn start(limits: Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            started: now,
            since: now,
            limit: limits.first_event,
            what: "first event",
            bytes: 0,
        }
    }

    /// Waits for the next thing within what is left.
    pub(super) async fn wait<T>(&self, next: impl Future<Output = T>) -> Result<T, Fault> {
        let at = self.since + self.limit;
        let end = self.started + self.limits.answer;
        match tokio::time::timeout_at(at.min(end), next).await {
            Ok(value) => Ok(value),
            Err(_) if end <= at => Err(Fault::TooSlow {
                what: "end of the answer",
                limit: self.limits.answer,
            }),
            Err(_) => Err(Fault::TooSlow {
                what: self.what,
                limit: self.limit,
            }),
        }
    }

    /// Counts what came.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limits.answer_bytes {
            return Err(Fault::TooLarge {
                limit_bytes: self.limits.answer_bytes,
            });
        }
        Ok(())
    }

    /// Notes an event: the next wait begins.
    pub(super) fn note(&mut self, progress: Progress) {
        match progress {
            Progress::Ignored => return,
            Progress::Open => {
                self.limit = self.limits.idle;
                self.what = "further event";
            }
            Progress::Whole | Progress::Ended => self.limit = self.limits.after_whole,
        }
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    fn paused(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime can be built")
            .block_on(test);
    }

    fn check(fault: &Result<(), Fault>, expected: &'static str, limit_secs: u64) {
        let limit = Duration::from_secs(limit_secs);
        let what = expected;
        assert_eq!(*fault, Err(Fault::TooSlow { what, limit }));
    }

    #[test]
    fn the_first_event_has_its_own_limit() {
        paused(async {
            let deadline = Deadline::start(Limits::default());
            check(&deadline.wait(pending()).await, "first event", 120);
        });
    }

    #[test]
    fn events_prolong_the_wait_and_keep_alives_do_not() {
        paused(async {
            let mut deadline = Deadline::start(Limits::default());
            deadline.note(Progress::Open);
            let begun = Instant::now();
            tokio::time::sleep(Duration::from_secs(200)).await;
            deadline.note(Progress::Ignored);
            check(&deadline.wait(pending()).await, "further event", 300);
            assert_eq!(begun.elapsed(), Duration::from_secs(300));
        });
    }

    #[test]
    fn the_whole_answer_has_a_limit_however_lively() {
        paused(async {
            let mut deadline = Deadline::start(Limits::default());
            let begun = Instant::now();
            let fault = loop {
                let pause = tokio::time::sleep(Duration::from_secs(100));
                match deadline.wait(pause).await {
                    Ok(()) => deadline.note(Progress::Open),
                    Err(fault) => break fault,
                }
            };
            check(&Err(fault), "end of the answer", 1800);
            assert_eq!(begun.elapsed(), Duration::from_secs(1800));
        });
    }

    #[test]
    fn the_bytes_of_an_answer_are_limited() {
        paused(async {
            let limits = Limits {
                answer_bytes: 10,
                ..Limits::default()
            };
            let mut deadline = Deadline::start(limits);
            assert_eq!(deadline.count(10), Ok(()));
            assert_eq!(deadline.count(1), Err(Fault::TooLarge { limit_bytes: 10 }));
        });
    }
}
