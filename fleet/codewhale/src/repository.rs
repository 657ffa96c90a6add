//! The repository that a command works on: the one of the current folder. Never makes one.

use crate::report::Report;
use crate::surroundings::Surroundings;
use fleet_git::{OpenError, Repo};
use std::path::Path;

/// The repository of the current folder.
///
/// # Errors
/// When there is none, or it cannot be worked with.
pub(crate) fn find(around: &Surroundings) -> Result<Repo, OpenError> {
    find_at(around, &around.folder)
}

/// The repository of another folder.
///
/// # Errors
/// As [`find`].
pub(crate) fn find_at(around: &Surroundings, folder: &Path) -> Result<Repo, OpenError> {
    Repo::discover_in(folder, for_git(around))
}

/// The same where a folder without a repository, or without a commit, will do.
///
/// # Errors
/// When there is one that cannot be worked with.
pub(crate) fn find_if_any(around: &Surroundings) -> Result<Option<Repo>, OpenError> {
    match find(around) {
        Ok(repo) => Ok(Some(repo)),
        Err(OpenError::NotARepository(_) | OpenError::NoCommit { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The environment that git processes start from.
pub(crate) fn for_git(around: &Surroundings) -> fleet_git::Surroundings {
    fleet_git::Surroundings::from_vars(around.variables())
}

impl From<OpenError> for Report {
    fn from(error: OpenError) -> Self {
        let report = Self::usage(error.to_string());
        match error {
            OpenError::NotARepository(_) => {
                report.hint("go into a repository, name one with -C, or make one with `git init`")
            }
            OpenError::NoCommit { .. } => {
                report.hint("make a first commit: `git add -A && git commit -m \"First commit\"`")
            }
            _ => report,
        }
    }
}
