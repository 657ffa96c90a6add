//! The files that belong to the project: those git tracks or would track. Never follows what
//! `.gitignore` leaves out, never changes a file.

use crate::source::{Kind, Source};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The source tree, read once for all rules.
pub static TREE: LazyLock<Tree> = LazyLock::new(Tree::read);

/// The project's files and the facts of its Rust sources.
#[derive(Debug)]
pub struct Tree {
    /// Absolute path of the root.
    pub root: PathBuf,
    /// Every file of the project, relative to the root, with `/`.
    pub files: Vec<String>,
    /// Every Rust file.
    pub sources: Vec<Source>,
}

impl Tree {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .expect("this crate lies two folders below the root")
            .to_owned();
        let files = files_of(&root);
        let mut sources: Vec<Source> = files
            .iter()
            .filter(|path| is_rust(path))
            .map(|path| read_source(&root, path))
            .collect();
        let tests: BTreeSet<String> = sources.iter().flat_map(Source::test_files).collect();
        for source in &mut sources {
            if tests.contains(&source.path) {
                source.kind = Kind::Test;
            }
        }
        Self {
            root,
            files,
            sources,
        }
    }

    /// Text files with their text. Files that are not UTF-8 are left out.
    pub fn texts(&self) -> impl Iterator<Item = (&str, String)> {
        self.files.iter().filter_map(|path| {
            let text = std::fs::read_to_string(self.root.join(path)).ok()?;
            Some((path.as_str(), text))
        })
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ext| ext == "rs")
}

fn read_source(root: &Path, path: &str) -> Source {
    let text = std::fs::read_to_string(root.join(path))
        .unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
    Source::parse(path, &text).unwrap_or_else(|error| panic!("{path} is not Rust: {error}"))
}

/// Tracked files and new ones that are not ignored, so that a rule bites before the commit.
fn files_of(root: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard", "--deduplicate"])
        .current_dir(root)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .expect("git can be started");
    assert!(
        listed.status.success(),
        "git ls-files failed in {}: {}",
        root.display(),
        String::from_utf8_lossy(&listed.stderr)
    );
    let names = String::from_utf8(listed.stdout).expect("names of the project's files are UTF-8");
    names
        .split_terminator('\0')
        .filter(|name| root.join(name).is_file())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::TREE;
    use crate::source::Kind;

    #[test]
    fn the_tree_holds_this_file_and_no_built_ones() {
        assert!(TREE.files.iter().any(|f| f == "tests/tidy/src/tree.rs"));
        assert!(TREE.files.iter().all(|f| !f.starts_with("target/")));
    }

    #[test]
    fn crates_below_tests_are_tests_and_the_others_are_not() {
        let kind_of = |path: &str| TREE.sources.iter().find(|s| s.path == path).map(|s| s.kind);
        assert_eq!(kind_of("tests/tidy/src/tree.rs"), Some(Kind::Test));
        assert_eq!(
            kind_of("engine/engine-core/src/lib.rs"),
            Some(Kind::Product)
        );
    }
}
