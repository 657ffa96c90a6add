//! Becoming the writer of a ledger: creating one, or taking over one that is there, with what the last
//! writer may have left half done. Never writes a line.

use crate::chain::Chain;
use crate::codec::Codec;
use crate::disk::{Disk, DiskFile, Mode, RealDisk, write_all_at};
use crate::error::{OpenError, ReplayError, WriteError};
use crate::filesystem::{Filesystems, foreign};
use crate::format::{Epoch, SEGMENT, SEGMENT_COPY, SUSPECT};
use crate::lock::{Left, Lock};
use crate::log::Log;
use crate::replay::{OnEntry, Replayed, Tail, Torn, replay_disk};
use crate::room::FREE_MIN_BYTES;
use crate::scan::Lines;
use crate::writer::{OnDurable, Writer};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A ledger that was taken over.
#[derive(Debug)]
pub struct Opened<C> {
    /// Its writer. Nothing has been written yet.
    pub writer: Writer<C>,
    /// What was read.
    pub replayed: Replayed,
    /// What the holder before left, when it did not let go of the lock.
    pub left: Option<Left>,
    /// Where the bytes of a torn batch are kept, when there was one.
    pub torn: Option<PathBuf>,
}

/// Creates the ledger of a new run in `folder`, which is made, for its owner only, if it does not exist.
///
/// # Errors
/// When there is a ledger already, another process is about to write one, the file system cannot be
/// relied on, there is too little room, or the storage fails.
pub fn create<C: Codec>(
    folder: &Path,
    codec: C,
    filesystems: Filesystems,
    on_durable: OnDurable,
) -> Result<Writer<C>, OpenError> {
    make_folder(folder).map_err(WriteError::io("create", folder))?;
    let (mut lock, _) = enter(folder, filesystems)?;
    let disk = RealDisk::new(folder);
    let epoch = Epoch(1);
    let log = create_log(Box::new(disk), epoch)?;
    lock.say(Some(epoch))?;
    Ok(Writer::start(codec, epoch, log, Some(lock), on_durable)?)
}

pub(crate) fn create_log(disk: Box<dyn Disk>, epoch: Epoch) -> Result<Log, OpenError> {
    let path = disk.path(SEGMENT);
    let file = disk
        .open(SEGMENT, Mode::CreateNew)
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenError::Exists(disk.path("")),
            _ => WriteError::io("create", &path)(error).into(),
        })?;
    file.sync().map_err(WriteError::io("sync", &path))?;
    disk.sync_folder("")
        .map_err(WriteError::io("sync", &disk.path("")))?;
    Ok(Log::start(disk, None, epoch)?)
}

/// Takes over the ledger in `folder`: takes the lock, syncs what an earlier process may have written
/// without, replays, cuts off a torn batch and keeps its bytes aside. The writer's lines carry the next
/// epoch; nothing is written until the first [`Writer::append`].
///
/// # Errors
/// When another process holds it, what [`crate::replay`] refuses, the file system cannot be relied on,
/// there is too little room, or the storage fails. The ledger is then as it was.
pub fn open<C: Codec>(
    folder: &Path,
    codec: C,
    filesystems: Filesystems,
    on_entry: OnEntry<'_, C::Record>,
    on_durable: OnDurable,
) -> Result<Opened<C>, OpenError> {
    let disk = RealDisk::new(folder);
    if !disk
        .exists(SEGMENT)
        .map_err(ReplayError::io(disk.path(SEGMENT)))?
    {
        return Err(ReplayError::Missing(folder.to_owned()).into());
    }
    let (mut lock, left) = enter(folder, filesystems)?;
    let recovered = recover(Box::new(disk), &codec, on_entry)?;
    let epoch = recovered.epoch;
    lock.say(Some(epoch))?;
    let writer = Writer::start(codec, epoch, recovered.log, Some(lock), on_durable)?;
    Ok(Opened {
        writer,
        replayed: recovered.replayed,
        left,
        torn: recovered.torn,
    })
}

/// A ledger made ready to be extended.
pub(crate) struct Recovered {
    pub(crate) log: Log,
    pub(crate) epoch: Epoch,
    pub(crate) replayed: Replayed,
    pub(crate) torn: Option<PathBuf>,
}

pub(crate) fn recover<C: Codec>(
    disk: Box<dyn Disk>,
    codec: &C,
    on_entry: OnEntry<'_, C::Record>,
) -> Result<Recovered, OpenError> {
    let path = disk.path(SEGMENT);
    let file = disk
        .open(SEGMENT, Mode::Write)
        .map_err(WriteError::io("open", &path))?;
    // After a plain crash the file shows lines that were never synced; they count from here on.
    file.sync().map_err(WriteError::io("sync", &path))?;
    sync_folder(&*disk)?;
    let suspect = disk
        .exists(SUSPECT)
        .map_err(WriteError::io("look for", &disk.path(SUSPECT)))?;
    if suspect {
        file.forget_cache()
            .map_err(WriteError::io("reread", &path))?;
    }
    let replayed = replay_disk(&*disk, codec, on_entry)?;
    let torn = match &replayed.tail {
        Tail::Torn(torn) => Some(keep_aside(&*disk, &*file, torn)?),
        Tail::Whole | Tail::Unended => None,
    };
    if suspect || replayed.tail != Tail::Whole {
        copy_good(&*disk, &*file, &replayed)?;
    }
    let epoch = Epoch(
        replayed
            .head
            .map_or(0, |head| head.epoch.0)
            .saturating_add(1),
    );
    let log = Log::start(disk, replayed.head, epoch)?;
    Ok(Recovered {
        log,
        epoch,
        replayed,
        torn,
    })
}

/// Checks where the folder lies and takes its lock.
fn enter(folder: &Path, filesystems: Filesystems) -> Result<(Lock, Option<Left>), OpenError> {
    if filesystems == Filesystems::LocalOnly
        && let Some(kind) = foreign(folder).map_err(WriteError::io("look at", folder))?
    {
        return Err(OpenError::Filesystem {
            path: folder.to_owned(),
            kind,
        });
    }
    let available = RealDisk::new(folder)
        .free_bytes()
        .map_err(WriteError::io("look at", folder))?;
    if available < FREE_MIN_BYTES {
        let path = folder.to_owned();
        return Err(OpenError::Full {
            path,
            available,
            needed: FREE_MIN_BYTES,
        });
    }
    Lock::take(folder)
}

/// Makes the folder, private to its owner, and its name durable.
fn make_folder(folder: &Path) -> io::Result<()> {
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent)?;
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => result?,
    }
    std::fs::File::open(parent)?.sync_all()
}

/// Writes the torn bytes to a file of their own, never over an older one.
fn keep_aside(disk: &dyn Disk, file: &dyn DiskFile, torn: &Torn) -> Result<PathBuf, WriteError> {
    let (name, kept) = free_name(disk, torn)?;
    let path = disk.path(&name);
    copy_range(file, &*kept, torn.place.byte, torn.bytes)
        .map_err(WriteError::io("write", &path))?;
    kept.sync().map_err(WriteError::io("sync", &path))?;
    sync_folder(disk)?;
    Ok(path)
}

fn free_name(disk: &dyn Disk, torn: &Torn) -> Result<(String, Box<dyn DiskFile>), WriteError> {
    let mut tries = 1_u64;
    loop {
        let name = match tries {
            1 => format!("torn-{}", torn.seq),
            _ => format!("torn-{}-{tries}", torn.seq),
        };
        match disk.open(&name, Mode::CreateNew) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => tries += 1,
            Err(error) => return Err(WriteError::io("create", &disk.path(&name))(error)),
        }
    }
}

/// Puts a new file with only the verified lines in the segment's place. The old one may hold pages that
/// a failed sync has marked as written although they never were.
fn copy_good(disk: &dyn Disk, file: &dyn DiskFile, replayed: &Replayed) -> Result<(), OpenError> {
    let path = disk.path(SEGMENT_COPY);
    // A copy that an earlier takeover left unfinished is let go, never emptied: after a power cut its
    // name may stand for the segment itself.
    match disk.remove(SEGMENT_COPY) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(WriteError::io("remove", &path)(error).into());
        }
        Ok(()) | Err(_) => {}
    }
    let copy = disk
        .open(SEGMENT_COPY, Mode::CreateNew)
        .map_err(WriteError::io("create", &path))?;
    copy_range(file, &*copy, 0, replayed.good_bytes).map_err(WriteError::io("write", &path))?;
    let mut length = replayed.good_bytes;
    if replayed.tail == Tail::Unended {
        write_all_at(&*copy, b"\n", length).map_err(WriteError::io("write", &path))?;
        length += 1;
    }
    copy.sync().map_err(WriteError::io("sync", &path))?;
    verify_copy(&*copy, length, replayed, &path)?;
    disk.rename(SEGMENT_COPY, SEGMENT)
        .map_err(WriteError::io("rename", &path))?;
    sync_folder(disk)?;
    Ok(())
}

/// The copy must hold the very lines that were replayed.
fn verify_copy(
    copy: &dyn DiskFile,
    length: u64,
    replayed: &Replayed,
    path: &Path,
) -> Result<(), WriteError> {
    let mut chain = Chain { head: None };
    let mut lines = Lines::new(copy, 0, length);
    while let Some(piece) = lines.next().map_err(WriteError::io("read", path))? {
        if chain.accept(&piece).is_err() {
            break;
        }
    }
    if chain.head == replayed.head {
        return Ok(());
    }
    let changed = io::Error::new(io::ErrorKind::InvalidData, "it changed while it was copied");
    Err(WriteError::io("copy", path)(changed))
}

fn copy_range(from: &dyn DiskFile, to: &dyn DiskFile, start: u64, length: u64) -> io::Result<()> {
    const CHUNK_BYTES: u64 = 256 * 1024;
    let mut done = 0;
    while done < length {
        let room = usize::try_from(CHUNK_BYTES.min(length - done)).expect("a chunk fits");
        let mut chunk = vec![0; room];
        let read = from.read_at(&mut chunk, start + done)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_all_at(to, &chunk[..read], done)?;
        done += read as u64;
    }
    Ok(())
}

fn sync_folder(disk: &dyn Disk) -> Result<(), WriteError> {
    disk.sync_folder("")
        .map_err(WriteError::io("sync", &disk.path("")))
}
