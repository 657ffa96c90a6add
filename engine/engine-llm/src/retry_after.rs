//! How long a provider asks to wait, in all the forms in which it may say so. Never sleeps and
//! never reads a clock: the wall clock is passed in.

use std::time::{Duration, SystemTime};

/// Longest wait that is told apart, about 136 years. A larger one is told as this.
const LONGEST_SECS: u64 = u32::MAX as u64;

/// What an answer says about waiting, still as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'a> {
    /// The header `retry-after`: seconds, or a date (RFC 9110, section 10.2.3).
    pub retry_after: Option<&'a str>,
    /// The header `retry-after-ms`: milliseconds. Wins over `retry-after`, being finer.
    pub retry_after_ms: Option<&'a str>,
    /// `error.resets_in_seconds` of the body. Used when no header says anything.
    pub resets_in_secs: Option<u64>,
}

/// The wait asked for; zero when its moment has passed, `None` when nothing readable was said. It
/// may be years: whether to sleep that long is the caller's choice.
#[must_use]
pub fn wait(hints: Hints<'_>, now: SystemTime) -> Option<Duration> {
    let ms = hints.retry_after_ms.and_then(|text| decimal(text, 0.001));
    let secs = || {
        let text = hints.retry_after?.trim();
        decimal(text, 1.0).or_else(|| until(text, now))
    };
    let body = || Some(Duration::from_secs(hints.resets_in_secs?.min(LONGEST_SECS)));
    ms.or_else(secs).or_else(body)
}

/// Digits with at most one dot between them; no sign, no exponent, no unit.
fn decimal(text: &str, unit_secs: f64) -> Option<Duration> {
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && text.starts_with(|c: char| c.is_ascii_digit());
    if !plain {
        return None;
    }
    let secs = text.parse::<f64>().ok()? * unit_secs;
    Some(Duration::from_secs_f64(secs.min(LONGEST_SECS as f64)))
}

fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let then = httpdate::parse_http_date(text).ok()?;
    Some(then.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_SECS: u64 = 1_767_225_600;

    fn check(retry_after: Option<&str>, retry_after_ms: Option<&str>, expected_ms: Option<u64>) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_SECS);
        let hints = Hints {
            retry_after,
            retry_after_ms,
            resets_in_secs: None,
        };
        assert_eq!(
            wait(hints, now),
            expected_ms.map(Duration::from_millis),
            "{hints:?}"
        );
    }

    #[test]
    fn every_form_of_the_header_is_read_or_ignored() {
        check(Some("7"), None, Some(7_000));
        check(Some("Thu, 01 Jan 2026 00:00:07 GMT"), None, Some(7_000));
        check(Some("Wed, 31 Dec 2025 23:59:00 GMT"), None, Some(0));
        check(Some("0"), None, Some(0));
        check(Some("1.5"), None, Some(1_500));
        check(Some(" 2 "), None, Some(2_000));
        for ignored in ["5x", "-5", "", "nan", "inf", "1e9", "1.2.3", ".5", "+1"] {
            check(Some(ignored), None, None);
        }
        check(None, None, None);
    }

    #[test]
    fn milliseconds_win_unless_they_cannot_be_read() {
        check(None, Some("250"), Some(250));
        check(Some("7"), Some("250"), Some(250));
        check(Some("7"), Some("soon"), Some(7_000));
    }

    #[test]
    fn a_wait_of_years_is_told_and_one_beyond_counting_is_capped() {
        check(Some("86400"), None, Some(86_400_000));
        check(Some("1767225607"), None, Some(1_767_225_607_000));
        check(
            Some("99999999999999999999999"),
            None,
            Some(LONGEST_SECS * 1_000),
        );
    }

    #[test]
    fn the_body_speaks_when_no_header_does() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_SECS);
        let hints = Hints {
            resets_in_secs: Some(400_000),
            ..Hints::default()
        };
        assert_eq!(wait(hints, now), Some(Duration::from_secs(400_000)));
        let both = Hints {
            retry_after: Some("7"),
            ..hints
        };
        assert_eq!(wait(both, now), Some(Duration::from_secs(7)));
    }

    proptest::proptest! {
        #[test]
        fn no_header_makes_it_panic(text in ".*") {
            let hints = Hints {
                retry_after: Some(&text),
                retry_after_ms: Some(&text),
                resets_in_secs: None,
            };
            let _ = wait(hints, SystemTime::UNIX_EPOCH);
        }
    }
}
