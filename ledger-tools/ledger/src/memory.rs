//! A ledger that is only bytes: for whoever has them without a folder, as tests and fuzz targets do. Never
//! written, never on a disk.

use crate::codec::Codec;
use crate::disk::{Disk, DiskFile, FileId, Mode};
use crate::error::ReplayError;
use crate::format::{DURABLE, SEGMENT};
use crate::replay::{OnEntry, Replayed, replay_disk};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a ledger as [`crate::replay`] does, from its bytes and, where there is one, those of the file
/// `durable`. Pure: the same bytes always give the same answer.
///
/// # Errors
/// As [`crate::replay`]; the storage cannot fail.
pub fn replay_bytes<C: Codec>(
    ledger: &[u8],
    durable: Option<&[u8]>,
    codec: &C,
    on_entry: OnEntry<'_, C::Record>,
) -> Result<Replayed, ReplayError> {
    let memory = Memory {
        ledger: ledger.into(),
        durable: durable.map(Into::into),
    };
    replay_disk(&memory, codec, on_entry)
}

/// A folder with two files at most.
struct Memory {
    ledger: Arc<[u8]>,
    durable: Option<Arc<[u8]>>,
}

impl Memory {
    fn file(&self, name: &str) -> io::Result<Arc<[u8]>> {
        let found = match name {
            SEGMENT => Some(&self.ledger),
            DURABLE => self.durable.as_ref(),
            _ => None,
        };
        found.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn never_written<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Disk for Memory {
    fn path(&self, name: &str) -> PathBuf {
        Path::new("").join(name)
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        match mode {
            Mode::Read => Ok(Box::new(Bytes(self.file(name)?))),
            Mode::Write | Mode::CreateNew | Mode::CreateOrKeep => never_written(),
        }
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.file(name).is_ok())
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        self.file(name).map(|_| FileId::of_memory())
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        never_written()
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        never_written()
    }

    fn make_folder(&self, _name: &str) -> io::Result<()> {
        never_written()
    }

    fn sync_folder(&self, _name: &str) -> io::Result<()> {
        never_written()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn allocate(&self, _name: &str, _bytes: u64) -> io::Result<()> {
        never_written()
    }
}

struct Bytes(Arc<[u8]>);

impl DiskFile for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.get(offset..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        never_written()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId::of_memory())
    }

    fn sync(&self) -> io::Result<()> {
        never_written()
    }

    fn forget_cache(&self) -> io::Result<()> {
        Ok(())
    }
}
