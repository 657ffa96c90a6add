//! The private folder of a sandbox: its HOME and its TMPDIR. Removed when it is dropped, and by the
//! next process of the same user when its own was killed. Never touches a folder that is in use.

use crate::process::ProcessId;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Beginning of the name of each folder; the pid of its maker follows.
const PREFIX: &str = "codewhale-";

/// A file inside, locked as long as the process that made the folder lives.
const LEASE: &str = "lease";

/// A folder that only this user can enter, with a home and a temporary folder for commands.
/// Dropping it removes it with everything inside; do that off the async threads when it may be large.
#[derive(Debug)]
pub struct Scratch {
    folder: tempfile::TempDir,
    home: PathBuf,
    temporary: PathBuf,
    _lease: File,
}

impl Scratch {
    /// Makes one inside `parent`, which is usually the system's temporary folder.
    ///
    /// # Errors
    /// When the folders cannot be made.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let root = folder.path().canonicalize()?;
        let (home, temporary) = (root.join("home"), root.join("tmp"));
        fs::create_dir(&home)?;
        fs::create_dir(&temporary)?;
        Ok(Self {
            folder,
            home,
            temporary,
            _lease: lease(&root)?,
        })
    }

    /// Removes the folders inside `parent` whose process was killed. What cannot be removed stays for
    /// the next time. Blocks.
    pub fn remove_abandoned(parent: &Path) {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        for folder in entries.map(|entry| entry.path()) {
            if maker_of(&folder).is_some_and(|maker| is_abandoned(&folder, maker)) {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// The whole folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// HOME of commands.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// TMPDIR of commands.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }
}

/// Makes the lease. It is locked before it has the name under which others look for it.
fn lease(folder: &Path) -> io::Result<File> {
    let fresh = folder.join("lease.new");
    let lease = File::create(&fresh)?;
    lease.try_lock()?;
    fs::rename(fresh, folder.join(LEASE))?;
    Ok(lease)
}

/// The pid in the name of a folder of this kind.
fn maker_of(folder: &Path) -> Option<i32> {
    let rest = folder.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    rest.split_once('-')?.0.parse().ok()
}

/// True for a folder of this user with a lease that nobody holds. One without a lease is being made or
/// removed by its maker, unless that one is dead.
fn is_abandoned(folder: &Path, maker: i32) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let ours = |meta: fs::Metadata| meta.is_dir() && meta.uid() == user;
    fs::symlink_metadata(folder).is_ok_and(ours)
        && match File::open(folder.join(LEASE)) {
            Ok(lease) => lease.try_lock().is_ok(),
            Err(error) => error.kind() == ErrorKind::NotFound && ProcessId::of(maker).is_none(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter_and_nothing_stays() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path()).unwrap();
        let mode = fs::metadata(scratch.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        assert!(scratch.home().is_dir() && scratch.temporary().is_dir());
        drop(scratch);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let used = Scratch::new_in(parent.path()).unwrap();
        let check = |name: &str, leased: bool, stays: bool| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join("home")).unwrap();
            if leased {
                fs::write(folder.join(LEASE), "").unwrap();
            }
            Scratch::remove_abandoned(parent.path());
            assert_eq!(folder.exists(), stays, "{name}");
        };
        let own = std::process::id();
        check(&format!("codewhale-{own}-abc"), true, false);
        check(&format!("codewhale-{own}-half-made"), false, true);
        check("codewhale-4194305-half-made", false, false);
        check("codewhale-4194305-abc", true, false);
        check("codewhale-sample", true, true);
        check("other-4194305-abc", true, true);
        assert!(used.home().exists() && used.temporary().exists());
        let gone = parent.path().join("gone");
        Scratch::remove_abandoned(&gone);
        assert!(!gone.exists());
    }
}
