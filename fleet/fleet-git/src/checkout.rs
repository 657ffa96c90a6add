//! Clean checkouts for checks: exactly the files of a commit, nothing that an earlier check or an
//! agent left. The folders are used again, because that is much faster than making new ones.

use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::made::{self, Made, Stage};
use crate::pool::{SPARE, register_anew};
use crate::sweep::sweep;
use crate::workspace::{Seat, Workspaces};
use fleet_core::ids::CommitId;
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

    /// Takes away the clean checkouts that are not in use, and the folders that wait to be used again.
    /// Nothing in them is anybody's work.
    ///
    /// # Errors
    /// When git or the file system refuses.
    pub fn discard_checkouts(&self) -> Result<(), WorkspaceError> {
        let names = [LANE, SPARE].map(|begin| self.names_like(begin));
        for name in names.concat() {
            if let Some(_seat) = self.claim(&name)
                && let Some(made) = self.remembered(&name)?
            {
                self.discard(&made)?;
            }
        }
        Ok(())
    }

    pub(crate) fn discard(&self, made: &Made) -> Result<(), WorkspaceError> {
        folders::take_away(&made.path).at(&made.path)?;
        self.roll_back(made)?;
        self.tidy_up(&made.path);
        Ok(())
    }

    /// Makes a used checkout clean and moves it to another commit. The command that ran in it may
    /// have written anything below it, its `.git` file included.
    fn reuse(&self, made: &Made, commit: &CommitId) -> Result<(), WorkspaceError> {
        let mut again = made.clone();
        again.stage = Stage::Preparing;
        again.base = commit.clone();
        again.write(&self.inner.state).at(&self.inner.state)?;
        let admin = self.admin(made);
        register_anew(&admin, &made.path, commit.as_str()).at(&admin)?;
        let probe = made::file(&self.inner.state, &made.name);
        sweep(&made.path, &self.index(&made.name), &probe)?;
        self.fill(&mut again)
    }
}
