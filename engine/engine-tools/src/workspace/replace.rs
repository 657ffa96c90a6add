//! Puts a new content in a file's place in one step: a reader sees the old one or the new one.
//! Keeps the mode. Does not sync: what counts of a workspace is kept in snapshots. Hard links and
//! extended attributes of the old file are not carried over.

use super::jail::{Found, Place};
use rustix::fs::{Access, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Mode of a new file, before the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

/// Mode of a new folder, before the umask.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// Makes the file at `place` hold exactly `content`, making missing folders on the way.
///
/// # Errors
/// When the place is no regular file, the file is read-only, or the system refuses; the old content
/// is then untouched and nothing is left behind but folders that were made.
pub(crate) fn replace(place: &Place, content: &[u8]) -> io::Result<()> {
    let made = make_folders(place)?;
    let folder = made.as_ref().unwrap_or(&place.folder);
    let old = match place.found {
        Found::Nothing => None,
        Found::File => {
            writable(folder, place)?;
            Some(rustix::fs::statat(
                folder,
                &place.name,
                AtFlags::SYMLINK_NOFOLLOW,
            )?)
        }
        Found::Folder | Found::Other => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let (temporary, file) = new_beside(folder)?;
    let written = fill(file, content, old.as_ref()).and_then(|()| {
        Ok(rustix::fs::renameat(
            folder,
            &temporary,
            folder,
            &place.name,
        )?)
    });
    if written.is_err() {
        // The first error is the one to tell.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    written
}

/// A rename needs no permission of the file itself: so ask whether it may be written.
fn writable(folder: &OwnedFd, place: &Place) -> io::Result<()> {
    Ok(rustix::fs::accessat(
        folder,
        &place.name,
        Access::WRITE_OK,
        AtFlags::EACCESS,
    )?)
}

fn make_folders(place: &Place) -> io::Result<Option<OwnedFd>> {
    let mut made: Option<OwnedFd> = None;
    for name in &place.missing {
        let parent = made.as_ref().unwrap_or(&place.folder);
        match rustix::fs::mkdirat(parent, name, NEW_FOLDER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        made = Some(rustix::fs::openat(parent, name, flags, Mode::empty())?);
    }
    Ok(made)
}

fn new_beside(folder: &OwnedFd) -> io::Result<(OsString, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".codewhale-{}-{number}.tmp", std::process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match rustix::fs::openat(folder.as_fd(), &name, flags, NEW_FILE) {
            Ok(file) => return Ok((name, File::from(file))),
            // Left by a process of the same id that was killed in the middle.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn fill(mut file: File, content: &[u8], old: Option<&Stat>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(old) = old {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode))?;
    }
    Ok(())
}
