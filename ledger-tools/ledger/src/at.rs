//! The instant of a line as its 24 bytes, `2026-11-30T12:31:08.114Z`. Never reads a clock.

use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};
use std::io::Write as _;

/// Length of the text in bytes.
pub(crate) const AT_BYTES: usize = 24;

/// Writes an instant, cut to milliseconds. One outside the years 0 to 9999 is written as the nearest
/// year: the instant of a line is information, never order.
pub(crate) fn write_at(out: &mut Vec<u8>, at: DateTime<Utc>) {
    let (year, month, day) = (at.year().clamp(0, 9999), at.month(), at.day());
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    let milli = at.timestamp_subsec_millis().min(999);
    write!(
        out,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
    )
    .expect("writing to a Vec cannot fail");
}

/// Reads exactly what [`write_at`] writes.
pub(crate) fn read_at(text: &[u8]) -> Option<DateTime<Utc>> {
    let text: &[u8; AT_BYTES] = text.try_into().ok()?;
    let marks = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
        (23, b'Z'),
    ];
    if marks.iter().any(|(index, mark)| text[*index] != *mark) {
        return None;
    }
    let number = |from: usize, to: usize| {
        text[from..to].iter().try_fold(0, |value: u32, digit| {
            digit
                .is_ascii_digit()
                .then(|| value * 10 + u32::from(digit - b'0'))
        })
    };
    let year = i32::try_from(number(0, 4)?).ok()?;
    NaiveDate::from_ymd_opt(year, number(5, 7)?, number(8, 10)?)?
        .and_hms_milli_opt(
            number(11, 13)?,
            number(14, 16)?,
            number(17, 19)?,
            number(20, 23)?,
        )
        .map(|naive| naive.and_utc())
}

#[cfg(test)]
mod tests {
    use super::{read_at, write_at};
    use chrono::{DateTime, TimeDelta, Utc};

    fn written(at: DateTime<Utc>) -> String {
        let mut out = Vec::new();
        write_at(&mut out, at);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_instant_of_four_digit_years_is_read_back_to_the_millisecond() {
        for millis in [
            0,
            1,
            999,
            1_000,
            1_796_041_868_114,
            253_402_300_799_999,
            -62_167_219_200_000,
        ] {
            let at = DateTime::from_timestamp_millis(millis).unwrap();
            assert_eq!(read_at(written(at).as_bytes()), Some(at), "{millis}");
        }
        let at = DateTime::from_timestamp_millis(5).unwrap() + TimeDelta::nanoseconds(999_999);
        assert_eq!(written(at), "1970-01-01T00:00:00.005Z");
    }

    #[test]
    fn instants_outside_four_digit_years_keep_the_length() {
        assert_eq!(written(DateTime::<Utc>::MAX_UTC).len(), super::AT_BYTES);
        assert_eq!(written(DateTime::<Utc>::MIN_UTC).len(), super::AT_BYTES);
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "2026-11-30T12:31:08Z",
            "2026-11-30T12:31:08.114+00:00",
            "2026-11-30 12:31:08.114Z",
            "2026-13-30T12:31:08.114Z",
            "2026-11-30T12:61:08.114Z",
            "+026-11-30T12:31:08.114Z",
        ] {
            assert_eq!(read_at(text.as_bytes()), None, "{text}");
        }
    }
}
