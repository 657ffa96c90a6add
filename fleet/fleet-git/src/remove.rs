//! Taking a work folder away without losing work. It is kept, with the reason, when it holds
//! anything that exists nowhere else; only ignored files go with it, and they are named. Never
//! forces git to do what its own safety checks refuse before these checks have passed.

use crate::command::Purpose;
use crate::error::{At, WorkspaceError};
use crate::folders;
use crate::made::{Made, Stage};
use crate::refs::full_name;
use crate::workspace::{Workspace, Workspaces};
use fleet_core::ids::{BranchName, CommitId};
use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders by which git remembers something begun, and its name.
const BEGUN: [(&str, &str); 7] = [
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick or revert"),
    ("BISECT_LOG", "bisect"),
];

/// What became of a work folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It is gone, with the branch that was made for it.
    Removed {
        /// Ignored files that went with it, whole folders once; those it was given are not named.
        ignored: Vec<PathBuf>,
    },
    /// It is untouched.
    Kept {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: KeptReason,
    },
}

/// Why a work folder is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReason {
    /// Files that are in no commit of it.
    Uncommitted(Vec<PathBuf>),
    /// Content that is only in its index.
    Staged(Vec<PathBuf>),
    /// Commits that no branch but its own holds.
    Commits(CommitId),
    /// Something that git has begun and not ended there.
    Begun(&'static str),
    /// It is no longer registered with the repository, so nothing can be said about it.
    Unregistered,
}

impl std::fmt::Display for KeptReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uncommitted(paths) => write!(f, "uncommitted: {}", first(paths)),
            Self::Staged(paths) => write!(f, "staged only: {}", first(paths)),
            Self::Commits(tip) => write!(f, "commits up to {tip} are on no other branch"),
            Self::Begun(what) => write!(f, "a {what} is begun"),
            Self::Unregistered => f.write_str("no longer registered as a worktree"),
        }
    }
}

fn first(paths: &[PathBuf]) -> String {
    let name = paths.first().map(|path| path.display().to_string());
    match paths.len() {
        0 | 1 => name.unwrap_or_default(),
        count => format!("{} and {} more", name.unwrap_or_default(), count - 1),
    }
}

/// Where a worktree stands.
enum Head {
    Branch(BranchName),
    Commit(CommitId),
}

impl Workspaces {
    /// Takes a work folder away if nothing is lost by it. The caller has ended everything that
    /// works in it. Repeating it is safe, also after a crash in between.
    ///
    /// # Errors
    /// When git or the file system refuses; what is not taken away yet stays.
    pub fn remove(&self, workspace: &Workspace) -> Result<Removal, WorkspaceError> {
        match self.loss(workspace)? {
            Ok(ignored) => {
                self.take_away(workspace)?;
                Ok(Removal::Removed { ignored })
            }
            Err(reason) => Ok(Removal::Kept {
                path: workspace.path.clone(),
                reason,
            }),
        }
    }

    /// What would be lost with a folder and its branch: ignored files, or a reason to keep it.
    pub(crate) fn loss(&self, workspace: &Workspace) -> Result<Loss, WorkspaceError> {
        let mut ignored = Vec::new();
        if folders::is_taken(&workspace.path) {
            match self.why_keep(workspace)? {
                Ok(found) => ignored = found,
                keep => return Ok(keep),
            }
        }
        Ok(match self.unheld_tip(workspace)? {
            Some(tip) => Err(KeptReason::Commits(tip)),
            None => Ok(ignored),
        })
    }

    /// Whether nobody has left anything in a worktree: it stands where it was made, unchanged.
    pub(crate) fn holds_no_work(&self, workspace: &Workspace) -> Result<bool, WorkspaceError> {
        let Some(head) = read_head(&workspace.admin) else {
            return Ok(false);
        };
        let in_place = match (&head, &workspace.branch) {
            (Head::Branch(found), Some(made)) => found == made,
            (Head::Commit(_), None) => true,
            _ => false,
        };
        if !in_place || self.commit_at(&head)?.as_ref() != Some(&workspace.base) {
            return Ok(false);
        }
        Ok(self.why_keep(workspace)?.is_ok())
    }

    fn why_keep(&self, workspace: &Workspace) -> Result<Loss, WorkspaceError> {
        let keep = |reason| Ok(Err(reason));
        let Some(head) = read_head(&workspace.admin) else {
            return keep(KeptReason::Unregistered);
        };
        let begun = BEGUN
            .iter()
            .find(|(file, _)| folders::is_taken(&workspace.admin.join(file)));
        if let Some((_, what)) = begun {
            return keep(KeptReason::Begun(what));
        }
        let Some(commit) = self.commit_at(&head)? else {
            return keep(KeptReason::Unregistered);
        };
        let index = self.index_of(workspace, &commit)?;
        let status = self.differing_from(workspace, &index)?;
        if !status.differing.is_empty() {
            return keep(KeptReason::Uncommitted(status.differing));
        }
        let staged = self.staged_only(workspace, &commit)?;
        if !staged.is_empty() {
            return keep(KeptReason::Staged(staged));
        }
        if matches!(head, Head::Commit(_)) && !self.is_held(&commit, workspace)? {
            return keep(KeptReason::Commits(commit));
        }
        let given = |path: &PathBuf| self.inner.copy.iter().any(|copy| copy == path);
        let ignored = status
            .ignored
            .into_iter()
            .filter(|path| !given(path))
            .collect();
        Ok(Ok(ignored))
    }

    /// The tip of the branch made for the folder, if no other branch holds it.
    fn unheld_tip(&self, workspace: &Workspace) -> Result<Option<CommitId>, WorkspaceError> {
        let repo = &self.inner.repo;
        let Some(branch) = &workspace.branch else {
            return Ok(None);
        };
        match repo.branch_tip(branch)? {
            Some(tip) if !self.is_held(&tip, workspace)? => Ok(Some(tip)),
            _ => Ok(None),
        }
    }

    pub(crate) fn take_away(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let repo = &self.inner.repo;
        let made = Made {
            stage: Stage::Ready,
            name: workspace.name.clone(),
            path: workspace.path.clone(),
            branch: workspace.branch.clone(),
            base: workspace.base.clone(),
            admin: String::new(),
        };
        folders::take_away(&made.path).at(&made.path)?;
        let lock = self.adding()?;
        self.unregister(&made)?;
        if let Some(branch) = &made.branch
            && let Some(tip) = repo.branch_tip(branch)?
        {
            repo.delete_branch(branch, &tip)?;
        }
        drop(lock);
        Made::forget(&self.inner.state, &made.name).at(&self.inner.state)?;
        self.inner.live().remove(&made.name);
        self.tidy_up(&made.path);
        Ok(())
    }

    /// Takes away what is empty of the folders above a worktree; one in use stays by itself. They need not
    /// be where this run would make them now: its repository may have been moved.
    pub(crate) fn tidy_up(&self, worktree: &Path) {
        for folder in worktree.ancestors().skip(1).take(2) {
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    /// Whether a commit can still be reached when the folder and its branch are gone: from another
    /// branch, a tag or the person's HEAD. Snapshots of runs are cleaned up one day, so they hold
    /// only what the folder was made at, never what was made in it.
    fn is_held(&self, commit: &CommitId, workspace: &Workspace) -> Result<bool, WorkspaceError> {
        let is_base = *commit == workspace.base;
        if is_base && workspace.branch.is_none() {
            return Ok(true);
        }
        let repo = &self.inner.repo;
        if self.is_integrated(commit, workspace)? {
            return Ok(true);
        }
        let args = [
            "for-each-ref",
            "--format=%(refname)",
            "--contains",
            commit.as_str(),
        ];
        let answer = repo.call(Purpose::Read, args).run()?.text();
        let own = workspace.branch.as_ref().map(full_name);
        let by_ref = answer.lines().any(|name| {
            Some(name) != own.as_deref() && (is_base || !name.starts_with("refs/codewhale/"))
        });
        Ok(by_ref || repo.is_below_head(commit)?)
    }

    /// Whether the run's integration branch holds a commit: the usual case, told without a process.
    fn is_integrated(
        &self,
        commit: &CommitId,
        workspace: &Workspace,
    ) -> Result<bool, WorkspaceError> {
        let run = workspace.branch.as_ref().map(|branch| branch.as_str());
        let Some((run, _)) = run.and_then(|branch| branch.rsplit_once("/t/")) else {
            return Ok(false);
        };
        let repo = &self.inner.repo;
        let integration = BranchName(format!("{run}/integration"));
        match repo.branch_tip(&integration)? {
            Some(tip) => Ok(repo.is_below(commit, &tip)?),
            None => Ok(false),
        }
    }

    fn commit_at(&self, head: &Head) -> Result<Option<CommitId>, WorkspaceError> {
        match head {
            Head::Commit(commit) => Ok(Some(commit.clone())),
            Head::Branch(branch) => Ok(self.inner.repo.branch_tip(branch)?),
        }
    }
}

/// Ignored files that go with a folder, or why it stays.
pub(crate) type Loss = Result<Vec<PathBuf>, KeptReason>;

/// HEAD of a worktree, read from its file; the format of `git help repository-layout`.
fn read_head(admin: &Path) -> Option<Head> {
    let text = fs::read_to_string(admin.join("HEAD")).ok()?;
    let text = text.trim_end();
    match text.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(Head::Branch(BranchName(branch.to_owned()))),
        None if text.len() == 40 => Some(Head::Commit(CommitId(text.to_owned()))),
        None => None,
    }
}
