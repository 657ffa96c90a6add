//! Reading and moving refs, each move guarded by the value it was decided on. Never forces a move.

use crate::command::{GitError, GitFailure, Purpose};
use crate::lock;
use crate::register::path_in;
use crate::repo::{Repo, RepoError};
use fleet_core::ids::{BranchName, CommitId};
use git2::ErrorCode;
use std::path::{Path, PathBuf};

/// The value that git takes for "must not exist yet".
const NOTHING: &str = "0000000000000000000000000000000000000000";

/// Beginnings of the refs that only the fleet moves.
const OWN: [&str; 2] = ["refs/heads/codewhale/", "refs/codewhale/"];

/// What became of a wish to move a ref. Repeating the wish is always safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It was moved now, and is on disk.
    Done,
    /// It was there already.
    AlreadyDone,
    /// It holds neither the old nor the new value; nothing was changed.
    Conflict {
        /// What it holds; `None`: it does not exist.
        found: Option<CommitId>,
    },
}

impl Repo {
    /// The commit that a ref (full name, such as `refs/heads/main`) points to.
    ///
    /// # Errors
    /// When it cannot be read; a ref that does not exist is `None`.
    pub fn ref_target(&self, name: &str) -> Result<Option<CommitId>, RepoError> {
        match self.open()?.find_reference(name) {
            Ok(reference) => {
                let commit = reference.peel_to_commit()?;
                Ok(Some(CommitId(commit.id().to_string())))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The commit that a branch points to.
    ///
    /// # Errors
    /// As [`Self::ref_target`].
    pub fn branch_tip(&self, branch: &BranchName) -> Result<Option<CommitId>, RepoError> {
        self.ref_target(&full_name(branch))
    }

    /// The branch that a revision of the person's names; without one, the branch they have checked out.
    /// `None` for anything else, and for a name that is no text.
    ///
    /// # Errors
    /// When the branches cannot be read.
    pub fn branch_named(&self, revision: Option<&str>) -> Result<Option<BranchName>, RepoError> {
        let Some(revision) = revision else {
            let head = std::fs::read_to_string(self.own_git_dir().join("HEAD"));
            return Ok(head.ok().and_then(|head| {
                let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
                Some(BranchName(branch.to_owned()))
            }));
        };
        let short = revision.strip_prefix("refs/heads/").unwrap_or(revision);
        let branch = BranchName(short.to_owned());
        // A tag of the same name is what git would take.
        let is_tag = self.ref_target(&format!("refs/tags/{branch}"));
        let is_branch = self.branch_tip(&branch);
        match (is_tag, is_branch) {
            (Ok(None), Ok(Some(_))) => Ok(Some(branch)),
            (Ok(None), Err(RepoError::Library(error))) | (Err(RepoError::Library(error)), _)
                if error.code() == ErrorCode::InvalidSpec =>
            {
                Ok(None)
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Ok(None),
        }
    }

    /// Moves a ref (full name) from `old` to `new`; `old` of `None` creates it.
    /// Reads first: new is done, old is moved, anything else is a conflict.
    ///
    /// # Errors
    /// When git cannot write it.
    pub fn move_ref(
        &self,
        name: &str,
        old: Option<&CommitId>,
        new: &CommitId,
    ) -> Result<Moved, RepoError> {
        if let Some(settled) = settled(self.ref_target(name)?, old, new) {
            return Ok(settled);
        }
        self.outlast_lock(name);
        let old = old.map_or(NOTHING, CommitId::as_str);
        let args = ["update-ref", "-m", "codewhale", name, new.as_str(), old];
        match self.call(Purpose::Write, args).run() {
            Ok(_) => Ok(Moved::Done),
            // Somebody was faster, or it really failed: the ref tells which.
            Err(error) if matches!(error.failure, GitFailure::Exit(_)) => {
                match self.ref_target(name)? {
                    Some(found) if found == *new => Ok(Moved::AlreadyDone),
                    found if found.as_ref().map_or(NOTHING, CommitId::as_str) == old => {
                        Err(error.into())
                    }
                    found => Ok(Moved::Conflict { found }),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a branch at a commit: done, already there, or there with another commit.
    ///
    /// # Errors
    /// When git cannot write it.
    pub fn create_branch(&self, branch: &BranchName, at: &CommitId) -> Result<Moved, RepoError> {
        self.move_ref(&full_name(branch), None, at)
    }

    /// Moves a branch that nobody works on, as the integration branch, from `old` to `new`.
    ///
    /// # Errors
    /// [`RepoError::InUse`] when somebody has it checked out: their files would look changed. Or
    /// when git cannot read or write.
    pub fn advance(
        &self,
        branch: &BranchName,
        old: &CommitId,
        new: &CommitId,
    ) -> Result<Moved, RepoError> {
        if let Some(settled) = settled(self.branch_tip(branch)?, Some(old), new) {
            return Ok(settled);
        }
        match self.checked_out_at(branch) {
            Some(at) => Err(RepoError::InUse {
                branch: branch.clone(),
                at,
            }),
            None => self.move_ref(&full_name(branch), Some(old), new),
        }
    }

    /// Takes a branch away if it still points to `old`; a branch that is gone is done.
    pub(crate) fn delete_branch(
        &self,
        branch: &BranchName,
        old: &CommitId,
    ) -> Result<(), GitError> {
        let name = full_name(branch);
        self.outlast_lock(&name);
        self.call(Purpose::Write, ["update-ref", "-d", &name, old.as_str()])
            .run()
            .map(drop)
    }

    /// A lock that git left on a ref of the fleet when it was cut off would stay for ever: nobody else
    /// moves these refs, and who does takes far less than this time.
    fn outlast_lock(&self, name: &str) {
        if OWN.iter().any(|begin| name.starts_with(begin)) {
            // One that cannot be taken away is named by git itself.
            let _ = lock::outlast(&self.git_common_dir().join(name), lock::OUTLASTED);
        }
    }

    /// The checkout that stands on a branch, if there is one.
    ///
    /// Reads the heads themselves: `git worktree list` gives up on a worktree that somebody else is
    /// just making or removing.
    pub(crate) fn checked_out_at(&self, branch: &BranchName) -> Option<PathBuf> {
        let wanted = format!("ref: {}", full_name(branch));
        let says = |file: PathBuf| {
            let text = std::fs::read_to_string(file).ok()?;
            Some(text.trim_end().to_owned())
        };
        let common = self.git_common_dir();
        if says(common.join("HEAD")).as_ref() == Some(&wanted) {
            return common.parent().map(Path::to_owned);
        }
        let linked = std::fs::read_dir(common.join("worktrees")).ok()?;
        let mut admins = linked.flatten().map(|entry| entry.path());
        let admin = admins.find(|admin| says(admin.join("HEAD")).as_ref() == Some(&wanted))?;
        let file = path_in(&admin.join("gitdir"), "").unwrap_or(admin);
        file.parent().map(Path::to_owned)
    }
}

/// Full name of a branch.
pub(crate) fn full_name(branch: &BranchName) -> String {
    format!("refs/heads/{branch}")
}

fn settled(found: Option<CommitId>, old: Option<&CommitId>, new: &CommitId) -> Option<Moved> {
    if found.as_ref() == Some(new) {
        Some(Moved::AlreadyDone)
    } else if found.as_ref() == old {
        None
    } else {
        Some(Moved::Conflict { found })
    }
}
