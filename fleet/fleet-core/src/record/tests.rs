//! Records: both directions of their JSON.

use super::*;
use engine_core::content::{BlobRef, Content};
use engine_core::ids::AttemptNo;

#[test]
fn a_record_is_an_object_with_its_type_first() {
    let record = Record::from(AttemptResumed {
        task: "a".parse().unwrap(),
        attempt: AttemptNo(2),
    });
    let mut out = Vec::new();
    record.encode(&mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, r#"{"type":"attempt.resumed","task":"a","attempt":2}"#);
    assert_eq!(Record::decode("attempt.resumed", &text).unwrap(), record);
}

#[test]
fn unknown_fields_are_passed_over_and_unknown_types_are_named() {
    let json = r#"{"type":"attempt.resumed","task":"a","attempt":2,"zz":{"a":[1]}}"#;
    assert!(Record::decode("attempt.resumed", json).is_ok());
    let error = Record::decode("future", "{}").unwrap_err();
    assert_eq!(error.to_string(), "unknown record type `future`");
}

#[test]
fn large_texts_move_to_blobs() {
    let mut record = Record::from(AttemptFinished {
        task: "a".parse().unwrap(),
        attempt: AttemptNo(1),
        end: AttemptEnd::Finished {
            text: Content::from("x".repeat(20_000)),
        },
    });
    let mut stored = Vec::new();
    record
        .externalize(16 * 1024, &mut |bytes: &[u8]| {
            stored.push(bytes.len());
            Ok::<_, std::convert::Infallible>(BlobRef {
                blob: "ab".into(),
                bytes: 20_000,
            })
        })
        .unwrap();
    assert_eq!(stored, [20_000]);
    let mut out = Vec::new();
    record.encode(&mut out);
    assert!(out.len() < 200);
    assert_eq!(
        Record::decode(record.kind(), std::str::from_utf8(&out).unwrap()).unwrap(),
        record
    );
}

#[test]
fn requests_of_older_ledgers_were_for_the_task_itself() {
    let old = r#"{"type":"model.requested","task":"a","attempt":1,"step":1,"hash":"","bytes":1,"max_output":1,"reserved":2}"#;
    let record = Record::decode("model.requested", old).unwrap();
    let Record::ModelRequested(requested) = &record else {
        panic!("a request");
    };
    assert!(requested.purpose.is_work());
    let mut out = Vec::new();
    record.encode(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), old);
}
