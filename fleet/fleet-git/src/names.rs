//! Finding a branch name that nobody uses. Never takes, moves or removes an existing one.

use crate::repo::{Repo, RepoError};
use fleet_core::ids::BranchName;
use std::collections::BTreeSet;

/// Beginning of the full name of every branch.
const HEADS: &str = "refs/heads/";

/// A branch made of these parts that can be created now; a part that is in the way of nobody stays
/// as it is, any other gets a number.
pub(crate) fn free_branch(
    repository: &git2::Repository,
    parts: &[&str],
) -> Result<BranchName, RepoError> {
    let mut taken = BTreeSet::new();
    for name in repository.references()?.names() {
        // A name that is not UTF-8 cannot stand in the way of one that is.
        if let Some(branch) = name.ok().and_then(|name| name.strip_prefix(HEADS)) {
            taken.insert(branch.to_owned());
        }
    }
    Ok(BranchName(free(&taken, parts)))
}

impl Repo {
    /// The name of a branch made of these parts that nothing is in the way of now: git cannot hold
    /// both `a` and `a/b`. A part that is in somebody's way gets a number. Makes nothing.
    ///
    /// # Errors
    /// When the branches cannot be read.
    pub fn free_branch(&self, parts: &[&str]) -> Result<BranchName, RepoError> {
        free_branch(&self.open()?, parts)
    }
}

/// Git keeps branches like files: `a` and `a/b` cannot both exist.
fn free(taken: &BTreeSet<String>, parts: &[&str]) -> String {
    let mut name = String::new();
    for (depth, part) in parts.iter().enumerate() {
        let is_last = depth + 1 == parts.len();
        let stem = if depth == 0 {
            (*part).to_owned()
        } else {
            format!("{name}/{part}")
        };
        name = stem.clone();
        let mut number = 1;
        while taken.contains(&name) || (is_last && has_below(taken, &name)) {
            number += 1;
            name = format!("{stem}-{number}");
        }
    }
    name
}

fn has_below(taken: &BTreeSet<String>, name: &str) -> bool {
    let folder = format!("{name}/");
    taken
        .range(folder.clone()..)
        .next()
        .is_some_and(|found| found.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::free;

    #[test]
    fn a_name_in_the_way_is_numbered_at_its_own_depth() {
        let check = |taken: &[&str], wanted: &str| {
            let taken = taken.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(free(&taken, &["codewhale", "r", "t", "one", "1"]), wanted);
        };
        check(&[], "codewhale/r/t/one/1");
        check(&["main", "codewhale/r/t/one/10"], "codewhale/r/t/one/1");
        check(&["codewhale/r/t/one/1"], "codewhale/r/t/one/1-2");
        check(
            &["codewhale/r/t/one/1", "codewhale/r/t/one/1-2/x"],
            "codewhale/r/t/one/1-3",
        );
        check(&["codewhale"], "codewhale-2/r/t/one/1");
        check(&["codewhale", "codewhale-2/r"], "codewhale-2/r-2/t/one/1");
        check(&["codewhale/r/t/one"], "codewhale/r/t/one-2/1");
    }
}
