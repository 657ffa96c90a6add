//! Checkouts that all readers of a tree share. One is looked at before it is handed out, because a
//! person may have worked in it; a look costs a git process, so it counts for a moment. Never hands
//! out a folder that nobody has looked at.

use crate::error::WorkspaceError;
use crate::folders;
use crate::patience::Patience;
use crate::workspace::{Workspace, Workspaces, candidates};
use fleet_core::ids::{CommitId, TreeId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a look at a checkout counts: far less than a reader works in it unwatched.
const LOOK_COUNTS: Duration = Duration::from_secs(2);

/// The checkouts that were looked at lately. Held while one is looked for or made.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<Looks>);

/// Found as they should be, and how long that counts.
#[derive(Debug, Default)]
struct Looks(BTreeMap<TreeId, (Workspace, Patience)>);

impl Looks {
    /// The checkout of a tree, if it is there and was looked at lately.
    fn of(&self, tree: &TreeId) -> Option<&Workspace> {
        let (workspace, counts) = self.0.get(tree)?;
        let good = !counts.is_over() && workspace.path().is_dir();
        good.then_some(workspace)
    }

    fn note(&mut self, tree: TreeId, workspace: &Workspace, counts: Patience) {
        self.0.insert(tree, (workspace.clone(), counts));
    }
}

impl Shared {
    fn looks(&self) -> MutexGuard<'_, Looks> {
        // Each note is whole, whatever its last user died of.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspaces {
    /// A detached worktree of the tree of a commit, shared by all readers of the same tree.
    ///
    /// # Errors
    /// When it cannot be made; then nothing of it is left behind.
    pub fn read_only(&self, commit: &CommitId) -> Result<Workspace, WorkspaceError> {
        let tree = self.inner.repo.tree_of(commit)?;
        let mut looks = self.inner.shared.looks();
        if let Some(workspace) = looks.of(&tree) {
            return Ok(workspace.clone());
        }
        self.make_folders()?;
        // No task id begins with `_`.
        let stem = format!("_tree.{}", &tree.as_str()[..12]);
        for name in candidates(&stem) {
            let workspace = match self.remembered(&name)? {
                Some(made) => self.take_up(&made)?,
                None if !folders::is_taken(&self.inner.folder.join(&name)) => {
                    Some(self.create(&name, None, commit)?)
                }
                None => None,
            };
            if let Some(workspace) = workspace {
                looks.note(tree, &workspace, Patience::of(LOOK_COUNTS));
                return Ok(workspace);
            }
        }
        Err(WorkspaceError::NoFreeName(stem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_look_counts_for_a_while_and_for_its_tree_and_folder_only() {
        let folder = tempfile::tempdir().unwrap();
        let check = |path: &Path, counts: Duration, asked: &str, expected: bool| {
            let workspace = Workspace {
                path: path.to_owned(),
                name: "_tree.a".to_owned(),
                branch: None,
                base: CommitId("c".to_owned()),
                admin: folder.path().to_owned(),
                common: folder.path().to_owned(),
                snapshot_ref: String::new(),
                missing_submodules: Vec::new(),
            };
            let mut looks = Looks::default();
            looks.note(TreeId("a".to_owned()), &workspace, Patience::of(counts));
            let found = looks.of(&TreeId(asked.to_owned()));
            assert_eq!(found.is_some(), expected, "{path:?} {counts:?} {asked}");
        };
        let long = Duration::from_secs(3_600);
        check(folder.path(), long, "a", true);
        check(folder.path(), long, "b", false);
        check(folder.path(), Duration::ZERO, "a", false);
        check(&folder.path().join("gone"), long, "a", false);
    }
}
