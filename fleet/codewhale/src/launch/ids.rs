//! Run ids and seeds. The only place where the product takes randomness from the system.

use chrono::Local;
use fleet_core::ids::RunId;
use std::hash::{BuildHasher as _, RandomState};

/// Letters of the last part of a run id: none that is read for another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const LETTERS_IN_ID: u32 = 4;

/// A new seed.
pub(super) fn seed() -> u64 {
    // A hasher of the standard library is keyed by the system's random source.
    RandomState::new().hash_one(std::process::id())
}

/// `<name>-<yymmdd>-<4 chars>`, the day being the person's.
pub(super) fn run_id(name: &str, seed: u64) -> RunId {
    let day = Local::now().format("%y%m%d");
    RunId(format!("{}-{day}-{}", plain(name), letters(seed)))
}

fn letters(seed: u64) -> String {
    (0..LETTERS_IN_ID)
        .map(|place| char::from(LETTERS[(seed >> (place * 5)) as usize % LETTERS.len()]))
        .collect()
}

/// A name as it can stand in a folder and a branch.
fn plain(name: &str) -> String {
    let kept: String = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let kept = kept.trim_matches('-').to_owned();
    if kept.is_empty() {
        "run".to_owned()
    } else {
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_folder_and_a_branch_name() {
        let check = |name: &str, expected: &str| assert_eq!(plain(name), expected);
        check("raise-coverage", "raise-coverage");
        check("Größe & Mut/..", "gr--e---mut");
        check("日本", "run");
        check("", "run");
        let id = run_id("x", 0x0123_4567_89ab_cdef);
        assert_eq!(id.as_str().len(), "x-261130-abcd".len());
    }

    #[test]
    fn the_letters_follow_from_the_seed() {
        assert_eq!(letters(7), letters(7));
        assert_ne!(letters(7), letters(8));
    }
}
