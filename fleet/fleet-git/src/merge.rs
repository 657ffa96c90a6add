//! Bringing a commit onto a branch, worked out without touching any folder. A plan writes objects
//! and moves nothing; moving the branch is [`Repo::move_ref`].

use crate::command::Purpose;
use crate::commit::{CommitIntent, CommitPlan, UnixSeconds};
use crate::repo::{Repo, RepoError, find_commit};
use fleet_core::ids::{CommitId, TreeId};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How a commit gets onto a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergePlan {
    /// The branch holds it.
    AlreadyThere,
    /// The branch only has to be moved to it.
    FastForward {
        /// The commit itself.
        commit: CommitId,
    },
    /// A merge commit is needed; it is not written yet, its tree is.
    Merge {
        /// The merge commit.
        commit: CommitPlan,
        /// What it holds.
        tree: TreeId,
    },
    /// Both sides changed the same things.
    Conflict {
        /// Where, relative to the repository.
        paths: Vec<PathBuf>,
    },
}

impl Repo {
    /// Works out how `commit` gets onto `onto`. The tree of a merge is written and synced.
    /// Attributes such as `merge=union` are those of the person's checkout.
    ///
    /// # Errors
    /// When a commit is missing or git cannot merge or write.
    pub fn plan_merge(
        &self,
        onto: &CommitId,
        commit: &CommitId,
        note: &MergeNote<'_>,
    ) -> Result<MergePlan, RepoError> {
        let repository = self.open()?;
        let ours = find_commit(&repository, onto)?.id();
        let theirs = find_commit(&repository, commit)?.id();
        if ours == theirs || repository.graph_descendant_of(ours, theirs)? {
            return Ok(MergePlan::AlreadyThere);
        }
        if repository.graph_descendant_of(theirs, ours)? {
            return Ok(MergePlan::FastForward {
                commit: commit.clone(),
            });
        }
        let args = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            onto.as_str(),
            commit.as_str(),
        ];
        let answer = self
            .call(Purpose::Write, args)
            .work_tree(self.toplevel())
            .accept(&[0, 1])
            .run()?;
        let mut fields = answer.fields();
        let tree = TreeId(String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned());
        if answer.code == 1 {
            let paths = fields
                .map(|path| PathBuf::from(OsStr::from_bytes(path)))
                .collect();
            return Ok(MergePlan::Conflict { paths });
        }
        let commit = self.plan_commit(&CommitIntent {
            tree: &tree,
            parents: &[onto.clone(), commit.clone()],
            message: note.message,
            role: note.role,
            at: note.at,
        });
        Ok(MergePlan::Merge { commit, tree })
    }
}

/// What a merge commit says.
#[derive(Debug, Clone, Copy)]
pub struct MergeNote<'a> {
    /// Its message.
    pub message: &'a str,
    /// Role whose work is merged.
    pub role: &'a str,
    /// When it is said to be made.
    pub at: UnixSeconds,
}
