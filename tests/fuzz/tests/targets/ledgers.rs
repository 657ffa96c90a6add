//! Ledgers: the replay and the verifier, which share no code, come to the same verdict about any bytes.

use ledger::{Codec, DecodeError, ReplayError, Tail};
use ledger_inspect::{InspectError, verify_bytes};
use sha2::Digest as _;

/// Lines of the ledger that is changed.
const LINES: usize = 12;

/// Records that are their own JSON.
struct Raw;

impl Codec for Raw {
    type Record = String;

    fn encode(&self, record: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(record.as_bytes());
    }

    fn decode(&self, _kind: &str, json: &str) -> Result<String, DecodeError> {
        Ok(json.to_owned())
    }
}

/// Lines that are right where they stand, made by the rules of `docs/ledger-format.md` and nothing else.
fn right_lines() -> Vec<Vec<u8>> {
    let mut sum = String::new();
    let mut lines = Vec::new();
    for seq in 1..=LINES {
        let dw = (seq - 1) / 3 * 3;
        let body = format!(
            r#"{{"v":1,"seq":{seq},"epoch":1,"dw":{dw},"at":"2026-11-30T12:31:08.114Z","records":[{{"type":"note.taken"}}]"#
        );
        sum = sum_of(&format!("{sum}{body}"));
        lines.push(format!("{body},\"sum\":\"{sum}\"}}\n").into_bytes());
    }
    lines
}

fn sum_of(text: &str) -> String {
    let hash = sha2::Sha256::digest(text);
    hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The bytes of a changed ledger: small values stand for right lines, the next for a line without its end, the
/// others for themselves.
fn changed(bytes: &[u8]) -> Vec<u8> {
    let lines = right_lines();
    let mut ledger = Vec::new();
    for byte in bytes {
        let at = usize::from(*byte);
        match (lines.get(at), lines.get(at.wrapping_sub(LINES))) {
            (Some(line), _) => ledger.extend_from_slice(line),
            (None, Some(line)) => ledger.extend_from_slice(&line[..line.len() / 2]),
            (None, None) => ledger.push(*byte),
        }
    }
    ledger
}

/// Judges a changed ledger twice.
///
/// # Panics
/// When the verdicts differ.
pub(crate) fn check(bytes: &[u8]) {
    let ledger = changed(bytes);
    let replayed = ledger::replay_bytes(&ledger, None, &Raw, &mut |_| Ok(()));
    match (verify_bytes(&ledger, None), replayed) {
        (Err(InspectError::Newer { place, .. }), Err(ReplayError::Newer { place: theirs, .. })) => {
            assert_eq!((place.line, place.byte), (theirs.line, theirs.byte));
        }
        (Ok(report), Ok(replayed)) => {
            assert!(report.is_sound(), "only one finds damage: {report:?}");
            let theirs = replayed.head.map(|head| (head.seq.0, head.sum.to_string()));
            assert_eq!(report.head.map(|head| (head.seq, head.sum)), theirs);
            let theirs = match replayed.tail {
                Tail::Torn(torn) => Some((torn.place.byte, torn.bytes)),
                Tail::Whole | Tail::Unended => None,
            };
            assert_eq!(
                report.torn.map(|torn| (torn.place.byte, torn.bytes)),
                theirs
            );
        }
        (
            Ok(report),
            Err(
                ReplayError::Damaged(ledger::Damage { place, .. }) | ReplayError::NotALedger(place),
            ),
        ) => {
            let first = report.damage.first().map(|damage| &damage.place);
            let first = first.expect("only one finds damage");
            assert_eq!((first.line, first.byte), (place.line, place.byte));
        }
        (report, replayed) => panic!("{report:?}, {replayed:?}"),
    }
}
