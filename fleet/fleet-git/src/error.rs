//! Why something could not be done with a work folder. Never a judgement about the work in it.

use crate::command::GitError;
use crate::lock::{LockError, LockHeld};
use crate::repo::RepoError;
use fleet_core::ids::CommitId;
use std::io;
use std::path::{Path, PathBuf};

/// Why a work folder could not be made, kept or used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The repository could not be read or written.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// Somebody holds a lock for too long.
    #[error(transparent)]
    Lock(#[from] LockHeld),
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// What it refused to touch.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Worktrees would lie where no record could say.
    #[error("worktrees cannot lie in {}, which is not a path of valid UTF-8", .0.display())]
    PathNotText(PathBuf),
    /// A hundred names were in use.
    #[error("no free folder for `{0}`: a hundred names are in use; run `codewhale fleet clean`")]
    NoFreeName(String),
    /// A file to copy does not exist.
    #[error("`{}` from `copy` does not exist in the repository", .0.display())]
    CopyMissing(PathBuf),
    /// A file to copy would leave or enter through a path that is not inside the repository.
    #[error("`{}` from `copy` is not a file inside the repository", .0.display())]
    CopyOutside(PathBuf),
    /// A copied file would be committed with the work.
    #[error("`{}` from `copy` is not ignored by git, so it would be committed with the work", .0.display())]
    CopyNotIgnored(PathBuf),
    /// The folder or its registration is gone.
    #[error("{} is no longer a worktree of this repository", .0.display())]
    Gone(PathBuf),
    /// A commit was to be made in a folder that stands on no branch.
    #[error("{} stands on no branch, so nothing can be committed in it", .0.display())]
    Detached(PathBuf),
    /// Somebody else moved a ref of this run.
    #[error("`{name}` was moved by somebody else and now holds {}", found.as_ref().map_or("nothing", CommitId::as_str))]
    RefMoved {
        /// The ref.
        name: String,
        /// What it holds.
        found: Option<CommitId>,
    },
}

impl WorkspaceError {
    /// Whether the same call may go well later without anybody's help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Lock(_) => true,
            Self::Repo(RepoError::Git(error)) => error.is_transient(),
            _ => false,
        }
    }
}

impl From<GitError> for WorkspaceError {
    fn from(error: GitError) -> Self {
        Self::Repo(error.into())
    }
}

impl From<git2::Error> for WorkspaceError {
    fn from(error: git2::Error) -> Self {
        Self::Repo(error.into())
    }
}

/// Names the path in an error of the file system.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, WorkspaceError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, WorkspaceError> {
        self.map_err(|source| WorkspaceError::Io {
            path: path.to_owned(),
            source,
        })
    }
}

impl<T> At<T> for Result<T, LockError> {
    fn at(self, path: &Path) -> Result<T, WorkspaceError> {
        self.map_err(|error| match error {
            LockError::Held(held) => held.into(),
            LockError::Io(source) => WorkspaceError::Io {
                path: path.to_owned(),
                source,
            },
        })
    }
}
