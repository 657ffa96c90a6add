//! What changed between two commits, read in this process. Never touches a folder or an index.

use crate::repo::{Repo, RepoError, find_commit};
use fleet_core::ids::CommitId;
use git2::{Delta, DiffFindOptions, DiffFormat, DiffOptions, Patch};
use std::path::PathBuf;

/// What changed between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// Every file that differs, in the order of git.
    pub files: Vec<ChangedFile>,
    /// The patch in git's own format, exact bytes; cut at a line end when longer than asked for.
    pub patch: Vec<u8>,
    /// Bytes of the patch that were left out.
    pub left_out: usize,
}

impl Diff {
    /// Lines added in all files.
    #[must_use]
    pub fn added(&self) -> usize {
        self.files.iter().map(|file| file.added).sum()
    }

    /// Lines removed in all files.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.files.iter().map(|file| file.removed).sum()
    }
}

/// One file that differs. Paths are exact bytes, relative to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// How.
    pub change: Change,
    /// Its name now, or, if deleted, its last name.
    pub path: PathBuf,
    /// Lines added; 0 for binary files.
    pub added: usize,
    /// Lines removed; 0 for binary files.
    pub removed: usize,
}

/// How a file differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// New.
    Added,
    /// Gone.
    Deleted,
    /// Other content or mode.
    Modified,
    /// Another kind of thing: a file became a link, or the like.
    Retyped,
    /// Another name, perhaps with other content.
    Renamed {
        /// The name before.
        from: PathBuf,
    },
}

impl Repo {
    /// What changed from one commit to another; at most `patch_max` bytes of patch.
    ///
    /// # Errors
    /// When a commit is missing or an object cannot be read.
    pub fn diff(
        &self,
        from: &CommitId,
        to: &CommitId,
        patch_max: usize,
    ) -> Result<Diff, RepoError> {
        let repository = self.open()?;
        let old = find_commit(&repository, from)?.tree()?;
        let new = find_commit(&repository, to)?.tree()?;
        let mut options = DiffOptions::new();
        options
            .context_lines(3)
            .old_prefix("a/")
            .new_prefix("b/")
            .include_typechange(true);
        let mut diff = repository.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        let files = changed_files(&diff)?;
        let (patch, left_out) = patch(&diff, patch_max)?;
        Ok(Diff {
            files,
            patch,
            left_out,
        })
    }
}

fn changed_files(diff: &git2::Diff<'_>) -> Result<Vec<ChangedFile>, RepoError> {
    let mut files = Vec::new();
    for (at, delta) in diff.deltas().enumerate() {
        let name = |file: git2::DiffFile<'_>| file.path().map(PathBuf::from).unwrap_or_default();
        let change = match delta.status() {
            Delta::Added => Change::Added,
            Delta::Deleted => Change::Deleted,
            Delta::Typechange => Change::Retyped,
            Delta::Renamed => Change::Renamed {
                from: name(delta.old_file()),
            },
            _ => Change::Modified,
        };
        let (_, added, removed) = match Patch::from_diff(diff, at)? {
            Some(patch) => patch.line_stats()?,
            None => (0, 0, 0),
        };
        files.push(ChangedFile {
            change,
            path: name(delta.new_file()),
            added,
            removed,
        });
    }
    Ok(files)
}

fn patch(diff: &git2::Diff<'_>, max: usize) -> Result<(Vec<u8>, usize), RepoError> {
    let mut text = Vec::new();
    let mut left_out = 0;
    diff.print(DiffFormat::Patch, |_, _, line| {
        let origin = line.origin();
        let mark = usize::from(matches!(origin, '+' | '-' | ' '));
        let length = line.content().len() + mark;
        if left_out > 0 || text.len() + length > max {
            left_out += length;
        } else {
            if mark == 1 {
                text.push(origin as u8);
            }
            text.extend_from_slice(line.content());
        }
        true
    })?;
    Ok((text, left_out))
}
