//! What the fleet remembers about each worktree it made, in the run's own folder, where no agent can
//! write. It is written before the worktree is, so that whatever a crash leaves can be told from
//! what belongs to somebody else. Never the truth about work: that is git's.

use fleet_core::ids::{BranchName, CommitId};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How far the making came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nobody has worked in it; it may be taken away.
    Preparing,
    /// It was handed out.
    Ready,
}

/// One worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) stage: Stage,
    /// Name of its folder, unique in the run.
    pub(crate) name: String,
    /// The worktree itself; absolute.
    pub(crate) path: PathBuf,
    /// `None`: detached.
    pub(crate) branch: Option<BranchName>,
    /// The commit it was first made at.
    pub(crate) base: CommitId,
    /// Name of its folder under `worktrees` of the git folder; empty until git has told.
    pub(crate) admin: String,
}

impl Made {
    /// What is known about the worktree of this name; `None` also when the file is no longer whole.
    pub(crate) fn read(state: &Path, name: &str) -> io::Result<Option<Self>> {
        let bytes = match fs::read(file(state, name)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut fields = bytes.split(|byte| *byte == 0);
        let mut text = || {
            fields
                .next()
                .and_then(|field| std::str::from_utf8(field).ok())
        };
        let (Some(stage), Some(branch), Some(base), Some(admin)) = (text(), text(), text(), text())
        else {
            return Ok(None);
        };
        let Some(path) = fields.next().filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        Ok(Some(Self {
            stage: if stage == "ready" {
                Stage::Ready
            } else {
                Stage::Preparing
            },
            name: name.to_owned(),
            path: PathBuf::from(OsStr::from_bytes(path)),
            branch: (!branch.is_empty()).then(|| BranchName(branch.to_owned())),
            base: CommitId(base.to_owned()),
            admin: admin.to_owned(),
        }))
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, state: &Path) -> io::Result<()> {
        let stage = match self.stage {
            Stage::Preparing => "preparing",
            Stage::Ready => "ready",
        };
        let branch = self.branch.as_ref().map_or("", BranchName::as_str);
        let mut bytes = format!("{stage}\0{branch}\0{}\0{}\0", self.base, self.admin).into_bytes();
        bytes.extend_from_slice(self.path.as_os_str().as_bytes());
        bytes.push(0);
        let file = file(state, &self.name);
        let draft = file.with_extension("draft");
        fs::create_dir_all(folder(state, &self.name))?;
        fs::write(&draft, bytes)?;
        fs::rename(&draft, &file)
    }

    /// Forgets it and its indexes.
    pub(crate) fn forget(state: &Path, name: &str) -> io::Result<()> {
        match fs::remove_dir_all(folder(state, name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// Where the private files of a worktree are.
pub(crate) fn folder(state: &Path, name: &str) -> PathBuf {
    state.join(name)
}

/// Where it is written what is remembered.
pub(crate) fn file(state: &Path, name: &str) -> PathBuf {
    folder(state, name).join("made")
}

#[cfg(test)]
mod tests {
    use super::{Made, Stage};
    use fleet_core::ids::{BranchName, CommitId};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_is_written_is_read_and_half_of_it_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut made = Made {
            stage: Stage::Preparing,
            name: "one.1".into(),
            path: OsStr::from_bytes(b"/w/new\nline\xff").into(),
            branch: Some(BranchName("b/1".into())),
            base: CommitId("ab".into()),
            admin: String::new(),
        };
        let read = || Made::read(dir.path(), "one.1").unwrap();
        assert_eq!(read(), None);
        made.write(dir.path()).unwrap();
        assert_eq!(read().as_ref(), Some(&made));
        made.stage = Stage::Ready;
        made.branch = None;
        made.admin = "one.11".into();
        made.write(dir.path()).unwrap();
        assert_eq!(read().as_ref(), Some(&made));

        let whole = std::fs::read(dir.path().join("one.1/made")).unwrap();
        for cut in 0..whole.len() - made.path.as_os_str().len() - 1 {
            std::fs::write(dir.path().join("one.1/made"), &whole[..cut]).unwrap();
            assert_eq!(read(), None, "cut at {cut}");
        }
        Made::forget(dir.path(), "one.1").unwrap();
        Made::forget(dir.path(), "one.1").unwrap();
        assert_eq!(read(), None);
    }
}
