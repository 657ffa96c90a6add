//! The repository a run works in: finding it, refusing what cannot be worked with, and reading from
//! it. Never writes.

use crate::command::{Call, GitError, GitFailure, Purpose, Surroundings};
use crate::identity::Identity;
use fleet_core::ids::{BranchName, CommitId, TreeId};
use git2::{ErrorCode, Oid, RepositoryOpenFlags};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The oldest git whose `merge-tree --write-tree` tells a conflict without touching a folder.
const OLDEST_GIT: (u32, u32) = (2, 38);

/// A repository with at least one commit and a checkout. Cheap to clone, usable from any thread.
#[derive(Debug, Clone)]
pub struct Repo {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Absolute, shared by all worktrees.
    common_dir: PathBuf,
    /// Absolute, of the worktree the person stands in.
    git_dir: PathBuf,
    toplevel: PathBuf,
    identity: Identity,
    surroundings: Surroundings,
}

/// Why there is no repository to work in.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Neither the folder nor one above it belongs to a repository.
    #[error("{} is not in a git repository; make one with `git init` and a first commit", .0.display())]
    NotARepository(PathBuf),
    /// A repository without a checkout.
    #[error("{} is a bare repository; run this in a checkout of it", .0.display())]
    Bare(PathBuf),
    /// Nothing to start from.
    #[error(
        "{} has no commit yet on `{branch}`; make a first one (`git add -A && git commit -m start`) and run this again",
        toplevel.display()
    )]
    NoCommit {
        /// The checkout.
        toplevel: PathBuf,
        /// The branch that HEAD names and that does not exist yet.
        branch: String,
    },
    /// Another account owns it and the person has not said that it is safe.
    #[error(
        "{} belongs to another user; if you trust it, allow its top folder with `git config --global --add safe.directory FOLDER`",
        .0.display()
    )]
    NotYours(PathBuf),
    /// A path that no record and no rule of a sandbox could hold.
    #[error("{} is not a path of valid UTF-8, which is not supported; rename the folder", .0.display())]
    PathNotText(PathBuf),
    /// A format that the reading library cannot read.
    #[error("{} uses {feature}, which is not supported: {reason}", folder.display())]
    Unsupported {
        /// Where it was looked for.
        folder: PathBuf,
        /// SHA-256 object names, reftable …
        feature: String,
        /// What the library said.
        reason: String,
    },
    /// The command is not installed.
    #[error("the git command was not found; install git {}.{} or newer", OLDEST_GIT.0, OLDEST_GIT.1)]
    GitMissing,
    /// The command is too old.
    #[error("git {found} is too old; install git {}.{} or newer", OLDEST_GIT.0, OLDEST_GIT.1)]
    GitTooOld {
        /// The version that is installed.
        found: String,
    },
    /// Anything else that kept it from being read.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

/// Why something could not be read from the repository or written to it.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// No commit has this name.
    #[error("`{0}` names no commit of this repository")]
    NoSuchCommit(String),
    /// More than one object begins like this.
    #[error("`{0}` is ambiguous; write more of it")]
    Ambiguous(String),
    /// A branch that is to be moved is checked out.
    #[error("`{branch}` is checked out at {}; switch that checkout to another branch", at.display())]
    InUse {
        /// The branch.
        branch: BranchName,
        /// The checkout.
        at: PathBuf,
    },
    /// The library could not read.
    #[error("could not read the repository: {0}")]
    Library(#[from] git2::Error),
    /// A call of git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file of git's could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Repo {
    /// The repository of a folder, with the environment of this process.
    ///
    /// # Errors
    /// Everything that makes a run impossible, each with what to do about it.
    pub fn discover(folder: &Path) -> Result<Self, OpenError> {
        Self::discover_in(folder, Surroundings::of_this_process())
    }

    /// The repository of a folder, with a stated environment.
    ///
    /// # Errors
    /// As [`Self::discover`].
    pub fn discover_in(folder: &Path, surroundings: Surroundings) -> Result<Self, OpenError> {
        require_git(&surroundings, folder)?;
        let repository = find(folder, &surroundings)?;
        let common_dir = plain(repository.commondir());
        let Some(toplevel) = repository.workdir().map(plain) else {
            return Err(OpenError::Bare(common_dir));
        };
        for path in [&common_dir, &toplevel] {
            if path.to_str().is_none() {
                return Err(OpenError::PathNotText(path.clone()));
            }
        }
        if let Err(error) = repository.head() {
            if !matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) {
                return Err(RepoError::Library(error).into());
            }
            let branch = unborn_branch(&repository);
            return Err(OpenError::NoCommit { toplevel, branch });
        }
        let identity = Identity::of_person(&surroundings, &toplevel);
        let surroundings = surroundings
            .with("GIT_COMMITTER_NAME", identity.name())
            .with("GIT_COMMITTER_EMAIL", identity.email());
        Ok(Self {
            inner: Arc::new(Inner {
                common_dir,
                git_dir: plain(repository.path()),
                toplevel,
                identity,
                surroundings,
            }),
        })
    }

    /// The folder that all worktrees of the repository share; absolute.
    #[must_use]
    pub fn git_common_dir(&self) -> &Path {
        &self.inner.common_dir
    }

    /// The person's checkout; absolute.
    #[must_use]
    pub fn toplevel(&self) -> &Path {
        &self.inner.toplevel
    }

    /// Who is the committer of what the fleet commits.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    /// Twelve hex digits that differ between repositories of this machine: part of worktree paths.
    #[must_use]
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.inner.common_dir.as_os_str().as_bytes());
        digest[..6]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The commit that the person's checkout stands on.
    ///
    /// # Errors
    /// When HEAD cannot be read.
    pub fn head(&self) -> Result<CommitId, RepoError> {
        let repository = open(&self.inner.git_dir)?;
        let commit = repository.head()?.peel_to_commit()?;
        Ok(CommitId(commit.id().to_string()))
    }

    /// The commit that a revision names, in the person's checkout.
    ///
    /// # Errors
    /// When it names none, or more than one.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, RepoError> {
        let repository = open(&self.inner.git_dir)?;
        let object = repository
            .revparse_single(revision)
            .and_then(|object| object.peel_to_commit())
            .map_err(|error| match error.code() {
                ErrorCode::Ambiguous => RepoError::Ambiguous(revision.to_owned()),
                ErrorCode::NotFound
                | ErrorCode::InvalidSpec
                | ErrorCode::Peel
                | ErrorCode::UnbornBranch => RepoError::NoSuchCommit(revision.to_owned()),
                _ => RepoError::Library(error),
            })?;
        Ok(CommitId(object.id().to_string()))
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// When there is no such commit.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, RepoError> {
        let repository = self.open()?;
        let tree = find_commit(&repository, commit)?.tree_id();
        Ok(TreeId(tree.to_string()))
    }

    /// Whether the person's HEAD holds a commit.
    pub(crate) fn is_below_head(&self, commit: &CommitId) -> Result<bool, RepoError> {
        self.is_below(commit, &self.head()?)
    }

    /// Whether a commit is another one or one of those it builds on.
    pub(crate) fn is_below(&self, commit: &CommitId, tip: &CommitId) -> Result<bool, RepoError> {
        let repository = self.open()?;
        let commit = find_commit(&repository, commit)?.id();
        let tip = find_commit(&repository, tip)?.id();
        Ok(tip == commit || repository.graph_descendant_of(tip, commit)?)
    }

    /// Opens the shared folder for reading in this process.
    pub(crate) fn open(&self) -> Result<git2::Repository, RepoError> {
        open(&self.inner.common_dir)
    }

    /// A call of git on the shared folder; it knows neither a work tree nor an index yet.
    pub(crate) fn call<A: AsRef<OsStr>>(
        &self,
        purpose: Purpose,
        args: impl IntoIterator<Item = A>,
    ) -> Call {
        Call::new(&self.inner.surroundings, purpose, args)
            .git_dir(&self.inner.common_dir)
            .folder(&self.inner.common_dir)
    }

    /// A call of git in the person's name, as they would make it in their checkout.
    pub(crate) fn persons_call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Call {
        Call::new(&self.inner.surroundings, Purpose::Person, args).folder(&self.inner.toplevel)
    }

    /// The git folder of the person's own checkout.
    pub(crate) fn own_git_dir(&self) -> &Path {
        &self.inner.git_dir
    }
}

/// A commit by its full id.
pub(crate) fn find_commit<'r>(
    repository: &'r git2::Repository,
    commit: &CommitId,
) -> Result<git2::Commit<'r>, RepoError> {
    Oid::from_str(commit.as_str())
        .and_then(|id| repository.find_commit(id))
        .map_err(|error| match error.code() {
            ErrorCode::NotFound | ErrorCode::InvalidSpec => {
                RepoError::NoSuchCommit(commit.to_string())
            }
            _ => RepoError::Library(error),
        })
}

fn open(git_dir: &Path) -> Result<git2::Repository, RepoError> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
    let none: [&OsStr; 0] = [];
    Ok(git2::Repository::open_ext(git_dir, flags, none)?)
}

/// The library ends folders with a slash.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

fn find(folder: &Path, surroundings: &Surroundings) -> Result<git2::Repository, OpenError> {
    let none: [&OsStr; 0] = [];
    let flags = RepositoryOpenFlags::CROSS_FS;
    git2::Repository::open_ext(folder, flags, none).map_err(|error| match error.code() {
        ErrorCode::NotFound => OpenError::NotARepository(folder.to_owned()),
        ErrorCode::Owner => OpenError::NotYours(folder.to_owned()),
        _ => match unsupported(folder, surroundings) {
            Some(feature) => OpenError::Unsupported {
                folder: folder.to_owned(),
                feature,
                reason: error.message().to_owned(),
            },
            None => RepoError::Library(error).into(),
        },
    })
}

/// The repository format that the library stumbled over, by the word of git itself.
fn unsupported(folder: &Path, surroundings: &Surroundings) -> Option<String> {
    let ask = ["config", "--get-regexp", r"^extensions\."];
    let answer = Call::new(surroundings, Purpose::Read, ask)
        .folder(folder)
        .run()
        .ok()?
        .text();
    let mut named = Vec::new();
    for line in answer.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match (key, value) {
            ("extensions.objectformat", "sha256") => named.push("SHA-256 object names".to_owned()),
            ("extensions.refstorage", "reftable") => named.push("the reftable format".to_owned()),
            _ => {}
        }
    }
    if named.is_empty() {
        named = answer.lines().map(|line| format!("`{line}`")).collect();
    }
    (!named.is_empty()).then(|| named.join(" and "))
}

fn unborn_branch(repository: &git2::Repository) -> String {
    repository
        .find_reference("HEAD")
        .ok()
        .and_then(|head| head.symbolic_target().ok().flatten().map(str::to_owned))
        .map_or_else(
            || "HEAD".to_owned(),
            |name| name.trim_start_matches("refs/heads/").to_owned(),
        )
}

fn require_git(surroundings: &Surroundings, folder: &Path) -> Result<(), OpenError> {
    if !folder.is_dir() {
        return Err(OpenError::NotARepository(folder.to_owned()));
    }
    let answer = Call::new(surroundings, Purpose::Read, ["version"])
        .folder(folder)
        .run()
        .map_err(|error| match error.failure {
            GitFailure::NotFound => OpenError::GitMissing,
            _ => RepoError::Git(error).into(),
        })?;
    let text = answer.text();
    match version(&text) {
        Some(found) if found >= OLDEST_GIT => Ok(()),
        _ => Err(OpenError::GitTooOld {
            found: text.trim_start_matches("git version ").to_owned(),
        }),
    }
}

/// The first two numbers of `git version 2.39.2 (Apple Git-143)`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("git version ")?.split(['.', ' ', '-']);
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::{OLDEST_GIT, version};

    #[test]
    fn versions_of_all_vendors_are_understood() {
        let check = |text: &str, wanted: Option<(u32, u32)>| assert_eq!(version(text), wanted);
        check("git version 2.47.3", Some((2, 47)));
        check("git version 2.39.2 (Apple Git-143)", Some((2, 39)));
        check("git version 2.45.1.windows.1", Some((2, 45)));
        check("git version 3.0-rc1", Some((3, 0)));
        check("git version 3.0.rc1", Some((3, 0)));
        check("hub version 1.2", None);
        assert!((2, 37) < OLDEST_GIT && OLDEST_GIT < (3, 0));
    }
}
