//! Durations as a person writes them: `90s`, `30m`, `1h30m`, `2d`. Never without a unit.

use crate::diagnostic::quoted;
use crate::fault::Fault;

/// The units from large to small, in seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Longest duration, in seconds: 30 days.
const MOST_SECS: u64 = 30 * 86_400;

/// Seconds of a duration: one or more whole numbers, each with a unit, larger units first.
pub(crate) fn parse(text: &str) -> Result<u64, Fault> {
    let Some(seconds) = strict(text) else {
        return Err(malformed(text));
    };
    match seconds {
        0 => Err(Fault::bad(format!("{} is no time at all", quoted(text)))
            .hint("leave the key out for no limit of its own")),
        1..=MOST_SECS => Ok(seconds),
        _ => Err(
            Fault::bad(format!("{} is longer than 30 days", quoted(text)))
                .suggest(Some("30d".to_owned())),
        ),
    }
}

/// A number of seconds as it would be written.
pub(crate) fn shown(seconds: u64) -> String {
    let mut rest = seconds;
    let mut text = String::new();
    for (unit, size) in UNITS {
        if rest >= size {
            text.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

fn strict(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    let mut rest = text;
    let mut units = UNITS.iter();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = &rest[..digits];
        let unit = rest[digits..].chars().next()?;
        let (_, size) = units.find(|(letter, _)| *letter == unit)?;
        if number.is_empty() {
            return None;
        }
        // A number too large to count is far too long in any unit.
        let number: u64 = number.parse().unwrap_or(u64::MAX);
        total = total.saturating_add(number.saturating_mul(*size));
        rest = &rest[digits + unit.len_utf8()..];
    }
    Some(total)
}

fn malformed(text: &str) -> Fault {
    let trimmed = text.trim();
    if !trimmed.is_empty() && trimmed.bytes().all(|b| b.is_ascii_digit()) {
        return Fault::bad(format!("{} has no unit", quoted(text))).hint(format!(
            "write \"{trimmed}s\", \"{trimmed}m\" or \"{trimmed}h\""
        ));
    }
    if trimmed.starts_with('-') {
        return Fault::bad(format!("{} is negative", quoted(text)));
    }
    Fault::bad(format!("{} is not a duration", quoted(text)))
        .suggest(loose(trimmed))
        .hint("whole numbers with d, h, m or s, larger units first: \"90s\", \"30m\", \"1h30m\"")
}

/// Reads `10 minutes` and the like as what was meant.
fn loose(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_lowercase();
    let letter = match unit.as_str() {
        "sec" | "secs" | "second" | "seconds" | "s" => 's',
        "min" | "mins" | "minute" | "minutes" | "m" => 'm',
        "hr" | "hrs" | "hour" | "hours" | "h" => 'h',
        "day" | "days" | "d" => 'd',
        _ => return None,
    };
    (!number.is_empty()).then(|| format!("{number}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_units() {
        for (text, seconds) in [
            ("1s", 1),
            ("90s", 90),
            ("30m", 1_800),
            ("2h", 7_200),
            ("1h30m", 5_400),
            ("1d2h3m4s", 93_784),
            ("30d", MOST_SECS),
            ("007s", 7),
        ] {
            assert_eq!(parse(text), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_what_was_meant() {
        for (text, message, suggestion) in [
            ("10", "`10` has no unit", None),
            ("", "`` is not a duration", None),
            ("m", "`m` is not a duration", None),
            ("10 min", "`10 min` is not a duration", Some("10m")),
            ("2 Hours", "`2 Hours` is not a duration", Some("2h")),
            ("1.5h", "`1.5h` is not a duration", None),
            ("30m1h", "`30m1h` is not a duration", None),
            ("1h1h", "`1h1h` is not a duration", None),
            ("-5m", "`-5m` is negative", None),
            ("0s", "`0s` is no time at all", None),
            ("31d", "`31d` is longer than 30 days", Some("30d")),
            (
                "99999999999999999999d",
                "`99999999999999999999d` is longer than 30 days",
                Some("30d"),
            ),
            ("3秒", "`3秒` is not a duration", None),
        ] {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.message(), message);
            assert_eq!(fault.suggestion(), suggestion, "{text}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for seconds in [1, 59, 60, 61, 3_600, 5_400, 86_400, 93_784] {
            assert_eq!(parse(&shown(seconds)), Ok(seconds));
        }
        assert_eq!(shown(0), "0s");
    }
}
