//! A checkout that stands on a branch of the person's: whether work can be merged in it, and how it is put
//! back when git refuses half-way. Never touches a file of it by itself.

use crate::command::Purpose;
use crate::homeward::HomewardError;
use crate::refs::full_name;
use crate::repo::{Repo, RepoError};
use fleet_core::ids::{BranchName, CommitId};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What git leaves in its folder while something is half done.
const HALF_DONE: [(&str, &str); 7] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("sequencer", "a cherry-pick or revert of several commits"),
    ("index.lock", "another git command"),
];

/// Files that a merge writes and a refused one may leave.
const LEFT: [&str; 5] = [
    "ORIG_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "AUTO_MERGE",
];

/// A checkout.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Its folder inside the git folder; the git folder itself for the main one.
    pub(crate) git_dir: PathBuf,
    pub(crate) checkout: PathBuf,
}

/// What a merge asks of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    /// Other things may be staged.
    Any,
    /// Nothing may be staged: git makes a merge commit of HEAD's index only.
    OfHead,
}

/// Files of git's as they were.
pub(crate) type Kept = Vec<(&'static str, Option<Vec<u8>>)>;

/// The checkout that stands on a branch.
///
/// # Errors
/// [`HomewardError::Busy`] when a rebase or a search of another checkout holds the branch, or two
/// checkouts stand on it.
pub(crate) fn on(repo: &Repo, branch: &BranchName) -> Result<Option<Standing>, HomewardError> {
    let common = repo.git_common_dir();
    let main = repo.open()?.workdir().map(Path::to_owned);
    let mut all: Vec<(PathBuf, Option<PathBuf>)> = vec![(common.to_owned(), main)];
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten() {
        let Ok(entry) = entry else { continue };
        // Absolute, or relative to the folder that it stands in.
        let checkout = read(&entry.path().join("gitdir")).and_then(|file| {
            let file = entry.path().join(OsStr::from_bytes(&file));
            file.parent().map(Path::to_owned)
        });
        all.push((entry.path(), checkout));
    }
    let name = full_name(branch);
    let mut found: Option<Standing> = None;
    for (git_dir, checkout) in all {
        let holds = |file: &str, text: &str| {
            read(&git_dir.join(file)).is_some_and(|content| content == text.as_bytes())
        };
        let busy = |what| HomewardError::Busy {
            at: checkout.clone().unwrap_or_else(|| git_dir.clone()),
            what,
        };
        if ["rebase-merge/head-name", "rebase-apply/head-name"]
            .iter()
            .any(|file| holds(file, &name))
        {
            return Err(busy("a rebase of the branch"));
        }
        if holds("BISECT_START", branch.as_str()) {
            return Err(busy("a bisect that began on the branch"));
        }
        if !holds("HEAD", &format!("ref: {name}")) {
            continue;
        }
        if found.is_some() {
            return Err(busy("a second checkout of the branch"));
        }
        match &checkout {
            Some(checkout) if checkout.is_dir() => {
                found = Some(Standing {
                    git_dir: git_dir.clone(),
                    checkout: checkout.clone(),
                });
            }
            // It may lie on a disk that comes back: its files would look changed then.
            Some(_) => return Err(busy("a checkout that is not there now")),
            // The HEAD of a bare repository: there are no files to keep in step.
            None => {}
        }
    }
    Ok(found)
}

/// Every path that differs between two trees.
///
/// # Errors
/// When they cannot be compared.
pub(crate) fn touched(
    repository: &git2::Repository,
    old: &git2::Tree<'_>,
    new: &git2::Tree<'_>,
) -> Result<BTreeSet<PathBuf>, RepoError> {
    let diff = repository.diff_tree_to_tree(Some(old), Some(new), None)?;
    let files = diff.deltas().flat_map(|delta| {
        let path = |bytes: Option<&[u8]>| bytes.map(|b| PathBuf::from(OsStr::from_bytes(b)));
        [
            path(delta.old_file().path_bytes()),
            path(delta.new_file().path_bytes()),
        ]
    });
    Ok(files.flatten().collect())
}

impl Standing {
    /// # Errors
    /// [`HomewardError::Busy`] when something is half done in it.
    pub(crate) fn is_free(&self) -> Result<(), HomewardError> {
        let half = HALF_DONE
            .iter()
            .find(|(file, _)| self.git_dir.join(file).symlink_metadata().is_ok());
        match half {
            Some((_, what)) => Err(HomewardError::Busy {
                at: self.checkout.clone(),
                what,
            }),
            None => Ok(()),
        }
    }

    /// # Errors
    /// [`HomewardError::InTheWay`] when what the person changed, staged or not, is among what is touched;
    /// where the index must be that of HEAD, anything that is staged at all.
    pub(crate) fn has_room(
        &self,
        repo: &Repo,
        touched: &BTreeSet<PathBuf>,
        index: Index,
    ) -> Result<(), HomewardError> {
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=no",
        ];
        let call = repo.call(Purpose::Read, args).git_dir(&self.git_dir);
        let answer = call.work_tree(&self.checkout).run()?;
        let mut paths = Vec::new();
        for field in answer.fields() {
            // 1 XY sub mH mI mW hH hI path; u XY sub m1 m2 m3 mW h1 h2 h3 path
            let words = match field[0] {
                b'1' => 8,
                b'u' => 10,
                _ => continue,
            };
            let Some(path) = field.splitn(words + 1, |byte| *byte == b' ').nth(words) else {
                continue;
            };
            let path = PathBuf::from(OsStr::from_bytes(path));
            let is_staged = field.get(2).is_some_and(|state| *state != b'.');
            let unmerged = field[0] == b'u';
            if touched.contains(&path) || unmerged || (is_staged && index == Index::OfHead) {
                paths.push(path);
            }
        }
        self.in_the_way(paths)
    }

    /// # Errors
    /// [`HomewardError::InTheWay`] when a file that git does not know, ignored ones too, lies where one
    /// would be written.
    pub(crate) fn holds_nothing_else(
        &self,
        old: &git2::Tree<'_>,
        touched: &BTreeSet<PathBuf>,
    ) -> Result<(), HomewardError> {
        let is_known = |path: &Path| old.get_path(path).is_ok();
        let mut paths = BTreeSet::new();
        for path in touched.iter().filter(|path| !is_known(path)) {
            if self.lies_at(path)?.is_some() {
                paths.insert(path.clone());
            }
            let above = path.ancestors().skip(1);
            for folder in above.filter(|above| !above.as_os_str().is_empty()) {
                if self.lies_at(folder)? == Some(Lies::Thing) && !is_known(folder) {
                    paths.insert(folder.to_owned());
                }
            }
        }
        self.in_the_way(paths.into_iter().collect())
    }

    fn lies_at(&self, path: &Path) -> Result<Option<Lies>, HomewardError> {
        match self.checkout.join(path).symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(Some(Lies::Folder)),
            Ok(_) => Ok(Some(Lies::Thing)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            // What cannot be looked at may be somebody's.
            Err(_) => Ok(Some(Lies::Thing)),
        }
    }

    fn in_the_way(&self, paths: Vec<PathBuf>) -> Result<(), HomewardError> {
        if paths.is_empty() {
            return Ok(());
        }
        Err(HomewardError::InTheWay {
            at: self.checkout.clone(),
            paths,
        })
    }

    /// What git has in its folder that a merge writes over.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn keep(&self) -> Result<Kept, RepoError> {
        let mut kept = Vec::new();
        for name in LEFT {
            let content = match fs::read(self.git_dir.join(name)) {
                Ok(content) => Some(content),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(source) => return Err(self.unreadable(name, source)),
            };
            kept.push((name, content));
        }
        Ok(kept)
    }

    /// Ends a merge of `head` that git began and refused to finish, and puts back what [`Self::keep`] kept.
    ///
    /// # Errors
    /// When git does not end it, or a file cannot be written.
    pub(crate) fn put_back(
        &self,
        repo: &Repo,
        head: &CommitId,
        kept: Kept,
    ) -> Result<(), RepoError> {
        let begun = read(&self.git_dir.join("MERGE_HEAD"));
        if begun.is_some_and(|merged| merged == head.as_str().as_bytes()) {
            let call = repo.persons_call(["merge", "--abort"]);
            call.folder(&self.checkout).run()?;
        }
        for (name, content) in kept {
            let file = self.git_dir.join(name);
            let done = match content {
                Some(content) => fs::write(&file, content),
                None => match fs::remove_file(&file) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                    done => done,
                },
            };
            done.map_err(|source| self.unreadable(name, source))?;
        }
        Ok(())
    }

    fn unreadable(&self, name: &str, source: std::io::Error) -> RepoError {
        RepoError::Io {
            path: self.git_dir.join(name),
            source,
        }
    }
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lies {
    Folder,
    Thing,
}

/// A short file without its line end.
fn read(file: &Path) -> Option<Vec<u8>> {
    let mut content = fs::read(file).ok()?;
    while content.last().is_some_and(u8::is_ascii_whitespace) {
        content.pop();
    }
    Some(content)
}
