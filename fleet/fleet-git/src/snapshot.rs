//! Private snapshots of a work folder, chained under a ref of the run, and putting a folder back to
//! one. The index, HEAD and branch of the folder stay as they are.
//!
//! A snapshot holds what git would commit and gives back what git would check out: exact bytes,
//! except for files that the person's attributes or settings convert (line ends, encodings,
//! filters such as LFS), which come back in their converted form. Ignored files are in no snapshot
//! and are left alone.

use crate::command::{Answer, Call, GitFailure, Purpose};
use crate::commit::{CommitIntent, CommitPlan, UnixSeconds};
use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::lock;
use crate::made::Made;
use crate::refs::Moved;
use crate::repo::find_commit;
use crate::status::{FOLDER_STATUS, FolderStatus};
use crate::workspace::{Workspace, Workspaces};
use fleet_core::ids::{CommitId, TreeId};
use git2::{FileMode, Oid};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for somebody else's lock on the index of a worktree.
const INDEX_WAIT: Duration = Duration::from_secs(5);
/// Longest wait for a git process that outlived the manager that started it.
const STRAY_WAIT: Duration = Duration::from_secs(10);

/// The state of a work folder at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit that keeps it; the base of the folder if nothing was changed yet.
    pub commit: CommitId,
    /// What it holds.
    pub tree: TreeId,
    /// What could not be taken in: files git cannot read, repositories inside the folder.
    pub left_out: Vec<PathBuf>,
}

impl Workspaces {
    /// Takes a snapshot of everything that is not ignored. It is on disk when this returns. If
    /// nothing has changed since the last one, that one is returned and nothing is written.
    ///
    /// # Errors
    /// When git cannot read or write, or somebody else moved the ref of the snapshots.
    pub fn snapshot(
        &self,
        workspace: &Workspace,
        message: &str,
        at: UnixSeconds,
    ) -> Result<Snapshot, WorkspaceError> {
        let repo = &self.inner.repo;
        let index = self.private_index(workspace)?;
        let on = |args: &[&str]| self.on(workspace, &index, Purpose::Write, args);
        let mut left_out = self.read_in(workspace, &index)?;
        let last = repo.ref_target(&workspace.snapshot_ref)?;
        let parent = last.clone().unwrap_or_else(|| workspace.base.clone());
        let parent_tree = repo.tree_of(&parent)?;
        if self.holds(&index, &parent)? {
            return Ok(Snapshot {
                commit: parent,
                tree: parent_tree,
                left_out,
            });
        }
        let mut tree = match on(&["write-tree"]).run() {
            Ok(answer) => TreeId(answer.text()),
            // What was read in and belonged to no snapshot yet may have been collected as garbage.
            Err(error) if matches!(error.failure, GitFailure::Exit(_)) => {
                std::fs::remove_file(&index).at(&index)?;
                self.private_index(workspace)?;
                left_out = self.read_in(workspace, &index)?;
                TreeId(on(&["write-tree"]).run()?.text())
            }
            Err(error) => return Err(error.into()),
        };
        if tree != parent_tree {
            let foreign = self.new_repositories(&parent_tree, &tree)?;
            if !foreign.is_empty() {
                on(&["update-index", "--force-remove", "-z", "--stdin"])
                    .input(nul_terminated(&foreign))
                    .run()?;
                tree = TreeId(on(&["write-tree"]).run()?.text());
                left_out.extend(foreign);
            }
        }
        let commit = if tree == parent_tree {
            parent
        } else {
            let plan = repo.plan_commit(&CommitIntent {
                tree: &tree,
                parents: &[parent],
                message,
                role: "snapshot",
                at,
            });
            repo.write_commit(&plan)?;
            match repo.move_ref(&workspace.snapshot_ref, last.as_ref(), plan.id())? {
                Moved::Done | Moved::AlreadyDone => plan.id().clone(),
                Moved::Conflict { found } => {
                    let name = workspace.snapshot_ref.clone();
                    return Err(WorkspaceError::RefMoved { name, found });
                }
            }
        };
        Ok(Snapshot {
            commit,
            tree,
            left_out,
        })
    }

    /// Takes everything that is not ignored into an index; answers what could not be taken in.
    fn read_in(&self, workspace: &Workspace, index: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        let args = ["add", "--all", "--ignore-errors"];
        let added = self.on(workspace, index, Purpose::Write, &args);
        match added.accept(&[0, 1]).run()?.code {
            0 => Ok(Vec::new()),
            _ => Ok(self.differing_from(workspace, index)?.differing),
        }
    }

    /// Makes the folder equal to a snapshot (or any commit): tracked and untracked files. Ignored
    /// files and repositories inside the folder are left alone.
    ///
    /// # Errors
    /// When git cannot read or write.
    pub fn restore(
        &self,
        workspace: &Workspace,
        snapshot: &CommitId,
    ) -> Result<(), WorkspaceError> {
        let index = self.private_index(workspace)?;
        let on = |args: &[&str]| self.on(workspace, &index, Purpose::Write, args);
        on(&["read-tree", "--reset", "-u", snapshot.as_str()]).run()?;
        on(&["clean", "-d", "--force", "--quiet"]).run()?;
        Ok(())
    }

    /// Writes a planned commit, moves the branch of the folder from the plan's first parent to it,
    /// and lets the folder's own index follow. Every step is repeatable.
    ///
    /// # Errors
    /// When git cannot write, or [`WorkspaceError::Lock`] when somebody holds the index of the
    /// folder; the commit is there then, and a repetition only has the index left to do.
    pub fn commit(
        &self,
        workspace: &Workspace,
        plan: &CommitPlan,
        old: &CommitId,
    ) -> Result<Moved, WorkspaceError> {
        let Some(branch) = &workspace.branch else {
            return Err(WorkspaceError::Detached(workspace.path.clone()));
        };
        let moved = self.inner.repo.make_commit(plan, branch, old)?;
        if !matches!(moved, Moved::Conflict { .. }) {
            let index = self.index_of(workspace, plan.id())?;
            let own = workspace.admin.join("index");
            lock::replace_index(&own, &index, INDEX_WAIT).at(&own)?;
        }
        Ok(moved)
    }

    /// A call that sees the folder through an index of ours and the shared git folder, so that
    /// nothing the agent could have written decides what runs.
    pub(crate) fn on(
        &self,
        workspace: &Workspace,
        index: &Path,
        purpose: Purpose,
        args: &[&str],
    ) -> Call {
        self.inner
            .repo
            .call(purpose, args)
            .work_tree(&workspace.path)
            .index(index)
    }

    /// The private index, made if it is missing; a lock that a dead git left on it is taken away.
    fn private_index(&self, workspace: &Workspace) -> Result<PathBuf, WorkspaceError> {
        if !workspace.path.is_dir() {
            return Err(WorkspaceError::Gone(workspace.path.clone()));
        }
        let index = self.index(&workspace.name);
        lock::outlast(&index, STRAY_WAIT).at(&index)?;
        let whole = index.is_file() && git2::Index::open(&index).is_ok();
        if !whole {
            if folders::is_taken(&index) {
                std::fs::remove_file(&index).at(&index)?;
            }
            let args = ["read-tree", workspace.base.as_str()];
            self.on(workspace, &index, Purpose::Write, &args).run()?;
        }
        Ok(index)
    }

    /// Whether an index holds the tree of a commit and nothing else. Asked without a process.
    fn holds(&self, index: &Path, commit: &CommitId) -> Result<bool, WorkspaceError> {
        let repository = self.inner.repo.open()?;
        let tree = find_commit(&repository, commit)?.tree()?;
        let index = git2::Index::open(index)?;
        let diff = repository.diff_tree_to_index(Some(&tree), Some(&index), None)?;
        Ok(diff.deltas().len() == 0)
    }

    /// An index for reading that holds the tree of `commit`: the private one if it does, else a
    /// throw-away copy.
    pub(crate) fn index_of(
        &self,
        workspace: &Workspace,
        commit: &CommitId,
    ) -> Result<PathBuf, WorkspaceError> {
        let index = self.private_index(workspace)?;
        if self.holds(&index, commit)? {
            return Ok(index);
        }
        let look = index.with_extension("look");
        std::fs::copy(&index, &look).at(&look)?;
        // The folder is not asked whether it is as the index has it: how they differ is the question.
        let args = ["read-tree", "-i", "-m", commit.as_str()];
        self.on(workspace, &look, Purpose::Write, &args).run()?;
        Ok(look)
    }

    /// How the folder differs from an index.
    pub(crate) fn differing_from(
        &self,
        workspace: &Workspace,
        index: &Path,
    ) -> Result<FolderStatus, WorkspaceError> {
        let answer: Answer = self
            .on(workspace, index, Purpose::Read, &FOLDER_STATUS)
            .run()?;
        Ok(FolderStatus::parse(&answer))
    }

    /// Entries of `tree` that are repositories of their own and were none before: git would commit
    /// a pointer that nobody else can follow.
    fn new_repositories(
        &self,
        before: &TreeId,
        tree: &TreeId,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let repository = self.inner.repo.open()?;
        let old = repository.find_tree(Oid::from_str(before.as_str())?)?;
        let new = repository.find_tree(Oid::from_str(tree.as_str())?)?;
        let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), None)?;
        let found = diff
            .deltas()
            .filter(|delta| {
                delta.new_file().mode() == FileMode::Commit
                    && delta.old_file().mode() != FileMode::Commit
            })
            .filter_map(|delta| delta.new_file().path().map(Path::to_owned))
            .collect();
        Ok(found)
    }

    /// Writes the files of a commit into a worktree, through the private index.
    pub(crate) fn check_out(&self, made: &Made, revision: &str) -> Result<(), WorkspaceError> {
        let index = self.index(&made.name);
        let args = ["read-tree", "--reset", "-u", revision];
        self.inner
            .repo
            .call(Purpose::Write, args)
            .work_tree(&made.path)
            .index(&index)
            .run()?;
        Ok(())
    }

    /// Gives the worktree the private index as its own, so that its status is right and fast.
    pub(crate) fn publish_index(&self, made: &Made) -> Result<(), WorkspaceError> {
        let own = self.admin(made).join("index");
        lock::replace_index(&own, &self.index(&made.name), INDEX_WAIT).at(&own)
    }

    /// Submodules in the private index of a worktree.
    pub(crate) fn submodules(&self, name: &str) -> Result<Vec<PathBuf>, WorkspaceError> {
        let index = self.index(name);
        if !index.is_file() {
            return Ok(Vec::new());
        }
        let entries = git2::Index::open(&index)?;
        let submodule = u32::from(FileMode::Commit);
        Ok(entries
            .iter()
            .filter(|entry| entry.mode == submodule)
            .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path)))
            .collect())
    }

    /// Entries that are staged in the worktree's own index and are neither in `tip` nor in the base:
    /// content that exists nowhere else once the folder is known to equal `tip`.
    pub(crate) fn staged_only(
        &self,
        workspace: &Workspace,
        tip: &CommitId,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let own = workspace.admin.join("index");
        if !own.is_file() {
            return Ok(Vec::new());
        }
        let repository = self.inner.repo.open()?;
        let tip = find_commit(&repository, tip)?.tree()?;
        let base = find_commit(&repository, &workspace.base)?.tree()?;
        let index = git2::Index::open(&own)?;
        let diff = repository.diff_tree_to_index(Some(&tip), Some(&index), None)?;
        let found = diff
            .deltas()
            .filter_map(|delta| {
                let new = delta.new_file();
                let path = new.path()?;
                let known = new.id().is_zero()
                    || base
                        .get_path(path)
                        .is_ok_and(|entry| entry.id() == new.id());
                (!known).then(|| path.to_owned())
            })
            .collect();
        Ok(found)
    }
}

fn nul_terminated(paths: &[PathBuf]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}
