//! What does not merge: each conflict by its kind, what both sides did, and the marks that git leaves in
//! files. Reads objects only; never touches a folder and never solves anything.

use crate::command::Answer;
use crate::commit::CommitPlan;
use crate::repo::{Repo, RepoError, find_commit};
use fleet_core::ids::{CommitId, TreeId};
use git2::{ObjectType, Oid, Sort};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Shortest run of one character that git takes for a mark.
const MARK_MIN: usize = 7;
/// Lines shown around a marked place.
const AROUND: usize = 3;
/// Larger files are not searched for marks.
const SEARCHED_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Two commits that do not merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts {
    /// Where, relative to the repository, each path once.
    pub paths: Vec<PathBuf>,
    /// What, in git's order.
    pub found: Vec<Conflict>,
    /// A commit on both sides of the merge as far as git could make it: files that both changed hold
    /// both, between marks that name the commits. It is not written yet, its tree is.
    pub marked: CommitPlan,
}

/// One conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Git's stable short name of it: `contents`, `modify/delete`, `rename/rename`, `binary` …
    pub kind: String,
    /// The paths it is about.
    pub paths: Vec<PathBuf>,
    /// What git says of it.
    pub message: String,
}

/// A commit in a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortCommit {
    /// Its id.
    pub id: CommitId,
    /// The first line of its message.
    pub title: String,
}

/// What `git merge-tree --write-tree -z` says of a merge in conflict.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MergeTree {
    pub(crate) tree: String,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) found: Vec<Conflict>,
}

impl MergeTree {
    /// Takes the answer apart: the tree, one field for each stage of a path, an empty field, and then for
    /// each message the number of its paths, the paths, its kind and its text.
    pub(crate) fn parse(answer: &Answer) -> Self {
        let mut fields = answer.stdout.split(|byte| *byte == 0);
        let text = |field: Option<&[u8]>| {
            String::from_utf8_lossy(field.unwrap_or_default())
                .trim_end()
                .to_owned()
        };
        let mut merged = Self {
            tree: text(fields.next()),
            ..Self::default()
        };
        for staged in fields.by_ref().take_while(|field| !field.is_empty()) {
            let Some(tab) = staged.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            let path = path(&staged[tab + 1..]);
            if !merged.paths.contains(&path) {
                merged.paths.push(path);
            }
        }
        while let Some(count) = fields.next().and_then(number) {
            let paths = fields.by_ref().take(count).map(path).collect();
            let (kind, message) = (text(fields.next()), text(fields.next()));
            let named = kind
                .strip_prefix("CONFLICT (")
                .and_then(|kind| kind.strip_suffix(')'));
            if let Some(kind) = named {
                merged.found.push(Conflict {
                    kind: kind.to_owned(),
                    paths,
                    message,
                });
            }
        }
        merged
    }
}

fn number(field: &[u8]) -> Option<usize> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

impl Repo {
    /// Commits of `of` that are not in `without`, the newest first, at most `max`.
    ///
    /// # Errors
    /// When a commit is missing.
    pub fn commits_beyond(
        &self,
        without: &CommitId,
        of: &CommitId,
        max: usize,
    ) -> Result<Vec<ShortCommit>, RepoError> {
        let repository = self.open()?;
        let mut walk = repository.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push(find_commit(&repository, of)?.id())?;
        walk.hide(find_commit(&repository, without)?.id())?;
        let mut commits = Vec::new();
        for id in walk.take(max) {
            let id = id?;
            let commit = repository.find_commit(id)?;
            let title = commit.message_bytes().split(|byte| *byte == b'\n').next();
            commits.push(ShortCommit {
                id: CommitId(id.to_string()),
                title: String::from_utf8_lossy(title.unwrap_or_default()).into_owned(),
            });
        }
        Ok(commits)
    }

    /// The marked places of a file in a commit, with some lines around and where they stand; `None` for a
    /// file without marks.
    ///
    /// # Errors
    /// When the commit is missing.
    pub fn marked_text(
        &self,
        commit: &CommitId,
        path: &Path,
        sides: &[&CommitId],
    ) -> Result<Option<String>, RepoError> {
        let repository = self.open()?;
        let tree = find_commit(&repository, commit)?.tree()?;
        let Ok(entry) = tree.get_path(path) else {
            return Ok(None);
        };
        if entry.kind() != Some(ObjectType::Blob) {
            return Ok(None);
        }
        let blob = repository.find_blob(entry.id())?;
        Ok(marked_places(blob.content(), sides))
    }

    /// The files that a tree has otherwise than a commit and in which marks naming one of the sides are
    /// left.
    ///
    /// # Errors
    /// When the commit or the tree is missing.
    pub fn marks_left(
        &self,
        base: &CommitId,
        tree: &TreeId,
        sides: &[&CommitId],
    ) -> Result<Vec<PathBuf>, RepoError> {
        let repository = self.open()?;
        let old = find_commit(&repository, base)?.tree()?;
        let new = repository.find_tree(Oid::from_str(tree.as_str())?)?;
        let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), None)?;
        let mut left = Vec::new();
        for delta in diff.deltas() {
            let file = delta.new_file();
            let Ok(blob) = repository.find_blob(file.id()) else {
                continue;
            };
            let content = blob.content();
            let marked = content.len() <= SEARCHED_MAX_BYTES
                && content
                    .split(|byte| *byte == b'\n')
                    .any(|line| mark(line, sides).is_some());
            if let (true, Some(path)) = (marked, file.path()) {
                left.push(path.to_owned());
            }
        }
        Ok(left)
    }
}

/// The character of a mark that names one of the sides.
fn mark(line: &[u8], sides: &[&CommitId]) -> Option<u8> {
    let first = *line.first()?;
    if !matches!(first, b'<' | b'>' | b'|') {
        return None;
    }
    let run = line.iter().take_while(|byte| **byte == first).count();
    let rest = line[run..].strip_prefix(b" ")?;
    let names = |side: &&CommitId| rest.starts_with(side.as_str().as_bytes());
    (run >= MARK_MIN && sides.iter().any(names)).then_some(first)
}

fn marked_places(content: &[u8], sides: &[&CommitId]) -> Option<String> {
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut open = None;
    for (at, line) in lines.iter().enumerate() {
        match mark(line, sides) {
            Some(b'<') => open = open.or(Some(at)),
            Some(b'>') => {
                let begin = open.take().unwrap_or(at).saturating_sub(AROUND);
                let end = (at + 1 + AROUND).min(lines.len());
                match places.last_mut() {
                    Some(last) if last.end >= begin => last.end = end,
                    _ => places.push(begin..end),
                }
            }
            _ => {}
        }
    }
    if places.is_empty() {
        return None;
    }
    let mut text = String::new();
    for place in places {
        text.push_str(&format!("from line {}:\n", place.start + 1));
        for line in &lines[place] {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{Conflict, MergeTree, mark, marked_places};
    use crate::command::Answer;
    use fleet_core::ids::CommitId;
    use std::path::PathBuf;

    #[test]
    fn the_answer_of_git_is_taken_apart() {
        let stdout = b"abc\x00100644 1 1\tf\x00100644 2 2\tf\x00100644 3 3\tdir/two\nlines\0\0\
            1\0f\0Auto-merging\0Auto-merging f\n\0\
            1\0f\0CONFLICT (contents)\0CONFLICT (content): Merge conflict in f\n\0\
            2\0a\0b\0CONFLICT (rename/rename)\0both\n\0"
            .to_vec();
        let conflict = |kind: &str, paths: &[&str], message: &str| Conflict {
            kind: kind.into(),
            paths: paths.iter().map(PathBuf::from).collect(),
            message: message.into(),
        };
        let wanted = MergeTree {
            tree: "abc".into(),
            paths: vec!["f".into(), "dir/two\nlines".into()],
            found: vec![
                conflict(
                    "contents",
                    &["f"],
                    "CONFLICT (content): Merge conflict in f",
                ),
                conflict("rename/rename", &["a", "b"], "both"),
            ],
        };
        assert_eq!(MergeTree::parse(&Answer { code: 1, stdout }), wanted);
    }

    #[test]
    fn only_marks_that_name_a_side_are_marks() {
        let (one, two) = (CommitId("11".into()), CommitId("22".into()));
        let check = |line: &str, wanted: Option<char>| {
            let found = mark(line.as_bytes(), &[&one, &two]).map(char::from);
            assert_eq!(found, wanted, "{line}");
        };
        check("<<<<<<< 11", Some('<'));
        check(">>>>>>>>> 22:old/name\r", Some('>'));
        check("||||||| 22", Some('|'));
        check("<<<<<< 11", None);
        check("<<<<<<< HEAD", None);
        check("<<<<<<<", None);
        check("=======", None);
        check(" <<<<<<< 11", None);
    }

    #[test]
    fn marked_places_come_with_the_lines_around_them() {
        let (one, two) = (CommitId("11".into()), CommitId("22".into()));
        let block = "<<<<<<< 11\nx\n=======\ny\n>>>>>>> 22\n";
        let text = format!("a\nb\nc\nd\n{block}e\nf\ng\nh\ni\nj\nk\nl\n{block}");
        let shown = marked_places(text.as_bytes(), &[&one, &two]).unwrap();
        let first = format!("from line 2:\nb\nc\nd\n{block}e\nf\ng\n");
        assert_eq!(shown, format!("{first}from line 15:\nj\nk\nl\n{block}\n"));
        assert_eq!(marked_places(b"a\n=======\n", &[&one]), None);
    }
}
