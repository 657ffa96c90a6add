//! The repository that a command works on: the one of the current folder. Never makes one.

use crate::app::App;
use crate::report::Report;
use fleet_git::{OpenError, Repo, Surroundings};
use std::path::Path;

/// The repository of the current folder.
///
/// # Errors
/// When there is none, or it cannot be worked with.
pub(crate) fn find(app: &App) -> Result<Repo, OpenError> {
    find_at(app, &app.around.folder)
}

/// The repository of another folder.
///
/// # Errors
/// As [`find`].
pub(crate) fn find_at(app: &App, folder: &Path) -> Result<Repo, OpenError> {
    let surroundings = Surroundings::from_vars(app.around.variables());
    Repo::discover_in(folder, surroundings)
}

/// The same where a folder without a repository will do.
///
/// # Errors
/// When there is one that cannot be worked with.
pub(crate) fn find_if_any(app: &App) -> Result<Option<Repo>, OpenError> {
    match find(app) {
        Ok(repo) => Ok(Some(repo)),
        Err(OpenError::NotARepository(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl From<OpenError> for Report {
    fn from(error: OpenError) -> Self {
        Self::usage(error.to_string())
    }
}
