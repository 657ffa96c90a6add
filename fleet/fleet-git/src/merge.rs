//! Bringing a commit onto a branch, worked out without touching any folder. A plan writes objects
//! and moves nothing; moving the branch is [`Repo::move_ref`].

use crate::command::Purpose;
use crate::commit::{CommitIntent, CommitPlan, UnixSeconds};
use crate::conflict::{Conflicts, MergeTree};
use crate::repo::{Repo, RepoError, find_commit};
use fleet_core::ids::{CommitId, TreeId};

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
    Conflict(Conflicts),
}

impl Repo {
    /// Works out how `commit` gets onto `onto`. The tree of a merge is written and synced, that of one in
    /// conflict too.
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
            onto.as_str(),
            commit.as_str(),
        ];
        let answer = self
            .call(Purpose::Write, args)
            .work_tree(self.toplevel())
            .accept(&[0, 1])
            .run()?;
        let MergeTree { tree, paths, found } = MergeTree::parse(&answer);
        let tree = TreeId(tree);
        let commit = self.plan_commit(&CommitIntent {
            tree: &tree,
            parents: &[onto.clone(), commit.clone()],
            message: note.message,
            role: note.role,
            at: note.at,
        });
        Ok(if answer.code == 0 {
            MergePlan::Merge { commit, tree }
        } else {
            MergePlan::Conflict(Conflicts {
                paths,
                found,
                marked: commit,
            })
        })
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
