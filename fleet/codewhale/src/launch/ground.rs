//! Where a run stands: the repository, and the folders for runs and worktrees. Makes nothing but a
//! demonstration repository when a roster asks for one.

use super::{Path, PathBuf, Report, Surroundings};
use crate::places;
use crate::repository;
use fleet_core::ids::{BranchName, CommitId};
use fleet_git::{DemoError, Repo, demo_repo_in};
use fleet_runtime::socket::Folders;

/// Where a run stands.
pub(crate) struct Ground {
    repo: Option<Repo>,
    folder: PathBuf,
    runs: PathBuf,
    worktrees: PathBuf,
    control: Folders,
}

impl Ground {
    /// The repository that the current folder belongs to, or the folder itself where there is none.
    ///
    /// # Errors
    /// When there is a repository that cannot be worked in.
    pub(crate) fn of_folder(around: &Surroundings) -> Result<Self, Report> {
        match repository::find_if_any(around)? {
            Some(repo) => {
                let mut ground = Self::on(around, repo)?;
                ground.folder.clone_from(&around.folder);
                Ok(ground)
            }
            None => Ok(Self {
                repo: None,
                folder: around.folder.clone(),
                runs: places::runs(around, None)?,
                worktrees: places::state(around)?.join("worktrees"),
                control: places::control(around),
            }),
        }
    }

    /// A fresh repository made from a folder, for a demonstration.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn demonstration(
        around: &Surroundings,
        from: &Path,
        name: &str,
    ) -> Result<Self, Report> {
        let parent = places::state(around)?.join("demo");
        let mut number = 1;
        loop {
            let into = parent.join(format!("{name}-{number}"));
            match demo_repo_in(from, &into, repository::for_git(around)) {
                Ok(repo) => return Self::on(around, repo),
                Err(DemoError::Taken(_)) => number += 1,
                Err(error) => {
                    return Err(
                        Report::storage("the demonstration repository could not be made")
                            .because(&error),
                    );
                }
            }
        }
    }

    /// A repository.
    ///
    /// # Errors
    /// When no place for runs or worktrees can be named.
    pub(crate) fn on(around: &Surroundings, repo: Repo) -> Result<Self, Report> {
        Ok(Self {
            folder: repo.toplevel().to_owned(),
            runs: places::runs(around, Some(repo.git_common_dir()))?,
            worktrees: places::state(around)?.join("worktrees"),
            control: places::control(around),
            repo: Some(repo),
        })
    }

    /// The repository.
    pub(crate) fn repo(&self) -> Option<&Repo> {
        self.repo.as_ref()
    }

    /// The folder the run is about.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder with one folder per run.
    pub(crate) fn runs(&self) -> &Path {
        &self.runs
    }

    /// The folder for worktrees of all repositories.
    pub(crate) fn worktrees(&self) -> &Path {
        &self.worktrees
    }

    /// Where the control socket of a run may lie.
    pub(crate) fn control(&self) -> &Folders {
        &self.control
    }

    /// The commit a run starts from; `None` where there is no repository.
    ///
    /// # Errors
    /// When the revision names no commit.
    pub(crate) fn base(&self, revision: Option<&str>) -> Result<Option<CommitId>, Report> {
        let Some(repo) = &self.repo else {
            return Ok(None);
        };
        let found = match revision {
            Some(revision) => repo.resolve(revision),
            None => repo.head(),
        };
        found.map(Some).map_err(|error| {
            Report::usage(error.to_string())
                .hint("`base` in the roster takes a branch, a tag or a commit")
        })
    }

    /// The branch that a run starts from: the one that is named, or the one that is checked out.
    ///
    /// # Errors
    /// When the branches cannot be read.
    pub(crate) fn base_branch(&self, revision: Option<&str>) -> Result<Option<BranchName>, Report> {
        let Some(repo) = &self.repo else {
            return Ok(None);
        };
        repo.branch_named(revision)
            .map_err(|error| Report::storage("The branches cannot be read").because(&error))
    }
}
