//! Clean checkouts for checks: exactly the files of a commit, nothing that an earlier check or an
//! agent left. The folders are used again, because that is much faster than making new ones.

use crate::command::Purpose;
use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::made::{Made, Stage};
use crate::workspace::{Seat, Workspaces};
use fleet_core::ids::CommitId;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Beginning of the names of their folders; no task id begins with `_`.
const LANE: &str = "_check.";
/// Most checkouts of a run that are in use at once.
const LANES_MAX: u32 = 100;

/// A clean checkout; the folder goes back to the pool when this is dropped.
#[derive(Debug)]
pub struct Checkout {
    path: PathBuf,
    _seat: Seat,
}

impl Checkout {
    /// The folder; absolute. It is a detached worktree, so git commands work in it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Workspaces {
    /// A checkout of exactly this commit, and of the files that every worktree gets.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn clean_checkout(&self, commit: &CommitId) -> Result<Checkout, WorkspaceError> {
        for lane in 1..=LANES_MAX {
            let name = format!("{LANE}{lane}");
            let Some(seat) = self.claim(&name) else {
                continue;
            };
            let path = self.inner.folder.join(&name);
            match self.remembered(&name)? {
                Some(made) => {
                    if let Err(error) = self.reuse(&made, commit) {
                        tracing::debug!(%error, name, "a checkout is made anew");
                        self.discard(&made)?;
                        self.create(&name, None, commit)?;
                    }
                }
                None if folders::is_taken(&path) => continue,
                None => drop(self.create(&name, None, commit)?),
            }
            return Ok(Checkout { path, _seat: seat });
        }
        Err(WorkspaceError::NoFreeName("check".into()))
    }

    /// Takes away the clean checkouts that are not in use. Nothing in them is anybody's work.
    ///
    /// # Errors
    /// When git or the file system refuses.
    pub fn discard_checkouts(&self) -> Result<(), WorkspaceError> {
        let Ok(names) = fs::read_dir(&self.inner.state) else {
            return Ok(());
        };
        for name in names
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
        {
            if !name.starts_with(LANE) {
                continue;
            }
            if let Some(_seat) = self.claim(&name)
                && let Some(made) = self.remembered(&name)?
            {
                self.discard(&made)?;
            }
        }
        Ok(())
    }

    fn discard(&self, made: &Made) -> Result<(), WorkspaceError> {
        folders::take_away(&made.path).at(&made.path)?;
        self.roll_back(made)
    }

    /// Makes a used checkout clean and moves it to another commit. The command that ran in it may
    /// have written anything below it, its `.git` file included.
    fn reuse(&self, made: &Made, commit: &CommitId) -> Result<(), WorkspaceError> {
        let mut again = made.clone();
        again.stage = Stage::Preparing;
        again.base = commit.clone();
        again.write(&self.inner.state).at(&self.inner.state)?;
        let admin = self.admin(made);
        reset_registration(&admin, &made.path, commit).at(&admin)?;
        let clean = ["clean", "-ffdxq"];
        self.inner
            .repo
            .call(Purpose::Write, clean)
            .work_tree(&again.path)
            .index(&self.index(&again.name))
            .run()?;
        self.fill(&mut again)
    }
}

/// The files by which a repository knows a worktree; the format of `git help repository-layout`.
const PARTS: [&str; 3] = ["gitdir", "commondir", "HEAD"];

/// Writes what a worktree and its repository know each other by anew, and takes away what git remembers
/// of anything begun. Each part is whole at any time: git gives up on all worktrees of a repository
/// while one of them lacks a part.
fn reset_registration(admin: &Path, path: &Path, commit: &CommitId) -> io::Result<()> {
    for entry in fs::read_dir(admin)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if !PARTS.iter().any(|part| entry.file_name() == *part) {
            fs::remove_file(entry.path())?;
        }
    }
    let dot_git = path.join(".git");
    if folders::is_taken(&dot_git) && fs::remove_file(&dot_git).is_err() {
        fs::remove_dir_all(&dot_git)?;
    }
    let line =
        |begin: &str, path: &Path| [begin.as_bytes(), path.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(&dot_git, line("gitdir: ", admin))?;
    let contents = [
        line("", &dot_git),
        b"../..\n".to_vec(),
        format!("{commit}\n").into_bytes(),
    ];
    for (part, content) in PARTS.iter().zip(contents) {
        let draft = admin.join("draft");
        fs::write(&draft, content)?;
        fs::rename(&draft, admin.join(part))?;
    }
    Ok(())
}
