//! Where the socket of a run lies: in a folder that only its person can enter, under a name that follows
//! from the run's folder, so that it stays the same when the repository is moved. Never trusts a folder
//! that somebody else could have made.

use rustix::fs::{Mode, mkdir};
use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Longest path that a socket's address holds, its closing zero left out.
const PATH_MAX_BYTES: usize = 107;
/// Letters of a socket's name: short enough for any folder, long enough to be its own.
const NAME_LETTERS: usize = 16;

/// Folders in which sockets may lie, the first that can be used being taken.
#[derive(Debug, Clone, Default)]
pub struct Folders(pub Vec<PathBuf>);

impl Folders {
    /// Every place where the socket of this run may lie.
    ///
    /// # Errors
    /// When the run's folder cannot be looked at.
    pub(super) fn sockets_of(&self, run: &Path) -> io::Result<Vec<PathBuf>> {
        let name = name_of(run)?;
        Ok(self.0.iter().map(|folder| folder.join(&name)).collect())
    }
}

/// The name of a run's socket: a hash of which folder on which disk it is.
fn name_of(run: &Path) -> io::Result<String> {
    let known = run.metadata()?;
    let mut hash = Sha256::new();
    hash.update(known.dev().to_le_bytes());
    hash.update(known.ino().to_le_bytes());
    let mut name = String::new();
    for byte in hash.finalize().iter().take(NAME_LETTERS / 2) {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name + ".sock")
}

/// Makes the folder of a socket, or finds that it is the person's own and nobody else's.
///
/// # Errors
/// When it cannot be made, or is not to be trusted.
pub(super) fn prepare(socket: &Path) -> io::Result<()> {
    if socket.as_os_str().len() > PATH_MAX_BYTES {
        let told = format!("`{}` is too long for a socket", socket.display());
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, told));
    }
    let folder = socket.parent().unwrap_or(socket);
    match mkdir(folder, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let found = folder.symlink_metadata()?;
    let is_private = found.is_dir()
        && found.uid() == geteuid().as_raw()
        && found.permissions().mode() & 0o077 == 0;
    if is_private {
        Ok(())
    } else {
        let told = format!(
            "`{}` is not a private folder of this person",
            folder.display()
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, told))
    }
}
