//! The limits on one exchange with a provider and on what an agent bears of it, all in one table.
//! Never counts tokens.

use engine_core::patience::{
    FIRST_WAIT, LONGEST_BACKOFF, LONGEST_WAIT, MAX_RESENDS, MAX_STREAM_ERRORS,
};
use engine_core::turn::{MAX_CUT, MAX_EMPTY, MAX_INVALID};
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

/// A limit's name, its value and its meaning.
pub type Row = (&'static str, String, &'static str);

/// Every limit, as `docs/providers.md` shows it.
#[must_use]
pub fn table() -> Vec<Row> {
    let mut rows = of_exchanges(&Limits::default());
    rows.extend(of_patience());
    rows
}

fn of_exchanges(limits: &Limits) -> Vec<Row> {
    let mib = limits.answer_bytes / (1024 * 1024);
    vec![
        (
            "connection",
            shown(limits.connect),
            "until it stands, with its encryption",
        ),
        (
            "first event",
            shown(limits.first_event),
            "from sending until the answer begins; pings and comments are no events",
        ),
        (
            "further event",
            shown(limits.idle),
            "between two events; pings and comments are no events",
        ),
        (
            "after a whole answer",
            shown(limits.after_whole),
            "for its usage and its end mark; what has come by then counts",
        ),
        (
            "whole answer",
            shown(limits.answer),
            "from sending to its end",
        ),
        ("size of an answer", format!("{mib} MiB"), "on the wire"),
        (
            "look of `doctor --probe`",
            shown(limits.probe),
            "from start to end",
        ),
    ]
}

fn of_patience() -> Vec<Row> {
    vec![
        (
            "resends",
            MAX_RESENDS.to_string(),
            "in a row, after failures before any content",
        ),
        (
            "broken answers",
            MAX_STREAM_ERRORS.to_string(),
            "in a row, after some content; the last ends the attempt",
        ),
        (
            "first wait",
            shown(FIRST_WAIT),
            "before the first resend; doubled each time, and up to a half of it more",
        ),
        (
            "longest wait of one's own",
            shown(LONGEST_BACKOFF),
            "without what is added to spread",
        ),
        (
            "longest wait a provider may ask for",
            shown(LONGEST_WAIT),
            "kept in full, and up to a quarter of it more; a longer one is told and not waited for",
        ),
        (
            "cut answers",
            MAX_CUT.to_string(),
            "in a row by the output limit; the last ends the attempt",
        ),
        (
            "invalid arguments",
            MAX_INVALID.to_string(),
            "answers in a row; the last ends the attempt",
        ),
        (
            "empty answers",
            MAX_EMPTY.to_string(),
            "in a row; the last ends the attempt",
        ),
    ]
}

fn shown(time: Duration) -> String {
    match time.as_secs() {
        secs if secs >= 600 => format!("{} min", secs / 60),
        secs => format!("{secs} s"),
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
