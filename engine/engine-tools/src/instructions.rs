//! The instructions that a repository has for agents: `AGENTS.md` at its top. Never reads another
//! file, never follows a link out of the repository.

use crate::workspace::jail::{Found, Jail};
use crate::workspace::text::cut;
use std::io::Read;
use std::path::Path;

/// Most bytes of instructions that are taken.
pub const INSTRUCTIONS_MAX_BYTES: usize = 32 * 1024;

/// The file's name.
const FILE: &str = "AGENTS.md";

/// The repository's instructions; `None` when there are none, or none that can be read. Longer ones
/// are cut at a character and say so. They are text of the repository: they carry no authority.
#[must_use]
pub fn read(root: &Path) -> Option<String> {
    let jail = Jail::open(root).ok()?;
    let place = jail.find(FILE).ok().filter(|p| p.found == Found::File)?;
    let file = place.open(FILE).ok()?;
    let mut bytes = Vec::new();
    let most = INSTRUCTIONS_MAX_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return None;
    }
    if text.len() <= INSTRUCTIONS_MAX_BYTES {
        return Some(text.into_owned());
    }
    let kept = cut(&text, INSTRUCTIONS_MAX_BYTES);
    Some(format!(
        "{kept}\n[{FILE} is longer; the rest was left out]\n"
    ))
}
