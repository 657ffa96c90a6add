//! The private folder of a sandbox: its HOME and its TMPDIR. Removed when it is dropped, and by the
//! next process of the same user when its own was killed. Never touches a folder that is in use.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Beginning of the name of each folder.
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
            .prefix(PREFIX)
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
        for entry in entries {
            let named = entry.file_name();
            let ours = named.as_encoded_bytes().starts_with(PREFIX.as_bytes());
            if ours && is_abandoned(&entry.path()) {
                let _ = fs::remove_dir_all(entry.path());
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

/// True for a folder of this user with a lease that nobody holds.
fn is_abandoned(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir() && meta.uid() == user)
        && File::open(folder.join(LEASE)).is_ok_and(|lease| lease.try_lock().is_ok())
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
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let (dead, unmarked, foreign) =
            (make("codewhale-dead"), make("codewhale-x"), make("other"));
        for folder in [&dead, &foreign] {
            fs::create_dir(folder.join("home")).unwrap();
            fs::write(folder.join(LEASE), "").unwrap();
        }
        Scratch::remove_abandoned(parent.path());
        assert!(used.home().exists() && unmarked.exists() && foreign.exists());
        assert!(!dead.exists());
        let gone = parent.path().join("gone");
        Scratch::remove_abandoned(&gone);
        assert!(!gone.exists());
    }
}
