//! The private folder of a sandbox: its HOME and its TMPDIR. Removed when it is dropped.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder that only this user can enter, with a home and a temporary folder for commands.
/// Dropping it removes it with everything inside; do that off the async threads when it may be large.
#[derive(Debug)]
pub struct Scratch {
    folder: tempfile::TempDir,
    home: PathBuf,
    temporary: PathBuf,
}

impl Scratch {
    /// Makes one inside `parent`, which is usually the system's temporary folder.
    ///
    /// # Errors
    /// When the folders cannot be made.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("codewhale-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let root = folder.path().canonicalize()?;
        let (home, temporary) = (root.join("home"), root.join("tmp"));
        std::fs::create_dir(&home)?;
        std::fs::create_dir(&temporary)?;
        Ok(Self {
            folder,
            home,
            temporary,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter_and_nothing_stays() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(parent.path()).unwrap();
        let mode = std::fs::metadata(scratch.path())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o700);
        assert!(scratch.home().is_dir() && scratch.temporary().is_dir());
        drop(scratch);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
