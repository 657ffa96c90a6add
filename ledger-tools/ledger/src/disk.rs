//! The one seam under the ledger's files: a folder with named files, and the real one. Whatever a disk
//! can do wrong is tried behind this trait. Never knows a format.

use fs2::FileExt as _;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Which file it is, whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(test)]
    pub(crate) fn simulated(inode: u64) -> Self {
        Self { device: 0, inode }
    }

    /// The only file of a folder in memory.
    pub(crate) fn of_memory() -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }

    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To be read.
    Read,
    /// To be read and written; it exists.
    Write,
    /// To be written; it must not exist.
    CreateNew,
    /// To be written; kept if it exists.
    CreateOrKeep,
}

/// A run's folder. Names are relative to it; `""` is the folder itself.
pub(crate) trait Disk: Send + Sync {
    /// The path of a name, for messages.
    fn path(&self, name: &str) -> PathBuf;
    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>>;
    fn exists(&self, name: &str) -> io::Result<bool>;
    /// Which file the name stands for now.
    fn id(&self, name: &str) -> io::Result<FileId>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes a folder; one that exists is fine.
    fn make_folder(&self, name: &str) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, name: &str) -> io::Result<()>;
    /// Bytes that this process may still write.
    fn free_bytes(&self) -> io::Result<u64>;
    /// Makes a file, if there is none, that takes up at least so many bytes of the disk.
    fn allocate(&self, name: &str, bytes: u64) -> io::Result<()>;
}

/// An open file.
pub(crate) trait DiskFile: Send + Sync {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// May write fewer bytes than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn length(&self) -> io::Result<u64>;
    fn id(&self) -> io::Result<FileId>;
    /// Makes content and length durable.
    fn sync(&self) -> io::Result<()>;
    /// Lets the next read come from the disk and not from the page cache, where the system can.
    fn forget_cache(&self) -> io::Result<()>;
}

/// Writes all of `bytes` at `offset`, going on after short writes at the exact place.
pub(crate) fn write_all_at(
    file: &dyn DiskFile,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a whole small file; `None` when it does not exist.
pub(crate) fn read_small(disk: &dyn Disk, name: &str) -> io::Result<Option<Vec<u8>>> {
    const SMALL_MAX_BYTES: u64 = 64 * 1024;
    let file = match disk.open(name, Mode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.length()?.min(SMALL_MAX_BYTES);
    let mut bytes = vec![0; usize::try_from(length).expect("a small length fits")];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// A folder of the real file system.
#[derive(Debug, Clone)]
pub(crate) struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl Disk for RealDisk {
    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.root.clone()
        } else {
            self.root.join(name)
        }
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            Mode::Read => &mut options,
            Mode::Write => options.write(true),
            Mode::CreateNew => options.write(true).create_new(true),
            Mode::CreateOrKeep => options.write(true).create(true).truncate(false),
        };
        Ok(Box::new(RealFile(options.open(self.path(name))?)))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.path(name).try_exists()
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        Ok(FileId::of(&fs::metadata(self.path(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn make_folder(&self, name: &str) -> io::Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    fn sync_folder(&self, name: &str) -> io::Result<()> {
        File::open(self.path(name))?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        fs2::available_space(&self.root)
    }

    fn allocate(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false);
        file.open(self.path(name))?.allocate(bytes)
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId::of(&self.0.metadata()?))
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn forget_cache(&self) -> io::Result<()> {
        Ok(rustix::fs::fadvise(
            &self.0,
            0,
            None,
            rustix::fs::Advice::DontNeed,
        )?)
    }

    #[cfg(not(target_os = "linux"))]
    fn forget_cache(&self) -> io::Result<()> {
        Ok(())
    }
}
