//! Room on the disk: looked at before each batch, so that a run can end in order before there is none, and
//! 4 MiB set aside for that end. Never fails a write: where nothing can be set aside, or nobody tells how much
//! is free, the disk itself decides.

use crate::disk::Disk;
use crate::error::WriteError;
use crate::format::RESERVE;
use std::io;
use std::path::PathBuf;

/// Room that must be free to begin, in bytes.
pub const FREE_MIN_BYTES: u64 = 8 * 1024 * 1024;

/// What is set aside.
pub(crate) const RESERVE_BYTES: u64 = 4 * 1024 * 1024;

/// With less than this free, beside the batch to be written, the disk counts as filling.
const LOW_BYTES: u64 = 2 * 1024 * 1024;

/// The disk is filling: what was set aside has been given back, for an end in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filling {
    /// The run's folder.
    pub path: PathBuf,
    /// Bytes that were free before anything was given back.
    pub free: u64,
}

impl std::fmt::Display for Filling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kib, path) = (self.free / 1024, self.path.display());
        write!(f, "the disk is filling: {kib} KiB were free for {path}")
    }
}

/// What one writer knows of the room that it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Room {
    /// Not looked at yet.
    #[default]
    Unknown,
    /// Something is set aside, as far as there was room for it.
    Kept,
    /// It was given back.
    Given,
}

impl Room {
    /// Looks whether `batch` bytes can be written and the run still end in order; sets room aside the first
    /// time. Answers once that the disk is filling.
    pub(crate) fn look(&mut self, disk: &dyn Disk, batch: usize) -> Option<Filling> {
        if *self == Self::Given {
            return None;
        }
        let free = disk.free_bytes().ok()?;
        if *self == Self::Unknown {
            *self = Self::Kept;
            if free >= FREE_MIN_BYTES && disk.allocate(RESERVE, RESERVE_BYTES).is_err() {
                // What is left of it would only take room.
                let _ = disk.remove(RESERVE);
            }
        }
        if free >= LOW_BYTES + batch as u64 {
            return None;
        }
        *self = Self::Given;
        // Without one there is nothing to give back, and the end is recorded as far as the disk goes.
        let _ = disk.remove(RESERVE);
        let path = disk.path("");
        Some(Filling { path, free })
    }

    /// Gives back what is set aside, at a clean end.
    pub(crate) fn leave(&mut self, disk: &dyn Disk) -> Result<(), WriteError> {
        if std::mem::replace(self, Self::Given) == Self::Given {
            return Ok(());
        }
        match disk.remove(RESERVE) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WriteError::io("remove", &disk.path(RESERVE))(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
