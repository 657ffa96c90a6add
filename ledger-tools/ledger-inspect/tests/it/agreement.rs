//! The verifier and the replay, which share no code, come to the same verdict about every way to change the
//! bytes of a ledger of 200 lines.

use crate::common::{Forged, Raw, forged};
use ledger_inspect::{InspectError, verify_bytes};

const LINES: usize = 200;

/// Both judge `bytes` alike: sound with the same last line, torn at the same byte, or damaged with the same
/// first place.
fn agree(bytes: &[u8], durable: Option<&[u8]>, what: impl Fn() -> String) {
    let replayed = ledger::replay_bytes(bytes, durable, &Raw, &mut |_| Ok(()));
    let report = match verify_bytes(bytes, durable) {
        Ok(report) => report,
        Err(InspectError::Newer { place, .. }) => match replayed {
            Err(ledger::ReplayError::Newer { place: theirs, .. }) => {
                assert_eq!((place.line, place.byte), (theirs.line, theirs.byte));
                return;
            }
            other => panic!("{}: {other:?}", what()),
        },
        Err(error) => panic!("{}: {error}", what()),
    };
    let is_sound = replayed.is_ok();
    assert_eq!(report.is_sound(), is_sound, "{}: {replayed:?}", what());
    match replayed {
        Ok(replayed) => {
            let head = replayed.head.map(|head| (head.seq.0, head.sum.to_string()));
            let found = report.head.map(|head| (head.seq, head.sum));
            assert_eq!(found, head, "{}", what());
            let torn = match replayed.tail {
                ledger::Tail::Torn(torn) => Some((torn.place.byte, torn.bytes)),
                ledger::Tail::Whole | ledger::Tail::Unended => None,
            };
            let found = report.torn.map(|torn| (torn.place.byte, torn.bytes));
            assert_eq!(found, torn, "{}", what());
        }
        Err(
            ledger::ReplayError::Damaged(ledger::Damage { place, .. })
            | ledger::ReplayError::NotALedger(place),
        ) => {
            let first = &report.damage[0].place;
            let theirs = (place.line, place.byte);
            assert_eq!((first.line, first.byte), theirs, "{}", what());
        }
        Err(error) => panic!("{}: {error}", what()),
    }
}

/// With what the file `durable` says, and without it.
fn agree_both(bytes: &[u8], sample: &Forged, what: impl Fn() -> String) {
    agree(bytes, Some(&sample.durable), || {
        format!("{}, with durable", what())
    });
    agree(bytes, None, &what);
}

/// A seeded number for each place, so that every run tries the same.
fn seeded(place: usize) -> usize {
    place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

#[test]
fn about_every_truncation() {
    let sample = forged("ours", LINES);
    let whole = sample.lines.concat();
    for length in 0..=whole.len() {
        let durable = length.is_multiple_of(2).then_some(&sample.durable[..]);
        agree(&whole[..length], durable, || {
            format!("cut to {length} bytes")
        });
    }
}

#[test]
fn about_a_flipped_bit_in_every_byte() {
    let sample = forged("ours", LINES);
    let mut changed = sample.lines.concat();
    for byte in 0..changed.len() {
        let bit = seeded(byte) % 8;
        let durable = seeded(byte)
            .is_multiple_of(2)
            .then_some(&sample.durable[..]);
        changed[byte] ^= 1 << bit;
        agree(&changed, durable, || {
            format!("bit {bit} of byte {byte} flipped")
        });
        changed[byte] ^= 1 << bit;
    }
}

#[test]
fn about_every_bit_of_the_last_lines() {
    let sample = forged("ours", 11);
    let mut changed = sample.lines.concat();
    let from = sample.lines[..8].concat().len();
    for byte in from..changed.len() {
        for bit in 0..8 {
            changed[byte] ^= 1 << bit;
            agree_both(&changed, &sample, || {
                format!("bit {bit} of byte {byte} flipped")
            });
            changed[byte] ^= 1 << bit;
        }
    }
}

#[test]
fn about_a_hole_after_any_of_the_last_bytes() {
    let sample = forged("ours", LINES);
    let whole = sample.lines.concat();
    for cut in whole.len() - 2_000..whole.len() {
        let hole = 1 + seeded(cut) % 300;
        let changed = [&whole[..cut], &vec![0; hole]].concat();
        agree_both(&changed, &sample, || {
            format!("cut to {cut} bytes, then a hole of {hole}")
        });
    }
}

#[test]
fn about_every_line_dropped_doubled_swapped_moved_or_of_another_run() {
    let sample = forged("ours", LINES);
    let theirs = forged("theirs", LINES);
    let lines = &sample.lines;
    let check = |order: &[Vec<u8>], what: &str, line: usize| {
        agree_both(&order.concat(), &sample, || format!("line {line} {what}"));
    };
    for index in 0..LINES {
        let line = index + 1;
        let mut dropped = lines.clone();
        let taken = dropped.remove(index);
        check(&dropped, "dropped", line);
        dropped.push(taken.clone());
        check(&dropped, "moved to the end", line);
        let mut doubled = lines.clone();
        doubled.insert(index, taken);
        check(&doubled, "doubled", line);
        let mut swapped = lines.clone();
        swapped.swap(index, (index + 1) % LINES);
        check(&swapped, "swapped with the next", line);
        let mut foreign = lines.clone();
        foreign[index].clone_from(&theirs.lines[index]);
        check(&foreign, "of another run", line);
        let mut later = lines.clone();
        later[index].clone_from(&theirs.lines[(index + 3) % LINES]);
        check(&later, "a later one of another run", line);
        let mut emptied = lines.clone();
        emptied.insert(index, b"\n".to_vec());
        check(&emptied, "after an empty one", line);
    }
}

#[test]
fn about_what_says_or_seems_to_say_that_it_is_of_another_format() {
    let sample = forged("ours", 3);
    let lines: [&[u8]; 10] = [
        br#"{"v":12"#,
        br#"{"v":12,"#,
        br#"{"v":2}"#,
        br#"{"v":02,"x":1}"#,
        br#"{"v":+2,"x":1}"#,
        br#"{"v":,"x":1}"#,
        b"{\"v\":2,\xff}",
        b"{\"v\":2,\0}",
        b"hello\n{\"v\":2,\"x\":1}",
        br#"{"v":99999999999999999999,"x":1}"#,
    ];
    for line in lines {
        let what = || String::from_utf8_lossy(line).into_owned();
        for end in [&b""[..], b"\n"] {
            let alone = [line, end].concat();
            agree_both(&alone, &sample, what);
            agree_both(
                &[&alone, &sample.lines.concat()[..]].concat(),
                &sample,
                what,
            );
            agree_both(
                &[&sample.lines.concat()[..], &alone].concat(),
                &sample,
                what,
            );
        }
    }
}
