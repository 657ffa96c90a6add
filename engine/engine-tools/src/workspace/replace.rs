//! Puts a new content in a file's place in one step: a reader sees the old one or the new one.
//! Keeps the mode. Does not sync: what counts of a workspace is kept in snapshots. Hard links and
//! extended attributes of the old file are not carried over.

use super::apart::with_own_descriptors;
use super::jail::{Found, Place};
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Mode of a new file, before the umask.
pub(super) const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

/// Mode of a new folder, before the umask.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// Makes the file at `place` hold exactly `content`, making missing folders on the way.
///
/// # Errors
/// When the place is no regular file, the file is read-only, or the system refuses; the old content
/// is then untouched and nothing is left behind but folders that were made.
pub(crate) fn replace(place: &Place, content: &[u8]) -> io::Result<()> {
    let made = make_folders(place, &mut Vec::new())?;
    let folder = made.as_ref().unwrap_or(&place.folder);
    let mode = match place.found {
        Found::Nothing => None,
        Found::File => Some(mode_of(folder, place)?),
        Found::Folder | Found::Link | Found::Other => {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    };
    let temporary = write_beside(folder, content, NEW_FILE, mode)?;
    let written = rustix::fs::renameat(folder, &temporary, folder, &place.name);
    if written.is_err() {
        // The first error is the one to tell.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    Ok(written?)
}

/// The mode of a file that may be written. A rename needs no permission of the file itself: so ask.
pub(super) fn mode_of(folder: &OwnedFd, place: &Place) -> io::Result<Mode> {
    rustix::fs::accessat(folder, &place.name, Access::WRITE_OK, AtFlags::EACCESS)?;
    let stat = rustix::fs::statat(folder, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Mode::from_raw_mode(stat.st_mode))
}

/// A folder that was made: its parent and its name.
pub(super) type MadeFolder = (OwnedFd, OsString);

/// Makes the folders that are missing at a place; the last of them, if any. Those that were not there
/// are added to `made`, also when it fails.
pub(super) fn make_folders(
    place: &Place,
    made: &mut Vec<MadeFolder>,
) -> io::Result<Option<OwnedFd>> {
    let mut last: Option<OwnedFd> = None;
    for name in &place.missing {
        let parent = last.as_ref().unwrap_or(&place.folder);
        match rustix::fs::mkdirat(parent, name, NEW_FOLDER) {
            Ok(()) => made.push((parent.try_clone()?, name.clone())),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        last = Some(rustix::fs::openat(parent, name, flags, Mode::empty())?);
    }
    Ok(last)
}

/// A name in a folder that nothing has.
pub(super) fn unused_name() -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    OsString::from(format!(".codewhale-{}-{number}.tmp", std::process::id()))
}

/// Writes a new file beside others, with `new` before the umask or exactly `mode`; its name. No child
/// process holds the file afterwards, so that it can be executed at once.
pub(super) fn write_beside(
    folder: &OwnedFd,
    content: &[u8],
    new: Mode,
    mode: Option<Mode>,
) -> io::Result<OsString> {
    with_own_descriptors(|| {
        let (name, mut file) = open_beside(folder, new)?;
        let written = file.write_all(content).and_then(|()| match mode {
            Some(mode) => Ok(rustix::fs::fchmod(&file, mode)?),
            None => Ok(()),
        });
        if let Err(error) = written {
            let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
            return Err(error);
        }
        Ok(name)
    })
}

fn open_beside(folder: &OwnedFd, new: Mode) -> io::Result<(OsString, File)> {
    loop {
        let name = unused_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match rustix::fs::openat(folder.as_fd(), &name, flags, new) {
            Ok(file) => return Ok((name, File::from(file))),
            // Left by a process of the same id that was killed in the middle.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
