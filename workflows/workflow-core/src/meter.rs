//! Counts what a script uses, and stops it for good at its limits. Never reads a clock: it is told
//! how long the script computed.
//!
//! Once a limit is exceeded every further call fails with the same error, so a script that catches
//! the first one gets nothing else done.

use crate::limits::{Limit, Limits};
use std::time::Duration;

/// What one script used so far.
#[derive(Debug, Clone)]
pub struct Meter {
    limits: Limits,
    tasks: u64,
    log_lines: u64,
    /// Since the last await.
    computed: Duration,
    exceeded: Option<Exceeded>,
}

/// A script went past one of its limits. Nothing that it does afterwards counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the script exceeded its limit `{limit}`: {wanted} where {allowed} are allowed ({})", limit.row().unit)]
pub struct Exceeded {
    /// Which limit.
    pub limit: Limit,
    /// What it would have used, in the unit of the limit's row.
    pub wanted: u64,
    /// What it may use.
    pub allowed: u64,
}

/// A `Result` of the meter.
pub type Metered = Result<(), Exceeded>;

impl Meter {
    /// A meter at zero.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            tasks: 0,
            log_lines: 0,
            computed: Duration::ZERO,
            exceeded: None,
        }
    }

    /// The limit that ended the script, if one did.
    #[must_use]
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded
    }

    /// The script orders one more task.
    ///
    /// # Errors
    /// When that is more than [`Limit::Tasks`].
    pub fn order_task(&mut self) -> Metered {
        self.check(Limit::Tasks, self.tasks + 1)?;
        self.tasks += 1;
        Ok(())
    }

    /// The script hands over this many items in one call.
    ///
    /// # Errors
    /// When that is more than [`Limit::Items`].
    pub fn take_items(&mut self, items: usize) -> Metered {
        self.check(Limit::Items, as_u64(items))
    }

    /// A script starts another one; the script that a person started has depth 0.
    ///
    /// # Errors
    /// When that is deeper than [`Limit::Nesting`].
    pub fn nest(&mut self, depth: u32) -> Metered {
        self.check(Limit::Nesting, u64::from(depth))
    }

    /// The script logs a text of this many bytes.
    ///
    /// # Errors
    /// When the text is longer than [`Limit::LogLine`], or one too many for [`Limit::LogLines`].
    pub fn log(&mut self, bytes: usize) -> Metered {
        self.check(Limit::LogLine, as_u64(bytes))?;
        self.check(Limit::LogLines, self.log_lines + 1)?;
        self.log_lines += 1;
        Ok(())
    }

    /// The script returns a value of this many bytes.
    ///
    /// # Errors
    /// When that is more than [`Limit::Result`].
    pub fn take_result(&mut self, bytes: usize) -> Metered {
        self.check(Limit::Result, as_u64(bytes))
    }

    /// The script's memory has or would have this many bytes.
    ///
    /// # Errors
    /// When that is more than [`Limit::Heap`].
    pub fn take_heap(&mut self, bytes: usize) -> Metered {
        self.check(Limit::Heap, as_u64(bytes))
    }

    /// The script's calls take or would take this many bytes.
    ///
    /// # Errors
    /// When that is more than [`Limit::Stack`].
    pub fn take_stack(&mut self, bytes: usize) -> Metered {
        self.check(Limit::Stack, as_u64(bytes))
    }

    /// The script computed for this long since it was last asked. Parts of a millisecond add up.
    ///
    /// # Errors
    /// When it computed for longer than [`Limit::Cpu`] since its last await.
    pub fn compute(&mut self, time: Duration) -> Metered {
        self.computed = self.computed.saturating_add(time);
        let whole_millis = u64::try_from(self.computed.as_millis()).unwrap_or(u64::MAX);
        let begun = u64::from(!self.computed.subsec_nanos().is_multiple_of(1_000_000));
        self.check(Limit::Cpu, whole_millis.saturating_add(begun))
    }

    /// The script waits, and its computing time starts again from zero.
    ///
    /// # Errors
    /// When a limit was exceeded before: waiting gives nothing back.
    pub fn wait(&mut self) -> Metered {
        self.exceeded.map_or(Ok(()), Err)?;
        self.computed = Duration::ZERO;
        Ok(())
    }

    fn check(&mut self, limit: Limit, wanted: u64) -> Metered {
        let allowed = self.limits.get(limit);
        if self.exceeded.is_none() && wanted > allowed {
            self.exceeded = Some(Exceeded {
                limit,
                wanted,
                allowed,
            });
        }
        self.exceeded.map_or(Ok(()), Err)
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Meter, Metered};
    use crate::limits::{Limit, Limits, ROWS};
    use std::time::Duration;

    /// One use of `amount` in the unit of the limit.
    fn use_once(meter: &mut Meter, limit: Limit, amount: u64) -> Metered {
        let size = usize::try_from(amount).unwrap();
        match limit {
            Limit::Heap => meter.take_heap(size),
            Limit::Stack => meter.take_stack(size),
            Limit::Cpu => meter.compute(Duration::from_millis(amount)),
            Limit::Tasks => (0..amount).try_for_each(|_| meter.order_task()),
            Limit::Items => meter.take_items(size),
            Limit::Nesting => meter.nest(u32::try_from(amount).unwrap()),
            Limit::Result => meter.take_result(size),
            Limit::LogLines => (0..amount).try_for_each(|_| meter.log(1)),
            Limit::LogLine => meter.log(size),
        }
    }

    #[test]
    fn every_limit_holds_to_the_unit_and_ends_the_script_for_good() {
        for row in &ROWS {
            let mut meter = Meter::new(Limits::default());
            assert_eq!(
                use_once(&mut meter, row.limit, row.default),
                Ok(()),
                "{}",
                row.name
            );

            let mut meter = Meter::new(Limits::default());
            let error = use_once(&mut meter, row.limit, row.default + 1).unwrap_err();
            assert_eq!(
                (error.limit, error.wanted, error.allowed),
                (row.limit, row.default + 1, row.default)
            );
            for other in &ROWS {
                assert_eq!(
                    use_once(&mut meter, other.limit, 1),
                    Err(error),
                    "{}",
                    other.name
                );
            }
            assert_eq!(meter.wait(), Err(error));
            assert_eq!(meter.exceeded(), Some(error));
        }
    }

    #[test]
    fn a_lower_limit_is_the_one_that_holds() {
        let limits = Limits::default().with(Limit::Tasks, 1).unwrap();
        let mut meter = Meter::new(limits);
        assert_eq!(meter.order_task(), Ok(()));
        assert_eq!(
            meter.order_task().unwrap_err().to_string(),
            "the script exceeded its limit `tasks`: 2 where 1 are allowed (tasks in a run of a script)"
        );
    }

    #[test]
    fn computing_time_counts_between_awaits_only() {
        let mut meter = Meter::new(Limits::default());
        for _ in 0..10 {
            assert_eq!(meter.compute(Duration::from_millis(999)), Ok(()));
            assert_eq!(meter.wait(), Ok(()));
        }
        assert_eq!(meter.compute(Duration::from_micros(999_999)), Ok(()));
        let error = meter.compute(Duration::from_micros(2)).unwrap_err();
        assert_eq!((error.limit, error.wanted), (Limit::Cpu, 1_001));
    }

    #[test]
    fn time_without_end_does_not_wrap() {
        let mut meter = Meter::new(Limits::default());
        assert!(meter.compute(Duration::MAX).is_err());
        assert!(meter.compute(Duration::MAX).is_err());
    }
}
