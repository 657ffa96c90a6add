//! Registering worktrees with git and taking registrations back, one at a time on a repository.
//! Never takes away a folder that git did not make for this repository.

use crate::command::Purpose;
use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::lock::{FileLock, OUTLASTED};
use crate::made::Made;
use crate::patience::Patience;
use crate::workspace::Workspaces;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for another thread or process that registers a worktree.
const ADD_WAIT: Duration = Duration::from_secs(60);

impl Workspaces {
    /// The lock around registering; waits for other threads and processes.
    pub(crate) fn adding(&self) -> Result<FileLock, WorkspaceError> {
        let folder = self.inner.repo.git_common_dir().join("codewhale");
        folders::make_private(&folder).at(&folder)?;
        let file = folder.join("worktrees.lock");
        FileLock::take(&file, ADD_WAIT).at(&file)
    }

    /// Registers the worktree without files; the caller holds the lock, because git fails when two
    /// do this at once.
    pub(crate) fn add(&self, made: &mut Made) -> Result<(), WorkspaceError> {
        match &made.branch {
            Some(branch) => {
                let flags = ["--no-track", "-b", branch.as_str()];
                self.worktree_add(&flags, &made.path, made.base.as_str())?;
            }
            None => self.worktree_add(&["--detach"], &made.path, made.base.as_str())?,
        }
        self.note_admin(made)
    }

    fn worktree_add(
        &self,
        flags: &[&str],
        path: &Path,
        target: &str,
    ) -> Result<(), WorkspaceError> {
        let mut args: Vec<&OsStr> = ["worktree", "add", "--quiet", "--no-checkout"]
            .iter()
            .chain(flags)
            .map(AsRef::as_ref)
            .collect();
        args.extend([path.as_os_str(), target.as_ref()]);
        self.drop_half_made()?;
        self.inner.repo.call(Purpose::Write, args).run()?;
        Ok(())
    }

    /// Takes registrations of the fleet away that git left half-made when it was cut off: beside one it
    /// adds no other. The caller holds the lock, so that only a git which outlived its manager can
    /// still be making one, and it gets a while.
    fn drop_half_made(&self) -> Result<(), WorkspaceError> {
        let patience = Patience::of(OUTLASTED);
        while let Some(admin) = self.half_made() {
            if !patience.pause() {
                folders::take_away(&admin).at(&admin)?;
            }
        }
        Ok(())
    }

    /// A registration of a worktree of any run that lacks a part.
    fn half_made(&self) -> Option<PathBuf> {
        let ours = self.inner.folder.parent()?;
        let is_empty = |file: PathBuf| std::fs::metadata(file).map_or(true, |meta| meta.len() == 0);
        let lacks = |admin: &PathBuf| {
            let ours = path_in(&admin.join("gitdir"), "").is_ok_and(|path| path.starts_with(ours));
            ours && ["commondir", "HEAD"]
                .map(|part| is_empty(admin.join(part)))
                .contains(&true)
        };
        self.registered().find(lacks)
    }

    /// Git's own folders of all worktrees.
    fn registered(&self) -> impl Iterator<Item = PathBuf> {
        let entries = std::fs::read_dir(self.registrations());
        entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    }

    /// Git chooses the name of its own folder; nobody else has been in the worktree yet, so its
    /// `.git` file can be believed.
    fn note_admin(&self, made: &mut Made) -> Result<(), WorkspaceError> {
        let file = made.path.join(".git");
        let admin = path_in(&file, "gitdir: ").at(&file)?;
        let name = admin.file_name().and_then(OsStr::to_str);
        name.unwrap_or_default().clone_into(&mut made.admin);
        made.write(&self.inner.state).at(&self.inner.state)
    }

    /// A folder that was deleted, on the branch it had; its private index describes files that are
    /// gone and is built anew.
    pub(crate) fn make_again(&self, made: &mut Made) -> Result<(), WorkspaceError> {
        let lock = self.adding()?;
        self.unregister(made)?;
        let target = match &made.branch {
            Some(branch) => branch.to_string(),
            None => made.base.to_string(),
        };
        let flags: &[&str] = if made.branch.is_none() {
            &["--detach"]
        } else {
            &[]
        };
        self.worktree_add(flags, &made.path, &target)?;
        self.note_admin(made)?;
        drop(lock);
        let index = self.index(&made.name);
        if folders::is_taken(&index) {
            std::fs::remove_file(&index).at(&index)?;
        }
        self.check_out(made, &target)?;
        self.publish_index(made)?;
        self.copy_files(made)
    }

    /// Takes an unfinished worktree away: nobody has worked in it.
    pub(crate) fn roll_back(&self, made: &Made) -> Result<(), WorkspaceError> {
        let lock = self.adding()?;
        if self.is_ours(&made.path) {
            folders::take_away(&made.path).at(&made.path)?;
        }
        self.unregister(made)?;
        if let Some(branch) = &made.branch
            && self.inner.repo.branch_tip(branch)?.as_ref() == Some(&made.base)
        {
            self.inner.repo.delete_branch(branch, &made.base)?;
        }
        Made::forget(&self.inner.state, &made.name).at(&self.inner.state)?;
        drop(lock);
        Ok(())
    }

    /// Whether a folder is a worktree that git made for this repository, or the empty beginning of
    /// one.
    fn is_ours(&self, path: &Path) -> bool {
        match path_in(&path.join(".git"), "gitdir: ") {
            Ok(admin) => admin.starts_with(self.registrations()),
            Err(_) => std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        }
    }

    /// Ends the registration of a worktree whose folder is gone. Not by the git command: that one
    /// refuses to look at any worktree while one is registered by half, which a crash may leave for ever.
    pub(crate) fn unregister(&self, made: &Made) -> Result<(), WorkspaceError> {
        if folders::is_taken(&made.path) {
            return Ok(());
        }
        let dot_git = made.path.join(".git");
        let names_it =
            |admin: &PathBuf| path_in(&admin.join("gitdir"), "").is_ok_and(|path| path == dot_git);
        match self.registered().find(names_it) {
            Some(admin) => folders::take_away(&admin).at(&admin),
            None => Ok(()),
        }
    }

    pub(crate) fn registrations(&self) -> PathBuf {
        self.inner.repo.git_common_dir().join("worktrees")
    }
}

/// The path that a file of git holds after a beginning; its bytes may be anything but a last line end.
pub(crate) fn path_in(file: &Path, begin: &str) -> io::Result<PathBuf> {
    let bytes = std::fs::read(file)?;
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    match line.strip_prefix(begin.as_bytes()) {
        Some(path) if !path.is_empty() => Ok(PathBuf::from(OsStr::from_bytes(path))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
