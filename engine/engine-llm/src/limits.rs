//! The limits on one exchange with a provider, all in one table. Never counts tokens.

use std::time::Duration;

/// Limits on one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands, with its encryption.
    pub connect: Duration,
    /// From sending until the first event of the answer.
    pub first_event: Duration,
    /// Between two events. Comments, by which servers keep a connection open, are no events.
    pub idle: Duration,
    /// From a whole answer until its usage and end mark; what has come by then counts.
    pub after_whole: Duration,
    /// From sending until the end of the answer.
    pub answer: Duration,
    /// Size of one answer on the wire, in bytes.
    pub answer_bytes: u64,
    /// For a connection test, from start to end.
    pub probe: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_event: Duration::from_secs(120),
            idle: Duration::from_secs(300),
            after_whole: Duration::from_secs(5),
            answer: Duration::from_secs(30 * 60),
            answer_bytes: 10 * 1024 * 1024,
            probe: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_documented_ones() {
        insta::assert_debug_snapshot!(Limits::default(), @r"
        Limits {
            connect: 15s,
            first_event: 120s,
            idle: 300s,
            after_whole: 5s,
            answer: 1800s,
            answer_bytes: 10485760,
            probe: 5s,
        }
        ");
    }
}
