//! Goes through the files beneath a folder of the workspace, respecting `.gitignore`, in the order
//! of their paths. Never follows a link, never enters `.git`.

use super::jail::Jail;
use ignore::{DirEntry, Walk, WalkBuilder};
use std::path::Path;

/// How deep to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only what lies in the folder itself.
    Here,
    /// Everything beneath.
    All,
}

/// The entries beneath `below`, a path relative to the root and without links. The folder itself is
/// not among them; what cannot be read is left out.
pub(crate) fn entries(
    jail: &Jail,
    below: &Path,
    depth: Depth,
) -> impl Iterator<Item = DirEntry> + use<> {
    walk(jail, below, depth)
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() > 0)
}

fn walk(jail: &Jail, below: &Path, depth: Depth) -> Walk {
    let is_repository = jail.root().join(".git").exists();
    WalkBuilder::new(jail.root().join(below))
        .hidden(false)
        .follow_links(false)
        .git_global(false)
        // In a repository the ignore files above the folder count, up to the repository's top.
        // Elsewhere they would be followed to the root of the file system.
        .require_git(is_repository)
        .parents(is_repository)
        .max_depth(match depth {
            Depth::Here => Some(1),
            Depth::All => None,
        })
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_path(Ord::cmp)
        .build()
}

/// The path of an entry relative to the root.
pub(crate) fn relative<'e>(jail: &Jail, entry: &'e DirEntry) -> &'e Path {
    let path = entry.path();
    path.strip_prefix(jail.root()).unwrap_or(path)
}
