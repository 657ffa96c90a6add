//! Disks that fill up under a run: real file systems of a few MiB in memory. The run ends with 8, nothing is
//! lost, and it goes on when there is room. Mounting takes rights: where they lack, a test says so.

use crate::crew::{Crew, ends_as};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of `mib` MiB; `None` where that is not allowed.
    fn at(path: PathBuf, mib: u32) -> Option<Self> {
        std::fs::create_dir_all(&path).expect("a folder");
        let size = format!("size={mib}m,mode=0700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "none"])
            .arg(&path)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        eprintln!("NOT RUN: a file system cannot be mounted here");
        None
    }

    /// Takes up all room but `left` KiB.
    fn fill(&self, left: u64) {
        let mut filler = File::create(self.0.join("filler")).expect("a file");
        let stat = rustix::fs::statvfs(&self.0).expect("a file system");
        let free = stat.f_bavail * stat.f_frsize;
        let zeros = vec![0; 64 * 1024];
        let mut owed = free.saturating_sub(left * 1024);
        while owed > 0 {
            let part = usize::try_from(owed).map_or(zeros.len(), |owed| owed.min(zeros.len()));
            match filler.write(&zeros[..part]) {
                Ok(written) => owed -= written as u64,
                // The run writes too: what it took is not there to be filled.
                Err(_) => return,
            }
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("it was filled");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// The run goes on to its end, and nothing is asked or done a second time.
fn goes_on(crew: &Crew) {
    let answered = crew.story().answered();
    let asked = crew.asked().len();
    ends_as(crew.resume().ended(), "done", 0);
    let again = crew.asked().split_off(asked);
    let twice: Vec<_> = again
        .iter()
        .filter(|name| answered.contains(name))
        .collect();
    assert!(twice.is_empty(), "paid for twice: {twice:?}");
    crew.story().done_once();
    crew.environment.run(&["ledger", "verify"]).exits(0);
}

fn holds(folder: &Path, name: &str) -> bool {
    folder.join(name).exists()
}

#[test]
fn a_run_on_a_filling_disk_ends_in_order_and_goes_on_when_there_is_room() {
    let crew = Crew::new();
    let Some(disk) = SmallDisk::at(crew.environment.path("desk/.git/codewhale"), 24) else {
        return;
    };
    crew.hold_answer("survey/1.2");
    let manager = crew.start();
    crew.wait_until_asked("survey/1.2", 0);
    let folder = crew.run_folder().expect("there is a run");
    assert!(holds(&folder, "reserve"), "nothing is set aside");
    disk.fill(700);
    crew.give_answer();
    let ran = ends_as(manager.ended(), "stopped", 8);
    let end = crew.story().of_type("run.ended")[0].clone();
    let reason = end["reason"].as_str().expect("a reason");
    assert!(reason.contains("the disk is filling"), "{end}");
    assert!(ran.stdout.contains("the disk is filling"), "{ran:?}");
    assert!(!holds(&folder, "suspect") && !holds(&folder, "reserve"));
    crew.environment.is_left_by_all();
    // Without room it does not begin again, and changes nothing.
    disk.fill(700);
    let before = std::fs::read(crew.ledger()).expect("a ledger");
    let refused = crew.resume().ended().exits(8);
    assert!(refused.stderr.contains("are needed"), "{}", refused.stderr);
    assert!(std::fs::read(crew.ledger()).expect("a ledger") == before);
    disk.empty();
    goes_on(&crew);
}

/// What alpha is told is too large for a line.
#[test]
fn a_large_content_that_finds_no_room_ends_with_8_and_is_kept_when_there_is() {
    let crew = Crew::new();
    let Some(disk) = SmallDisk::at(crew.environment.path("desk/.git/codewhale"), 24) else {
        return;
    };
    let roster = crew.environment.path("roster.toml");
    let text = std::fs::read_to_string(roster).expect("a roster");
    let much = format!("Make alpha. {}", "And do it well. ".repeat(2_000));
    crew.environment
        .write("roster.toml", &text.replace("Make alpha.", &much));
    crew.hold_answer("survey/1.2");
    let manager = crew.start();
    crew.wait_until_asked("survey/1.2", 0);
    crew.wait_until_quiet();
    disk.fill(0);
    crew.give_answer();
    let ran = manager.ended().exits(8);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    crew.environment.is_left_by_all();
    disk.empty();
    goes_on(&crew);
    let verified = crew.environment.run(&["ledger", "verify", "--json"]);
    assert!(verified.json()[0]["blobs"]["referenced"].as_u64() > Some(0));
}

#[test]
fn work_folders_that_find_no_room_end_with_8_and_blame_no_task() {
    let crew = Crew::new();
    let worktrees = "home/.local/state/codewhale/worktrees";
    let Some(disk) = SmallDisk::at(crew.environment.path(worktrees), 4) else {
        return;
    };
    disk.fill(0);
    let ran = ends_as(crew.start().ended(), "stopped", 8);
    assert!(ran.stdout.contains("No space left"), "{ran:?}");
    assert!(crew.story().ends().is_empty(), "a task was blamed");
    disk.empty();
    goes_on(&crew);
}
