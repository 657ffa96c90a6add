//! Numbers and durations as people read them. Never rounds a count.

use crate::line::Tone;
use fleet_core::budget::Account;

/// A count with a comma every three digits.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things: `1 task`, `2 tasks`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", count(number))
}

/// Milliseconds as `0:42`, `12:05` or `1:02:03`; parts of a second are left out.
#[must_use]
pub fn clock(millis: u64) -> String {
    let seconds = millis / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// What was spent of an account, with its cap when it has one.
#[must_use]
pub fn tokens(account: &Account) -> String {
    let spent = count(account.spent.total().0);
    match account.cap {
        Some(cap) => format!("{spent} of {} tokens", count(cap.0)),
        None => format!("{spent} tokens"),
    }
}

/// The sign in front of a task in this state.
#[must_use]
pub fn mark(state: &str) -> &'static str {
    match state {
        "running" => "●",
        "waiting" => "◐",
        "settled" | "verified" | "landed" => "✓",
        "failed" | "conflict" | "budget" => "✗",
        "skipped" | "cancelled" => "–",
        "interrupted" => "‖",
        _ => "○",
    }
}

/// What the state of a task or run means to the eye.
#[must_use]
pub fn tone(state: &str) -> Tone {
    match state {
        "running" => Tone::Live,
        "settled" | "verified" | "landed" | "done" => Tone::Good,
        "failed" | "conflict" | "budget" | "provider" => Tone::Bad,
        "waiting" | "interrupted" | "partial" | "stopped" => Tone::Warn,
        "queued" | "skipped" | "cancelled" => Tone::Faint,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        let check = |number, expected: &str| assert_eq!(count(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(12_345_678, "12,345,678");
        check(u64::MAX, "18,446,744,073,709,551,615");
    }

    #[test]
    fn one_thing_has_no_ending() {
        assert_eq!(counted(1, "task"), "1 task");
        assert_eq!(counted(0, "task"), "0 tasks");
        assert_eq!(counted(1_200, "line"), "1,200 lines");
    }

    #[test]
    fn durations_grow_into_hours() {
        let check = |millis, expected: &str| assert_eq!(clock(millis), expected);
        check(0, "0:00");
        check(999, "0:00");
        check(42_000, "0:42");
        check(725_000, "12:05");
        check(3_723_999, "1:02:03");
        check(360_000_000, "100:00:00");
    }
}
