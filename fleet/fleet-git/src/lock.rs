//! Locks on files: the one lock around registering worktrees, and git's own lock on an index.
//! Never removes a lock on anything that anybody else may use.

use crate::patience::Patience;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long what is done in an instant may take a process that outlived its manager.
pub(crate) const OUTLASTED: Duration = Duration::from_secs(3);

/// A lock that somebody else held for too long.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is held by another process{}; if no git command is running any more, remove it and try again",
    path.display(),
    age.map(|age| format!(" since {} s", age.as_secs())).unwrap_or_default()
)]
pub struct LockHeld {
    /// The lock file.
    pub path: PathBuf,
    /// How long the file has been there; `None`: its time cannot be told.
    pub age: Option<Duration>,
}

/// Why a lock was not taken.
#[derive(Debug)]
pub(crate) enum LockError {
    Held(LockHeld),
    Io(io::Error),
}

/// An exclusive lock on a file of ours; given back when dropped, also by the death of the process.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes it, waiting at most `limit` for another thread or process.
    pub(crate) fn take(path: &Path, limit: Duration) -> Result<Self, LockError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(LockError::Io)?;
        let patience = Patience::of(limit);
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(error) if error == rustix::io::Errno::WOULDBLOCK => {}
                Err(error) if error == rustix::io::Errno::INTR => {}
                Err(error) => return Err(LockError::Io(error.into())),
            }
            if !patience.pause() {
                return Err(LockError::Held(held(path)));
            }
        }
    }
}

/// Puts `content` in place of an index, the way git does it: through `<index>.lock`.
/// A lock of somebody else is waited for, at most `limit`, and then named.
pub(crate) fn replace_index(
    index: &Path,
    content: &Path,
    limit: Duration,
) -> Result<(), LockError> {
    let lock_path = beside(index);
    let patience = Patience::of(limit);
    let mut lock = loop {
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&lock_path)
        {
            Ok(file) => break file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(LockError::Io(error)),
        }
        if !patience.pause() {
            return Err(LockError::Held(held(&lock_path)));
        }
    };
    let written = File::open(content)
        .and_then(|mut source| io::copy(&mut source, &mut lock))
        .and_then(|_| std::fs::rename(&lock_path, index));
    written.map_err(|error| {
        // The lock is ours, and a stale one would stop every later git command here.
        let _ = std::fs::remove_file(&lock_path);
        LockError::Io(error)
    })
}

fn held(path: &Path) -> LockHeld {
    let age = std::fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|since| since.elapsed().ok());
    LockHeld {
        path: path.to_owned(),
        age,
    }
}

/// Waits for the lock on an index or a ref that only we use, left by a git process that outlived its
/// manager, and takes the lock away when `limit` is over: whoever made it is dead.
pub(crate) fn outlast(locked: &Path, limit: Duration) -> io::Result<()> {
    let lock_path = beside(locked);
    let patience = Patience::of(limit);
    while std::fs::symlink_metadata(&lock_path).is_ok() {
        if !patience.pause() {
            return match std::fs::remove_file(&lock_path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            };
        }
    }
    Ok(())
}

fn beside(locked: &Path) -> PathBuf {
    let mut name = locked.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
