//! Work folders of a run: a worktree and a branch for each attempt, shared detached ones for
//! readers. Making one is repeatable: what an earlier try left is finished or taken away, and what
//! belongs to somebody else is walked around. Never touches an existing branch or folder.

use crate::command::Purpose;
use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::lock;
use crate::made::{self, Made, Stage};
use crate::names;
use crate::pool;
use crate::repo::Repo;
use crate::shared::Shared;
use engine_core::ids::{AttemptNo, TaskId};
use fleet_core::ids::{BranchName, CommitId, RunId};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names that are tried before giving up.
const NAMES_MAX: u32 = 100;
/// All work folders of one run. Made once and cloned: the clones know which folders are in use.
/// Usable from any thread; one process at a time works on a run, any number on a repository.
#[derive(Debug, Clone)]
pub struct Workspaces {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) repo: Repo,
    pub(crate) run: RunId,
    /// Given by the person or the default; holds the worktrees of all repositories and runs.
    root: PathBuf,
    /// Where this run's worktrees lie.
    pub(crate) folder: PathBuf,
    /// Private indexes and what is remembered about each worktree.
    pub(crate) state: PathBuf,
    pub(crate) copy: Vec<PathBuf>,
    /// Names handed out by this process.
    live: Mutex<BTreeSet<String>>,
    pub(crate) shared: Shared,
}

/// One work folder, ready to be worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) branch: Option<BranchName>,
    pub(crate) base: CommitId,
    /// Its own folder inside the repository's git folder; absolute.
    pub(crate) admin: PathBuf,
    pub(crate) common: PathBuf,
    pub(crate) snapshot_ref: String,
    pub(crate) missing_submodules: Vec<PathBuf>,
}

impl Workspace {
    /// The folder; absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The branch it stands on, with the name really used; `None`: detached.
    #[must_use]
    pub fn branch(&self) -> Option<&BranchName> {
        self.branch.as_ref()
    }

    /// The commit it was first made at.
    #[must_use]
    pub fn base(&self) -> &CommitId {
        &self.base
    }

    /// The ref that its snapshots are chained under.
    #[must_use]
    pub fn snapshot_ref(&self) -> &str {
        &self.snapshot_ref
    }

    /// Submodules of its tree; their folders are empty, because a worktree does not set them up.
    #[must_use]
    pub fn missing_submodules(&self) -> &[PathBuf] {
        &self.missing_submodules
    }

    /// What `git commit` in this folder has to write besides the folder itself: all objects, its own
    /// registration, the refs and reflogs of its own task. Made if missing, so that a sandbox can
    /// grant them.
    ///
    /// # Errors
    /// When a folder cannot be made.
    pub fn writable_git_paths(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut paths = vec![self.common.join("objects"), self.admin.clone()];
        if let Some((task, _)) = self
            .branch
            .as_ref()
            .and_then(|b| b.as_str().rsplit_once('/'))
        {
            paths.push(self.common.join("refs/heads").join(task));
            paths.push(self.common.join("logs/refs/heads").join(task));
        }
        for path in &paths {
            std::fs::create_dir_all(path).at(path)?;
        }
        Ok(paths)
    }
}

/// A name that this process works under; free again when dropped, unless kept.
#[derive(Debug)]
pub(crate) struct Seat {
    inner: Arc<Inner>,
    name: Option<String>,
}

impl Seat {
    /// The name stays taken for the life of the process or until the folder is removed.
    fn keep(mut self) {
        self.name = None;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.inner.live().remove(name);
        }
    }
}

impl Inner {
    pub(crate) fn live(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // A set of names is whole whatever its last user died of.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspaces {
    /// The work folders of a run, below `root` in a folder of this repository and run. `copy` are
    /// git-ignored files, relative to the repository, that every worktree gets. Makes nothing yet.
    #[must_use]
    pub fn new(repo: Repo, root: &Path, run: &RunId, copy: &[PathBuf]) -> Self {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let folder = root.join(repo.hash()).join(run.as_str());
        let state = repo
            .git_common_dir()
            .join("codewhale/runs")
            .join(run.as_str())
            .join("git");
        Self {
            inner: Arc::new(Inner {
                repo,
                run: run.clone(),
                root,
                folder,
                state,
                copy: copy.to_vec(),
                live: Mutex::default(),
                shared: Shared::default(),
            }),
        }
    }

    /// The repository they belong to.
    #[must_use]
    pub fn repo(&self) -> &Repo {
        &self.inner.repo
    }

    /// A worktree for one attempt, on a branch of its own at `base`. One that an earlier process
    /// made for the same attempt and that holds no work is taken up again.
    ///
    /// # Errors
    /// When it cannot be made; then nothing of it is left behind.
    pub fn for_task(
        &self,
        task: &TaskId,
        attempt: AttemptNo,
        base: &CommitId,
    ) -> Result<Workspace, WorkspaceError> {
        self.make_folders()?;
        let run = self.inner.run.as_str();
        let number = attempt.to_string();
        let parts = ["codewhale", run, "t", task.as_str(), &number];
        let stem = format!("{task}.{attempt}");
        for name in candidates(&stem) {
            let Some(seat) = self.claim(&name) else {
                continue;
            };
            let made = self.remembered(&name)?;
            let workspace = match made {
                Some(made) if made.base == *base => self.take_up(&made)?,
                None if !folders::is_taken(&self.inner.folder.join(&name)) => {
                    Some(self.create(&name, Some(&parts), base)?)
                }
                _ => None,
            };
            if let Some(workspace) = workspace {
                seat.keep();
                return Ok(workspace);
            }
        }
        Err(WorkspaceError::NoFreeName(stem))
    }

    /// The work folder at a path that an earlier process was given, whatever was done in it since.
    /// A folder that somebody deleted is made again on its branch; [`Self::restore`] brings back
    /// what it held.
    ///
    /// # Errors
    /// [`WorkspaceError::Gone`] when nothing is known of it.
    pub fn reopen(&self, path: &Path) -> Result<Workspace, WorkspaceError> {
        let gone = || WorkspaceError::Gone(path.to_owned());
        let name = path.file_name().and_then(|n| n.to_str()).ok_or_else(gone)?;
        let mut made = self.remembered(name)?.ok_or_else(gone)?;
        if made.path != path {
            return Err(gone());
        }
        if !folders::is_taken(&made.path) {
            if let Some(branch) = &made.branch
                && self.inner.repo.branch_tip(branch)?.is_none()
            {
                Made::forget(&self.inner.state, &made.name).at(&self.inner.state)?;
                return Err(gone());
            }
            self.make_again(&mut made)?;
        }
        let workspace = self.workspace(&made)?;
        if !workspace.admin.is_dir() {
            return Err(gone());
        }
        // The repository may have been moved, or somebody has been at this file.
        pool::name_repository(&workspace.path, &workspace.admin).at(path)?;
        // Whoever held it was at work for the process before this one, and ended with it.
        let index = workspace.admin.join("index");
        lock::outlast(&index, lock::OUTLASTED).at(&index)?;
        self.inner.live().insert(made.name);
        Ok(workspace)
    }

    /// The worktree of an attempt that an earlier process worked on, put back to `state` (a snapshot
    /// of it, or its base); a new one in that state if there is none. Whatever was done in it since
    /// is undone: the caller has decided that it is unknown.
    ///
    /// # Errors
    /// As [`Self::for_task`] and [`Self::restore`].
    pub fn resume(
        &self,
        task: &TaskId,
        attempt: AttemptNo,
        base: &CommitId,
        state: &CommitId,
    ) -> Result<Workspace, WorkspaceError> {
        let mut workspace = None;
        for name in candidates(&format!("{task}.{attempt}")) {
            let Some(seat) = self.claim(&name) else {
                continue;
            };
            let Some(made) = self.remembered(&name)? else {
                break;
            };
            if made.base == *base {
                match self.reopen(&made.path) {
                    Ok(found) => workspace = Some(found),
                    Err(WorkspaceError::Gone(_)) => continue,
                    Err(error) => return Err(error),
                }
                seat.keep();
                break;
            }
        }
        let workspace = match workspace {
            Some(workspace) => workspace,
            None => self.for_task(task, attempt, base)?,
        };
        self.restore(&workspace, state)?;
        Ok(workspace)
    }

    /// Takes a name for this process; `None` when it has it already.
    pub(crate) fn claim(&self, name: &str) -> Option<Seat> {
        self.inner.live().insert(name.to_owned()).then(|| Seat {
            inner: Arc::clone(&self.inner),
            name: Some(name.to_owned()),
        })
    }

    /// What is known of a name. What a dead try left unfinished is taken away first.
    pub(crate) fn remembered(&self, name: &str) -> Result<Option<Made>, WorkspaceError> {
        let made = Made::read(&self.inner.state, name).at(&self.inner.state)?;
        match made {
            Some(made) if made.stage == Stage::Preparing => {
                self.roll_back(&made)?;
                Ok(None)
            }
            made => Ok(made),
        }
    }

    /// The worktree of an earlier process, if it stands where it was made and holds no work.
    pub(crate) fn take_up(&self, made: &Made) -> Result<Option<Workspace>, WorkspaceError> {
        if !made.path.is_dir() || !self.admin(made).is_dir() {
            return Ok(None);
        }
        let workspace = self.workspace(made)?;
        let untouched = self.holds_no_work(&workspace)?;
        Ok(untouched.then_some(workspace))
    }

    /// Makes a worktree; `parts` of a branch name, or detached.
    pub(crate) fn create(
        &self,
        name: &str,
        parts: Option<&[&str]>,
        base: &CommitId,
    ) -> Result<Workspace, WorkspaceError> {
        self.make_folders()?;
        if let Some((spare, _seat)) = self.spare()? {
            match self.create_from(&spare, name, parts, base) {
                Ok(workspace) => return Ok(workspace),
                Err(error) => {
                    tracing::debug!(%error, name, "a worktree is made anew");
                    self.discard(&spare)?;
                    // What cannot be taken back now must not be forgotten by beginning anew.
                    self.remembered(name)?;
                }
            }
        }
        let lock = self.adding()?;
        let mut made = self.planned(name, parts, base)?;
        made.write(&self.inner.state).at(&self.inner.state)?;
        let added = self.add(&mut made);
        drop(lock);
        self.finish(made, added)
    }

    /// Makes a worktree out of one that an earlier attempt has left.
    fn create_from(
        &self,
        spare: &Made,
        name: &str,
        parts: Option<&[&str]>,
        base: &CommitId,
    ) -> Result<Workspace, WorkspaceError> {
        let lock = self.adding()?;
        let mut made = self.planned(name, parts, base)?;
        made.admin.clone_from(&spare.admin);
        made.write(&self.inner.state).at(&self.inner.state)?;
        let begun = match &made.branch {
            Some(branch) => self.inner.repo.create_branch(branch, base).map(drop),
            None => Ok(()),
        };
        drop(lock);
        let taken = begun.map_err(Into::into);
        let taken = taken.and_then(|()| self.take_over(spare, &made));
        self.finish(made, taken)
    }

    /// What a worktree is going to be.
    fn planned(
        &self,
        name: &str,
        parts: Option<&[&str]>,
        base: &CommitId,
    ) -> Result<Made, WorkspaceError> {
        let branch = match parts {
            Some(parts) => Some(names::free_branch(&self.inner.repo.open()?, parts)?),
            None => None,
        };
        Ok(Made {
            stage: Stage::Preparing,
            name: name.to_owned(),
            path: self.inner.folder.join(name),
            branch,
            base: base.clone(),
            admin: String::new(),
        })
    }

    /// Fills a worktree that was registered; takes away what there is of it when that fails.
    fn finish(
        &self,
        mut made: Made,
        registered: Result<(), WorkspaceError>,
    ) -> Result<Workspace, WorkspaceError> {
        match registered.and_then(|()| self.fill(&mut made)) {
            Ok(()) => self.workspace(&made),
            Err(error) => {
                if let Err(second) = self.roll_back(&made) {
                    tracing::warn!(%second, name = made.name, "an unfinished worktree stays until the next try");
                }
                Err(error)
            }
        }
    }

    /// Writes the files of a fresh worktree and its index, and what it gets besides.
    pub(crate) fn fill(&self, made: &mut Made) -> Result<(), WorkspaceError> {
        self.check_out(made, made.base.as_str())?;
        self.publish_index(made)?;
        self.copy_files(made)?;
        made.stage = Stage::Ready;
        made.write(&self.inner.state).at(&self.inner.state)
    }

    fn workspace(&self, made: &Made) -> Result<Workspace, WorkspaceError> {
        let snapshots = made.name.replacen('.', "/", 1);
        Ok(Workspace {
            name: made.name.clone(),
            path: made.path.clone(),
            branch: made.branch.clone(),
            base: made.base.clone(),
            admin: self.admin(made),
            common: self.inner.repo.git_common_dir().to_owned(),
            snapshot_ref: format!("refs/codewhale/{}/s/{snapshots}", self.inner.run),
            missing_submodules: self.submodules(&made.name)?,
        })
    }

    /// Gives a worktree its copies; each must be ignored there, or it would be committed.
    pub(crate) fn copy_files(&self, made: &Made) -> Result<(), WorkspaceError> {
        for file in &self.inner.copy {
            let from = self.inner.repo.toplevel();
            if !folders::stays_inside(file) {
                return Err(WorkspaceError::CopyOutside(file.clone()));
            }
            folders::copy_file(from, &made.path, file).map_err(|source| match source.kind() {
                ErrorKind::NotFound => WorkspaceError::CopyMissing(file.clone()),
                ErrorKind::InvalidInput => WorkspaceError::CopyOutside(file.clone()),
                _ => WorkspaceError::Io {
                    path: from.join(file),
                    source,
                },
            })?;
            let args = [
                "check-ignore".as_ref(),
                "--quiet".as_ref(),
                "--".as_ref(),
                file.as_os_str(),
            ];
            let asked = self
                .inner
                .repo
                .call(Purpose::Read, args)
                .work_tree(&made.path)
                .index(&self.index(&made.name))
                .accept(&[0, 1])
                .run()?;
            if asked.code == 1 {
                return Err(WorkspaceError::CopyNotIgnored(file.clone()));
            }
        }
        Ok(())
    }

    pub(crate) fn make_folders(&self) -> Result<(), WorkspaceError> {
        let Inner {
            root,
            folder,
            state,
            repo,
            ..
        } = &*self.inner;
        if folder.to_str().is_none() {
            return Err(WorkspaceError::PathNotText(folder.clone()));
        }
        folders::make_private(state).at(state)?;
        folders::make_private(folder).at(folder)?;
        let root = root.canonicalize().at(root)?;
        if root.starts_with(repo.toplevel()) {
            folders::hide_from_git(&root).at(&root)?;
        }
        Ok(())
    }

    pub(crate) fn admin(&self, made: &Made) -> PathBuf {
        self.registrations().join(&made.admin)
    }

    /// The private index of a worktree.
    pub(crate) fn index(&self, name: &str) -> PathBuf {
        made::folder(&self.inner.state, name).join("index")
    }
}

/// A name and its numbered variants.
pub(crate) fn candidates(stem: &str) -> impl Iterator<Item = String> {
    let numbered = stem.to_owned();
    std::iter::once(stem.to_owned())
        .chain((2..=NAMES_MAX).map(move |number| format!("{numbered}-{number}")))
}
