//! Lines formed and taken apart.

use super::{Misfit, NewLine, envelope, may_be_torn_first, split, version};
use crate::format::{ENVELOPE_MAX_BYTES, Epoch, Seq, Sum};
use chrono::DateTime;

fn line(seq: u64, before: Option<&Sum>, records: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let at = DateTime::from_timestamp_millis(1_796_041_868_114).unwrap();
    NewLine {
        seq: Seq(seq),
        epoch: Epoch(3),
        durable: Seq(seq - 1),
        at,
        records: records.as_bytes(),
    }
    .form(before, &mut out);
    out
}

#[test]
fn a_line_has_its_fields_in_one_order_and_ends_in_its_sum() {
    let text = String::from_utf8(line(412, None, r#"{"type":"x"}"#)).unwrap();
    insta::assert_snapshot!(text.trim_end(), @r#"{"v":1,"seq":412,"epoch":3,"dw":411,"at":"2026-11-30T12:31:08.114Z","records":[{"type":"x"}],"sum":"df2048dfaf126f96796e5cecdd290370"}"#);
}

#[test]
fn a_line_is_taken_apart_into_what_it_was_formed_of() {
    let before = Sum::chained(None, b"before");
    let bytes = line(412, Some(&before), r#"{"type":"x"},{"type":"y"}"#);
    let (body, sum) = split(bytes.strip_suffix(b"\n").unwrap()).unwrap();
    assert_eq!(sum, Sum::chained(Some(&before), body));
    assert_ne!(
        sum,
        Sum::chained(None, body),
        "the line before is part of the sum"
    );
    let read = envelope(body).unwrap();
    assert_eq!(
        (read.seq, read.epoch, read.durable),
        (Seq(412), Epoch(3), Seq(411))
    );
    assert_eq!(read.records, r#"[{"type":"x"},{"type":"y"}]"#);
}

#[test]
fn the_longest_envelope_fits_its_bound() {
    let mut out = Vec::new();
    let most = NewLine {
        seq: Seq(u64::MAX),
        epoch: Epoch(u32::MAX),
        durable: Seq(u64::MAX),
        at: DateTime::UNIX_EPOCH,
        records: b"",
    };
    most.form(None, &mut out);
    assert!(out.len() <= ENVELOPE_MAX_BYTES, "{}", out.len());
}

fn refused(body: &str, expected: Misfit) {
    assert_eq!(envelope(body.as_bytes()), Err(expected), "{body}");
}

#[test]
fn any_other_spelling_of_an_envelope_is_refused_with_its_part() {
    let at = r#","at":"2026-11-30T12:31:08.114Z","records":[]"#;
    refused(
        &format!(r#"{{"v":2,"seq":1,"epoch":1,"dw":0{at}"#),
        Misfit::Version(2),
    );
    refused(
        &format!(r#"{{ "v":1,"seq":1,"epoch":1,"dw":0{at}"#),
        Misfit::Shape("v"),
    );
    refused(
        &format!(r#"{{"v":1,"seq":01,"epoch":1,"dw":0{at}"#),
        Misfit::Shape("seq"),
    );
    refused(
        &format!(r#"{{"v":1,"seq":-1,"epoch":1,"dw":0{at}"#),
        Misfit::Shape("seq"),
    );
    refused(
        &format!(r#"{{"v":1,"seq":1,"epoch":4294967296,"dw":0{at}"#),
        Misfit::Shape("epoch"),
    );
    refused(
        &format!(r#"{{"v":1,"seq":1,"dw":0,"epoch":1{at}"#),
        Misfit::Shape("epoch"),
    );
    refused(
        &format!(r#"{{"v":1,"seq":1,"epoch":1,"dw":{at}"#),
        Misfit::Shape("dw"),
    );
    let head = r#"{"v":1,"seq":1,"epoch":1,"dw":0,"at":"#;
    refused(
        &format!(r#"{head}"2026-11-30","records":[]"#),
        Misfit::Shape("at"),
    );
    refused(
        &format!(r#"{head}"2026-11-30T12:31:08.114Z","records":{{}}"#),
        Misfit::Shape("records"),
    );
}

#[test]
fn the_format_is_read_from_a_line_of_which_nothing_else_is_known() {
    assert_eq!(version(br#"{"v":99}"#), Some(99));
    assert_eq!(version(br#"{"v":99,"#), Some(99));
    assert_eq!(version(br#"{"v":99"#), None);
    assert_eq!(version(br#"{"v":"#), None);
    assert_eq!(version(b"hello"), None);
}

#[test]
fn only_the_beginning_of_a_first_line_or_a_hole_may_be_a_torn_first_line() {
    for (bytes, expected) in [
        (&b"{\"v\":1,\"seq\":1,\"epo"[..], true),
        (b"{\"v\"", true),
        (b"\0\0\0", true),
        (b"{\"v\":1,\"seq\":2,", false),
        (b"hello", false),
        (b"", false),
    ] {
        assert_eq!(may_be_torn_first(bytes), expected, "{bytes:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_line_is_taken_apart_into_what_it_was_formed_of_and_no_changed_byte_keeps_its_sum(
        seq in 1_u64.., epoch in 1_u32.., texts in proptest::collection::vec("\\PC{0,20}", 0..4),
        place in 0_usize..1000, change in 1_u8..,
    ) {
        let quoted: Vec<String> =
            texts.iter().map(|text| format!(r#"{{"type":"x","t":{text:?}}}"#)).collect();
        let records = quoted.join(",");
        let before = Sum::chained(None, records.as_bytes());
        let at = DateTime::UNIX_EPOCH;
        let new = NewLine { seq: Seq(seq), epoch: Epoch(epoch), durable: Seq(seq - 1), at, records: records.as_bytes() };
        let mut bytes = Vec::new();
        new.form(Some(&before), &mut bytes);
        let (body, sum) = split(&bytes[..bytes.len() - 1]).unwrap();
        let read = envelope(body).unwrap();
        proptest::prop_assert_eq!((read.seq, read.epoch, read.durable), (Seq(seq), Epoch(epoch), Seq(seq - 1)));
        proptest::prop_assert_eq!(read.records, format!("[{records}]"));

        let index = place % (bytes.len() - 1);
        bytes[index] ^= change;
        let changed = split(&bytes[..bytes.len() - 1])
            .is_some_and(|(body, found)| Sum::chained(Some(&before), body) == found);
        proptest::prop_assert!(!changed, "byte {} may be changed to {}", index, bytes[index]);
        proptest::prop_assert!(sum.as_str().len() == 32);
    }

    #[test]
    fn no_bytes_make_the_parsers_panic(bytes in proptest::collection::vec(0_u8.., 0..200)) {
        let _ = (split(&bytes), version(&bytes), envelope(&bytes), may_be_torn_first(&bytes));
        let line = [br#"{"v":1,"seq":"#, bytes.as_slice()].concat();
        let _ = envelope(&line);
    }
}
