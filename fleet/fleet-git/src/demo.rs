//! A repository made from a folder, for demonstrations. Never changes the folder.

use crate::command::{Call, GitError, Purpose, Surroundings};
use crate::folders;
use crate::identity::Identity;
use crate::repo::{OpenError, Repo};
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no demonstration repository.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The place is taken.
    #[error("{} exists and is not empty", .0.display())]
    Taken(PathBuf),
    /// A folder could not be copied.
    #[error("could not copy {} to {}: {source}", from.display(), into.display())]
    Copy {
        /// Where the files are.
        from: PathBuf,
        /// Where they were to go.
        into: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A call of git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The new repository cannot be worked with.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Makes a repository with one commit on `main` out of the files of a folder, ignored ones included.
///
/// # Errors
/// When the place is taken, or something cannot be copied or committed.
pub fn demo_repo(from: &Path, into: &Path) -> Result<Repo, DemoError> {
    demo_repo_in(from, into, Surroundings::of_this_process())
}

/// As [`demo_repo`], with a stated environment.
///
/// # Errors
/// As [`demo_repo`].
pub fn demo_repo_in(
    from: &Path,
    into: &Path,
    surroundings: Surroundings,
) -> Result<Repo, DemoError> {
    let copy_error = |source| DemoError::Copy {
        from: from.to_owned(),
        into: into.to_owned(),
        source,
    };
    if into
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some())
    {
        return Err(DemoError::Taken(into.to_owned()));
    }
    folders::copy_tree(from, into).map_err(copy_error)?;
    let author = Identity::agent("demo");
    let surroundings = match Identity::of_person(&surroundings, into) {
        person if person.is_person() => surroundings,
        fallback => surroundings
            .with("GIT_COMMITTER_NAME", fallback.name())
            .with("GIT_COMMITTER_EMAIL", fallback.email()),
    };
    let calls: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main", "--template="],
        &["add", "--all", "--force"],
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message=The files of the demonstration",
        ],
    ];
    for args in calls {
        let mut args = args.to_vec();
        let author = format!("--author={author}");
        if args[0] == "commit" {
            args.push(&author);
        }
        Call::new(&surroundings, Purpose::Write, args)
            .folder(into)
            .run()?;
    }
    Ok(Repo::discover_in(into, surroundings)?)
}
