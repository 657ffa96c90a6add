//! What `doctor` says of the folders that fleets write to: rights, file system, room. Writes nothing but an
//! empty file of its own, which it takes away again.

use super::Check;
use crate::app::App;
use crate::exit::Exit;
use crate::places;
use crate::repository;
use rustix::fs::statvfs;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// With less free than this a fleet of some size may fill the disk.
const FREE_ENOUGH_BYTES: u64 = 1024 * 1024 * 1024;

/// How bad a file system is whose locks and syncs cannot be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Foreign {
    /// Ledgers lie there: a run would be refused.
    Refused,
    /// Only worktrees lie there.
    Slow,
}

/// The state folder, and the folder of runs of the repository around.
pub(super) fn all(app: &App) -> Vec<Check> {
    let repo = repository::find_if_any(&app.around).ok().flatten();
    let mut checks = vec![match places::state(&app.around) {
        Err(error) => {
            Check::bad("state", error.to_string(), Exit::Usage).hint("set HOME or XDG_STATE_HOME")
        }
        Ok(folder) => {
            let foreign = match repo {
                Some(_) => Foreign::Slow,
                None => Foreign::Refused,
            };
            let kept = "runs and worktrees are kept there; set XDG_STATE_HOME to another place";
            match make(&folder) {
                Ok(()) => look("state", &folder, foreign, kept),
                Err(error) => unwritable("state", &folder, &error, kept),
            }
        }
    }];
    if let Some(repo) = repo
        && let Ok(folder) = places::runs(&app.around, Some(repo.git_common_dir()))
    {
        let kept = "runs are kept there: give yourself the right to write it";
        checks.push(look("runs", &folder, Foreign::Refused, kept));
    }
    checks
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Looks at a folder, or at the nearest one above it that is there.
fn look(name: &str, folder: &Path, foreign: Foreign, kept: &str) -> Check {
    let there = nearest(folder);
    if let Err(error) = try_writing(&there) {
        return unwritable(name, &there, &error, kept);
    }
    let shown = folder.display();
    if let Ok(Some(system)) = ledger::foreign(&there) {
        let says = format!("{shown} lies on {system}, where locks and syncs cannot be relied on");
        return match foreign {
            Foreign::Refused => Check::bad(name, says, Exit::Storage)
                .hint("runs are refused there: work in a folder on a local disk"),
            Foreign::Slow => Check::warning(name, says)
                .hint("worktrees lie there: set XDG_STATE_HOME to a folder on a local disk"),
        };
    }
    match statvfs(&there) {
        Ok(found) => room(name, folder, found.f_bavail.saturating_mul(found.f_frsize)),
        Err(_) => Check::good(name, shown.to_string()),
    }
}

/// What is said of a folder with this much free.
fn room(name: &str, folder: &Path, free: u64) -> Check {
    let mib = free / (1024 * 1024);
    let says = format!("{}, with {mib} MiB free", folder.display());
    let hint = "make room; `codewhale fleet clean` takes away work folders that nobody needs";
    if free < ledger::FREE_MIN_BYTES {
        Check::bad(name, says, Exit::Storage).hint(hint)
    } else if free < FREE_ENOUGH_BYTES {
        Check::warning(name, says).hint(hint)
    } else {
        Check::good(name, folder.display().to_string())
    }
}

fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|above| above.exists());
    there.unwrap_or(folder).to_owned()
}

fn try_writing(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!("doctor-{}", std::process::id()));
    std::fs::write(&file, b"")?;
    std::fs::remove_file(&file)
}

fn unwritable(name: &str, folder: &Path, error: &io::Error, hint: &str) -> Check {
    let says = format!("{} cannot be written: {error}", folder.display());
    Check::bad(name, says, Exit::Storage).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_disk_that_is_nearly_full_is_told_before_a_run_meets_it() {
        let check = |free: u64, verdict: Verdict, exit: Exit| {
            let found = room("state", Path::new("/s"), free);
            assert_eq!((found.verdict, found.exit), (verdict, exit), "{free}");
            assert_eq!(found.hint.is_some(), verdict != Verdict::Good);
        };
        check(0, Verdict::Bad, Exit::Storage);
        check(ledger::FREE_MIN_BYTES - 1, Verdict::Bad, Exit::Storage);
        check(ledger::FREE_MIN_BYTES, Verdict::Warning, Exit::Done);
        check(FREE_ENOUGH_BYTES, Verdict::Good, Exit::Done);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_judged_by_the_one_above() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("a/b");
        assert_eq!(nearest(&below), folder.path());
        let found = look("runs", &below, Foreign::Refused, "hint");
        assert_ne!(found.verdict, Verdict::Bad, "{found:?}");
        assert!(!below.exists());
        std::fs::write(folder.path().join("a"), "").expect("a file");
        let found = look("runs", &below, Foreign::Refused, "hint");
        assert_eq!((found.verdict, found.exit), (Verdict::Bad, Exit::Storage));
    }
}
