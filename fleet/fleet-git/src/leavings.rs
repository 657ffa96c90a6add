//! The refs that a run leaves behind: snapshots, and branches of its attempts. Tells for each what would
//! be lost with it, before anything is taken away. Never touches an integration branch.

use crate::command::Purpose;
use crate::refs::full_name;
use crate::repo::{Repo, RepoError, find_commit};
use fleet_core::ids::{BranchName, CommitId, RunId, TreeId};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Most commits whose trees are compared with snapshots.
const COMMITS_MAX: usize = 10_000;

/// A ref of a run that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// Its full name.
    pub name: String,
    /// The commit it points to.
    pub tip: CommitId,
    /// What would be lost with it.
    pub worth: Worth,
}

/// What would be lost with a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Worth {
    /// Nothing: what it holds is on a branch that stays.
    Nothing,
    /// Work that nothing else holds.
    Work,
    /// A checkout stands on it.
    CheckedOut(PathBuf),
}

impl std::fmt::Display for Worth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing is lost"),
            Self::Work => f.write_str("its work is on no other branch"),
            Self::CheckedOut(at) => write!(f, "checked out at {}", at.display()),
        }
    }
}

impl Repo {
    /// What a run has left: its snapshots, and those of these branches of attempts that there are.
    ///
    /// # Errors
    /// When the repository cannot be read.
    pub fn leavings(
        &self,
        run: &RunId,
        branches: &[BranchName],
    ) -> Result<Vec<Leaving>, RepoError> {
        let mut found = Vec::new();
        let leaving: BTreeSet<String> = branches.iter().map(full_name).collect();
        for branch in branches {
            let name = full_name(branch);
            let Some(tip) = self.branch_tip(branch)? else {
                continue;
            };
            let worth = match self.checked_out_at(branch) {
                Some(at) => Worth::CheckedOut(at),
                None if self.stays(&tip, &leaving)? => Worth::Nothing,
                None => Worth::Work,
            };
            found.push(Leaving { name, tip, worth });
        }
        found.extend(self.snapshots_of(run, &leaving)?);
        Ok(found)
    }

    /// Takes refs away that still point to where they did, all or none of them.
    ///
    /// # Errors
    /// When git cannot, or one was moved meanwhile.
    pub fn drop_leavings(&self, leavings: &[&Leaving]) -> Result<(), RepoError> {
        if leavings.is_empty() {
            return Ok(());
        }
        let mut orders = Vec::new();
        for Leaving { name, tip, .. } in leavings {
            orders.extend_from_slice(format!("delete {name}\0{tip}\0").as_bytes());
        }
        self.call(Purpose::Write, ["update-ref", "-z", "--stdin"])
            .input(orders)
            .run()?;
        Ok(())
    }

    fn snapshots_of(
        &self,
        run: &RunId,
        leaving: &BTreeSet<String>,
    ) -> Result<Vec<Leaving>, RepoError> {
        let repository = self.open()?;
        let mut found = Vec::new();
        for reference in repository.references_glob(&format!("refs/codewhale/{run}/*"))? {
            let reference = reference?;
            let (Ok(name), Some(tip)) = (reference.name(), reference.target()) else {
                continue;
            };
            found.push((name.to_owned(), CommitId(tip.to_string())));
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let trees = self.trees_that_stay(leaving)?;
        let judged = found.into_iter().map(|(name, tip)| {
            let worth = if trees.contains(&self.tree_of(&tip)?) {
                Worth::Nothing
            } else {
                Worth::Work
            };
            Ok(Leaving { name, tip, worth })
        });
        judged.collect()
    }

    /// Whether a commit is on a branch or tag that stays, or below the person's HEAD.
    fn stays(&self, commit: &CommitId, leaving: &BTreeSet<String>) -> Result<bool, RepoError> {
        if self.is_below_head(commit)? {
            return Ok(true);
        }
        let args = [
            "for-each-ref",
            "--format=%(refname)",
            "--contains",
            commit.as_str(),
        ];
        let holders = self.call(Purpose::Read, args).run()?.text();
        Ok(holders.lines().any(|name| stays(name, leaving)))
    }

    /// The trees of the newest commits that stay: a snapshot that equals one of them is landed work.
    fn trees_that_stay(&self, leaving: &BTreeSet<String>) -> Result<BTreeSet<TreeId>, RepoError> {
        let repository = self.open()?;
        let mut walk = repository.revwalk()?;
        for reference in repository.references()? {
            let reference = reference?;
            let is_kept = reference.name().is_ok_and(|name| stays(name, leaving));
            // A tag may name something else than a commit.
            if is_kept && let Ok(commit) = reference.peel_to_commit() {
                walk.push(commit.id())?;
            }
        }
        let head = find_commit(&repository, &self.head()?)?;
        walk.push(head.id())?;
        let mut trees = BTreeSet::new();
        for id in walk.take(COMMITS_MAX) {
            let tree = repository.find_commit(id?)?.tree_id();
            trees.insert(TreeId(tree.to_string()));
        }
        Ok(trees)
    }
}

/// Whether a ref keeps what it holds for good.
fn stays(name: &str, leaving: &BTreeSet<String>) -> bool {
    !name.starts_with("refs/codewhale/") && !leaving.contains(name)
}
