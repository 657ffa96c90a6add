//! How a folder differs from a commit. Never writes to the folder, and never to the index of the
//! person or of an agent.

use crate::command::{Answer, Purpose};
use crate::repo::{Repo, RepoError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Numbers of what the person has not committed in their checkout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Tracked files that differ, staged or not.
    pub changed: usize,
    /// Files that git does not know and does not ignore; a new folder counts once.
    pub untracked: usize,
    /// Files with an unsettled merge.
    pub unmerged: usize,
}

impl Dirty {
    /// Nothing at all.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for Dirty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_clean() {
            return f.write_str("nothing uncommitted");
        }
        let parts: Vec<String> = [
            (self.changed, "changed"),
            (self.untracked, "untracked"),
            (self.unmerged, "unmerged"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
        f.write_str(&parts.join(", "))
    }
}

impl Repo {
    /// What the person has not committed. The index of their checkout keeps its bytes.
    ///
    /// # Errors
    /// When git cannot compare.
    pub fn dirty(&self) -> Result<Dirty, RepoError> {
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
        ];
        let answer = self
            .call(Purpose::Read, args)
            .git_dir(self.own_git_dir())
            .work_tree(self.toplevel())
            .run()?;
        let mut dirty = Dirty::default();
        for field in answer.fields() {
            match field[0] {
                b'1' | b'2' => dirty.changed += 1,
                b'u' => dirty.unmerged += 1,
                b'?' => dirty.untracked += 1,
                _ => {}
            }
        }
        Ok(dirty)
    }
}

/// How the files of a folder differ from what an index holds.
#[derive(Debug, Default)]
pub(crate) struct FolderStatus {
    /// Changed, missing, untracked.
    pub(crate) differing: Vec<PathBuf>,
    /// Ignored by git; folders that are ignored as a whole once.
    pub(crate) ignored: Vec<PathBuf>,
}

/// Arguments of the call that [`FolderStatus::parse`] reads.
pub(crate) const FOLDER_STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--ignored=matching",
    "--ignore-submodules=none",
];

impl FolderStatus {
    /// Keeps what concerns folder against index; how the index differs from HEAD is not asked,
    /// because the HEAD seen by the call is the person's.
    pub(crate) fn parse(answer: &Answer) -> Self {
        let mut status = Self::default();
        for field in answer.fields() {
            match field[0] {
                b'?' => status.differing.push(path(&field[2..])),
                b'!' => status.ignored.push(path(&field[2..])),
                // 1 XY sub mH mI mW hH hI path
                b'1' if field.get(3) != Some(&b'.') => {
                    status.differing.extend(tail(field, 8).map(path));
                }
                // u XY sub m1 m2 m3 mW h1 h2 h3 path
                b'u' => status.differing.extend(tail(field, 10).map(path)),
                _ => {}
            }
        }
        status
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// What follows the first `words` words.
fn tail(field: &[u8], words: usize) -> Option<&[u8]> {
    field.splitn(words + 1, |byte| *byte == b' ').nth(words)
}

#[cfg(test)]
mod tests {
    use super::{Dirty, FolderStatus};
    use crate::command::Answer;

    #[test]
    fn only_what_concerns_the_folder_is_kept() {
        let stdout = b"1 M. N... 100644 100644 100644 1 2 staged only\0\
            1 .M N... 100644 100644 100644 1 1 two words\n\0\
            1 AD N... 100644 100644 000000 0 1 x b/y\0\
            u UU N... 1 2 3 4 a b c both\0? new -> x\0! target/\0"
            .to_vec();
        let status = FolderStatus::parse(&Answer { code: 0, stdout });
        insta::assert_debug_snapshot!(status, @r#"
        FolderStatus {
            differing: [
                "two words\n",
                "x b/y",
                "both",
                "new -> x",
            ],
            ignored: [
                "target/",
            ],
        }
        "#);
    }

    #[test]
    fn a_summary_says_only_what_there_is() {
        let check = |changed, untracked, unmerged, wanted: &str| {
            let dirty = Dirty {
                changed,
                untracked,
                unmerged,
            };
            assert_eq!(dirty.to_string(), wanted);
        };
        check(0, 0, 0, "nothing uncommitted");
        check(2, 0, 0, "2 changed");
        check(1, 3, 1, "1 changed, 3 untracked, 1 unmerged");
    }
}
