//! The worked example of the page on the format: its sums are right, and it is a sound ledger.

use crate::common::folder_with;
use ledger_inspect::verify;

const PAGE: &str = include_str!("../../../../docs/ledger-format.md");

/// The fenced block that follows the mark `<!-- name -->`.
fn block(name: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("<!-- {name} -->\n```")).unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    block
}

#[test]
fn the_example_ledger_is_sound_to_both_readers() {
    let folder = folder_with(block("example ledger").as_bytes());
    std::fs::write(folder.path().join("durable"), block("example durable")).unwrap();
    let report = verify(folder.path()).unwrap();
    assert!(report.is_sound() && report.torn.is_none(), "{report:?}");
    assert_eq!(report.lines, 4);
    let replayed = ledger::replay(folder.path(), &crate::common::Raw, &mut |_| Ok(())).unwrap();
    assert_eq!(
        replayed.head.unwrap().sum.as_str(),
        report.head.unwrap().sum
    );
}

#[test]
fn the_example_says_the_very_bytes_that_are_hashed() {
    use sha2::Digest as _;
    for line in 1..=2 {
        let hashed = block(&format!("hashed {line}")).trim_end();
        let sum: String = sha2::Sha256::digest(hashed)[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let ledger_line = block("example ledger").lines().nth(line - 1).unwrap();
        assert!(
            ledger_line.ends_with(&format!(r#","sum":"{sum}"}}"#)),
            "line {line}: {sum}"
        );
    }
}

#[test]
fn a_changed_byte_of_the_example_is_found_by_both_readers() {
    let mut bytes = block("example ledger").as_bytes().to_vec();
    bytes[150] ^= 1;
    let folder = folder_with(&bytes);
    assert!(!verify(folder.path()).unwrap().is_sound());
    assert!(ledger::replay(folder.path(), &crate::common::Raw, &mut |_| Ok(())).is_err());
}
