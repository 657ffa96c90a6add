//! Contents too large for a line, named by their SHA-256 and written once. Never overwrites a good one,
//! never hands out bytes that do not fit their name.

use crate::disk::{Disk, DiskFile, Mode, RealDisk, write_all_at};
use crate::format::{BLOBS, is_hex, write_hex};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The blobs of a run. Any number of threads may use it at once.
pub struct Blobs {
    disk: Box<dyn Disk>,
    temporary: AtomicU64,
    /// Set by the first failed write or sync: repeating one could answer that all is well and lie.
    has_failed: AtomicBool,
}

/// A stored content, as a record refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// SHA-256 of the bytes, 64 lower-case hex digits.
    pub sha256: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// Why a blob could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// Not 64 lower-case hex digits.
    #[error("`{0}` is not the name of a blob")]
    Name(String),
    /// There is no such blob.
    #[error("the blob {0} is missing")]
    Missing(String),
    /// Its bytes do not fit its name.
    #[error("the blob {expected} is damaged: its bytes have the sum {found}")]
    Damaged {
        /// Its name.
        expected: String,
        /// The SHA-256 of its bytes.
        found: String,
    },
    /// An earlier call failed.
    #[error("no more blobs are stored since one could not be")]
    Closed,
    /// The storage failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl BlobError {
    fn io(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

impl std::fmt::Debug for Blobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Blobs")
            .field(&self.disk.path(BLOBS))
            .finish()
    }
}

impl Blobs {
    /// The blobs of the run in `folder`. Nothing is made until the first [`Blobs::put`].
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self::on(Box::new(RealDisk::new(folder)))
    }

    pub(crate) fn on(disk: Box<dyn Disk>) -> Self {
        Self {
            disk,
            temporary: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Stores `bytes`. They are durable when this returns, so a record may refer to them. Storing them
    /// again changes nothing, unless what is there is damaged.
    ///
    /// # Errors
    /// When the storage fails, now or at an earlier call: such an error is final for the process.
    pub fn put(&self, bytes: &[u8]) -> Result<Blob, BlobError> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(BlobError::Closed);
        }
        let sha256 = sha256_hex(bytes);
        self.store(&sha256, bytes)
            .inspect_err(|_| self.has_failed.store(true, Ordering::Release))?;
        Ok(Blob {
            sha256,
            bytes: bytes.len() as u64,
        })
    }

    /// An earlier process may have died between any two of these steps, so what is already there is
    /// synced all the same.
    fn store(&self, sha256: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let folder = format!("{BLOBS}/{}", &sha256[..2]);
        for name in [BLOBS, &folder] {
            self.disk
                .make_folder(name)
                .map_err(BlobError::io("create", self.disk.path(name)))?;
        }
        match self.get(sha256) {
            Ok(_) => self.sync_file(&name_of(sha256))?,
            Err(BlobError::Missing(_) | BlobError::Damaged { .. }) => {
                self.write(&name_of(sha256), bytes)?;
            }
            Err(error) => return Err(error),
        }
        for name in [&folder, BLOBS, ""] {
            self.disk
                .sync_folder(name)
                .map_err(BlobError::io("sync", self.disk.path(name)))?;
        }
        Ok(())
    }

    /// Reads the blob with this SHA-256 and checks it.
    ///
    /// # Errors
    /// When it is not there, its bytes do not fit its name, or the storage fails.
    pub fn get(&self, sha256: &str) -> Result<Vec<u8>, BlobError> {
        if sha256.len() != 64 || !sha256.bytes().all(is_hex) {
            return Err(BlobError::Name(sha256.to_owned()));
        }
        let name = name_of(sha256);
        let bytes = self.read(&name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BlobError::Missing(sha256.to_owned()),
            _ => BlobError::io("read", self.disk.path(&name))(error),
        })?;
        let found = sha256_hex(&bytes);
        if found == sha256 {
            Ok(bytes)
        } else {
            Err(BlobError::Damaged {
                expected: sha256.to_owned(),
                found,
            })
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = self.disk.open(name, Mode::Read)?;
        let length = usize::try_from(file.length()?).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match file.read_at(&mut bytes[filled..], filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Writes under a name of its own first, so that a blob is there whole or not at all.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let (temporary, file) = self.temporary()?;
        let path = self.disk.path(&temporary);
        write_all_at(&*file, bytes, 0).map_err(BlobError::io("write", path.clone()))?;
        file.sync().map_err(BlobError::io("sync", path.clone()))?;
        self.disk
            .rename(&temporary, name)
            .map_err(BlobError::io("rename", path))
    }

    /// A file that nobody else writes; what a dead process left under such a name is passed over.
    fn temporary(&self) -> Result<(String, Box<dyn DiskFile>), BlobError> {
        loop {
            let number = self.temporary.fetch_add(1, Ordering::Relaxed);
            let name = format!("{BLOBS}/new-{}-{number}", std::process::id());
            match self.disk.open(&name, Mode::CreateNew) {
                Ok(file) => return Ok((name, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(BlobError::io("create", self.disk.path(&name))(error)),
            }
        }
    }

    fn sync_file(&self, name: &str) -> Result<(), BlobError> {
        let sync = || self.disk.open(name, Mode::Read)?.sync();
        sync().map_err(BlobError::io("sync", self.disk.path(name)))
    }
}

fn name_of(sha256: &str) -> String {
    format!("{BLOBS}/{}/{}", &sha256[..2], &sha256[2..])
}

fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = vec![0; 64];
    write_hex(&Sha256::digest(bytes), &mut hex);
    String::from_utf8(hex).expect("hex digits are ASCII")
}
