//! Folders of attempts that are over, used again: the files of a large tree are made once and changed
//! where the next tree differs. Nothing is known of a folder in the pool but its name, and nothing of
//! what was in it is handed on. Never takes a folder that holds work.

use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::made::{self, Made, Stage};
use crate::refs::full_name;
use crate::register::path_in;
use crate::remove::Removal;
use crate::sweep::sweep;
use crate::workspace::{Seat, Workspace, Workspaces};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Beginning of the names of folders in the pool; no task id begins with `_`.
pub(crate) const SPARE: &str = "_spare.";
/// Most folders in the pool: more attempts than this are never at work at once.
const SPARES_MAX: u32 = 200;

impl Workspaces {
    /// As [`Self::remove`], but the files of a folder that is given up stay for a later attempt.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub fn retire(&self, workspace: &Workspace) -> Result<Removal, WorkspaceError> {
        let ignored = match self.loss(workspace)? {
            Ok(ignored) => ignored,
            Err(reason) => {
                let path = workspace.path.clone();
                return Ok(Removal::Kept { path, reason });
            }
        };
        if let Err(error) = self.put_by(workspace) {
            tracing::debug!(%error, name = workspace.name, "a folder is not used again");
        }
        // Its name and its branch go in any case, and its folder if it is still there.
        self.take_away(workspace)?;
        Ok(Removal::Removed { ignored })
    }

    /// Moves a folder into the pool.
    fn put_by(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let Some(old) = Made::read(&self.inner.state, &workspace.name).at(&self.inner.state)?
        else {
            return Ok(());
        };
        for number in 1..=SPARES_MAX {
            let name = format!("{SPARE}{number}");
            let Some(_seat) = self.claim(&name) else {
                continue;
            };
            let path = self.inner.folder.join(&name);
            if self.remembered(&name)?.is_some() || folders::is_taken(&path) {
                continue;
            }
            let mut spare = Made {
                stage: Stage::Preparing,
                name,
                path,
                branch: None,
                ..old.clone()
            };
            self.relocate(&old, &spare)?;
            spare.stage = Stage::Ready;
            return spare.write(&self.inner.state).at(&self.inner.state);
        }
        Ok(())
    }

    /// A folder of the pool, with the seat that keeps others from it.
    pub(crate) fn spare(&self) -> Result<Option<(Made, Seat)>, WorkspaceError> {
        for name in self.names_like(SPARE) {
            let Some(seat) = self.claim(&name) else {
                continue;
            };
            if let Some(made) = self.remembered(&name)? {
                return Ok(Some((made, seat)));
            }
        }
        Ok(None)
    }

    /// Makes a folder of the pool the unfilled worktree `made`, whose branch there is.
    pub(crate) fn take_over(&self, spare: &Made, made: &Made) -> Result<(), WorkspaceError> {
        let probe = made::file(&self.inner.state, &spare.name);
        sweep(&spare.path, &self.index(&spare.name), &probe)?;
        self.relocate(spare, made)?;
        Made::forget(&self.inner.state, &spare.name).at(&self.inner.state)
    }

    /// Gives a folder, its registration and its private index another name. Cut off in between, the new
    /// name is unfinished and is taken away with whatever it already has.
    fn relocate(&self, from: &Made, to: &Made) -> Result<(), WorkspaceError> {
        to.write(&self.inner.state).at(&self.inner.state)?;
        let admin = self.admin(to);
        let head = match &to.branch {
            Some(branch) => format!("ref: {}", full_name(branch)),
            None => to.base.to_string(),
        };
        let lock = self.adding()?;
        fs::rename(&from.path, &to.path).at(&from.path)?;
        register_anew(&admin, &to.path, &head).at(&admin)?;
        drop(lock);
        let index = self.index(&from.name);
        fs::rename(&index, self.index(&to.name)).at(&index)
    }

    /// Names of this run's folders that begin like this, as far as they are remembered.
    pub(crate) fn names_like(&self, begin: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.inner.state).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.starts_with(begin))
            .collect()
    }
}

/// The files by which a repository knows a worktree; the format of `git help repository-layout`.
const PARTS: [&str; 3] = ["gitdir", "commondir", "HEAD"];

/// Writes what a worktree and its repository know each other by anew, and takes away what git remembers
/// of anything begun. Each part is whole at any time: git gives up on all worktrees of a repository
/// while one of them lacks a part.
pub(crate) fn register_anew(admin: &Path, path: &Path, head: &str) -> io::Result<()> {
    for entry in fs::read_dir(admin)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if !PARTS.iter().any(|part| entry.file_name() == *part) {
            fs::remove_file(entry.path())?;
        }
    }
    name_repository(path, admin)?;
    let contents = [
        line("", &path.join(".git")),
        b"../..\n".to_vec(),
        format!("{head}\n").into_bytes(),
    ];
    for (part, content) in PARTS.iter().zip(contents) {
        replace(&admin.join(part), &admin.join("draft"), &content)?;
    }
    Ok(())
}

/// Writes the file by which a worktree knows its repository, if it does not say so already.
pub(crate) fn name_repository(path: &Path, admin: &Path) -> io::Result<()> {
    let dot_git = path.join(".git");
    let meta = fs::symlink_metadata(&dot_git);
    if meta.as_ref().is_ok_and(Metadata::is_file)
        && path_in(&dot_git, "gitdir: ").is_ok_and(|said| said == admin)
    {
        return Ok(());
    }
    if meta.is_ok_and(|meta| meta.is_dir()) {
        folders::take_away(&dot_git)?;
    }
    // Without this file the folder would be nobody's after a crash.
    let draft = path.join(".git-draft");
    replace(&dot_git, &draft, &line("gitdir: ", admin))
}

fn line(begin: &str, path: &Path) -> Vec<u8> {
    [begin.as_bytes(), path.as_os_str().as_bytes(), b"\n"].concat()
}

fn replace(file: &Path, draft: &Path, content: &[u8]) -> io::Result<()> {
    if folders::is_taken(draft) {
        // A link there would lead the write elsewhere.
        fs::remove_file(draft)?;
    }
    fs::write(draft, content)?;
    fs::rename(draft, file)
}
