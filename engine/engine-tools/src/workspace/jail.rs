//! Finds files beneath one root, through links, without ever leaving it.
//!
//! A path is walked one component at a time over open folders, never following a link the kernel's
//! way: each link is read and its target walked in turn, `..` goes back to the folder that was
//! entered, and going above the root is an error. What is found is held by its open folder, so that
//! nobody can move it from under the caller. An absolute path or link target is taken when it names
//! something under the root. No system call is needed that an older kernel or another Unix lacks.

use super::names;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Links followed before a path counts as circular. Linux itself uses 40.
const LINKS_MAX: u32 = 40;

/// Largest file that is read into memory.
pub(crate) const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The root that nothing leaves.
#[derive(Debug)]
pub(crate) struct Jail {
    /// The root without links.
    root: PathBuf,
    /// The root as it was given; may hold links.
    given: PathBuf,
    folder: OwnedFd,
}

/// Something found beneath the root.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder it lies in.
    pub(crate) folder: OwnedFd,
    /// Its name there; `.` for the root itself.
    pub(crate) name: OsString,
    /// Where it really lies, relative to the root. Empty for the root itself.
    pub(crate) path: PathBuf,
    /// What is there.
    pub(crate) found: Found,
    /// Folders that are missing between [`Self::folder`] and the file; empty unless it is missing.
    pub(crate) missing: Vec<OsString>,
}

/// What lies at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    File,
    Folder,
    /// A link that was asked for itself; see [`Jail::find_itself`].
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// Why a path leads nowhere.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("`{0}` is empty or holds a NUL byte")]
    NotAPath(String),
    #[error("`{0}` leads out of the workspace")]
    LeadsOut(String),
    #[error("`{0}` goes through too many links")]
    Circular(String),
    #[error("`{path}`: `{part}` is not a folder")]
    NotAFolder { path: String, part: String },
    #[error("there is no `{0}`")]
    Missing(String),
    #[error("`{0}` is a folder")]
    IsAFolder(String),
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    #[error("`{path}` has {bytes} bytes, more than the {FILE_MAX_BYTES} that are read at once")]
    TooLarge { path: String, bytes: u64 },
    #[error("`{path}`: {error}")]
    Io { path: String, error: io::Error },
}

impl Jail {
    /// Opens a root.
    ///
    /// # Errors
    /// When it is not a folder that can be read.
    pub(crate) fn open(given: &Path) -> io::Result<Self> {
        let root = given.canonicalize()?;
        let folder = rustix::fs::openat(CWD, &root, folder_flags(), Mode::empty())?;
        Ok(Self {
            root,
            given: given.to_owned(),
            folder,
        })
    }

    /// The root, absolute and without links.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Finds what a path names.
    pub(crate) fn find(&self, path: &str) -> Result<Place, PathError> {
        self.walk(path, LastLink::Followed)
    }

    /// Finds what a path names, or the link itself when its last part is one.
    pub(crate) fn find_itself(&self, path: &str) -> Result<Place, PathError> {
        self.walk(path, LastLink::Kept)
    }

    fn walk(&self, path: &str, last: LastLink) -> Result<Place, PathError> {
        let name = names::read(path);
        if name.is_empty() || name.as_bytes().contains(&0) {
            return Err(PathError::NotAPath(path.to_owned()));
        }
        let inside = self
            .strip_root(Path::new(&*name))
            .ok_or_else(|| PathError::LeadsOut(path.to_owned()))?;
        Walk::new(self, path, last).run(inside)
    }

    /// Finds a regular file and opens it for reading.
    pub(crate) fn open_file(&self, path: &str) -> Result<(Place, File), PathError> {
        let place = self.find(path)?;
        match place.found {
            Found::File => {}
            Found::Nothing => return Err(PathError::Missing(path.to_owned())),
            Found::Folder => return Err(PathError::IsAFolder(path.to_owned())),
            Found::Link | Found::Other => return Err(PathError::NotAFile(path.to_owned())),
        }
        let file = place.open(path)?;
        Ok((place, file))
    }

    /// Finds a regular file and reads it whole.
    pub(crate) fn read_file(&self, path: &str) -> Result<(Place, Vec<u8>), PathError> {
        let (place, file) = self.open_file(path)?;
        let bytes = read_bounded(file, path)?;
        Ok((place, bytes))
    }

    /// The part of a path below the root: relative paths as they are, absolute ones when they begin
    /// with the root.
    fn strip_root<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.is_relative() {
            return Some(path);
        }
        path.strip_prefix(&self.root)
            .or_else(|_| path.strip_prefix(&self.given))
            .ok()
    }
}

impl Place {
    /// The path as people write it: relative to the root, quoted where it must be.
    pub(crate) fn shown(&self) -> String {
        if self.path.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            names::shown(&self.path)
        }
    }

    /// Where the link at this place points; `path` is for messages.
    pub(crate) fn target(&self, path: &str) -> Result<PathBuf, PathError> {
        let target = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new())
            .map_err(|error| told(path, error))?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    /// Opens the regular file at this place for reading; `path` is for messages.
    pub(crate) fn open(&self, path: &str) -> Result<File, PathError> {
        // Without NONBLOCK a pipe that took the file's place would hold the call for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())
            .map_err(|error| told(path, error))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| told(path, error))?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(PathError::NotAFile(path.to_owned()));
        }
        Ok(File::from(file))
    }

    /// True when the place belongs to git itself: a part of it is named `.git`.
    pub(crate) fn is_gits_own(&self) -> bool {
        self.path
            .components()
            .any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
    }
}

pub(super) fn read_bounded(file: File, path: &str) -> Result<Vec<u8>, PathError> {
    let io = |error| PathError::Io {
        path: path.to_owned(),
        error,
    };
    let too_large = |bytes| PathError::TooLarge {
        path: path.to_owned(),
        bytes,
    };
    let size = file.metadata().map_err(io)?.len();
    if size > FILE_MAX_BYTES {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    let size = bytes.len() as u64;
    if size > FILE_MAX_BYTES {
        return Err(too_large(size));
    }
    Ok(bytes)
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn told(path: &str, errno: Errno) -> PathError {
    PathError::Io {
        path: path.to_owned(),
        error: errno.into(),
    }
}

/// A walk along one path.
struct Walk<'j> {
    jail: &'j Jail,
    /// The path as it was asked for, for messages.
    asked: &'j str,
    /// The folders entered below the root, with their names.
    entered: Vec<(OwnedFd, OsString)>,
    pending: VecDeque<OsString>,
    links: u32,
    last: LastLink,
}

/// What becomes of a link that is the last part of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLink {
    Followed,
    Kept,
}

impl<'j> Walk<'j> {
    fn new(jail: &'j Jail, asked: &'j str, last: LastLink) -> Self {
        Self {
            jail,
            asked,
            entered: Vec::new(),
            pending: VecDeque::new(),
            links: 0,
            last,
        }
    }

    fn run(mut self, path: &Path) -> Result<Place, PathError> {
        self.push_front(path);
        while let Some(part) = self.pending.pop_front() {
            if part == ".." {
                if self.entered.pop().is_none() {
                    return Err(PathError::LeadsOut(self.asked.to_owned()));
                }
                continue;
            }
            match self.look_at(&part)? {
                None => return self.nothing_at(part),
                Some(FileType::Symlink) => {
                    if self.last == LastLink::Kept && self.pending.is_empty() {
                        return self.end_at(part, FileType::Symlink);
                    }
                    self.follow(&part)?;
                }
                Some(FileType::Directory) => self.enter(part)?,
                Some(kind) => return self.end_at(part, kind),
            }
        }
        self.end_at_folder()
    }

    fn push_front(&mut self, path: &Path) {
        let parts: Vec<OsString> = path
            .components()
            .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
            .map(|part| part.as_os_str().to_owned())
            .collect();
        for part in parts.into_iter().rev() {
            self.pending.push_front(part);
        }
    }

    fn here(&self) -> &OwnedFd {
        self.entered
            .last()
            .map_or(&self.jail.folder, |(folder, _)| folder)
    }

    fn path_here(&self) -> PathBuf {
        self.entered.iter().map(|(_, name)| name).collect()
    }

    fn look_at(&self, part: &OsStr) -> Result<Option<FileType>, PathError> {
        match rustix::fs::statat(self.here(), part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(file_type(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(told(self.asked, error)),
        }
    }

    fn enter(&mut self, part: OsString) -> Result<(), PathError> {
        let folder = rustix::fs::openat(self.here(), &part, folder_flags(), Mode::empty())
            .map_err(|error| told(self.asked, error))?;
        self.entered.push((folder, part));
        Ok(())
    }

    fn follow(&mut self, part: &OsStr) -> Result<(), PathError> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(PathError::Circular(self.asked.to_owned()));
        }
        let target = rustix::fs::readlinkat(self.here(), part, Vec::new())
            .map_err(|error| told(self.asked, error))?;
        let target = Path::new(OsStr::from_bytes(target.as_bytes()));
        let Some(inside) = self.jail.strip_root(target) else {
            return Err(PathError::LeadsOut(self.asked.to_owned()));
        };
        if target.is_absolute() {
            self.entered.clear();
        }
        self.push_front(inside);
        Ok(())
    }

    fn clone_here(&self) -> Result<OwnedFd, PathError> {
        rustix::io::fcntl_dupfd_cloexec(self.here(), 3).map_err(|error| told(self.asked, error))
    }

    fn end_at(self, name: OsString, kind: FileType) -> Result<Place, PathError> {
        if !self.pending.is_empty() {
            return Err(PathError::NotAFolder {
                path: self.asked.to_owned(),
                part: names::shown(&self.path_here().join(name)),
            });
        }
        let found = match kind {
            FileType::RegularFile => Found::File,
            FileType::Symlink => Found::Link,
            _ => Found::Other,
        };
        Ok(Place {
            path: self.path_here().join(&name),
            folder: self.clone_here()?,
            name,
            found,
            missing: Vec::new(),
        })
    }

    fn end_at_folder(mut self) -> Result<Place, PathError> {
        let path = self.path_here();
        let name = self.entered.pop().map_or(".".into(), |(_, name)| name);
        Ok(Place {
            path,
            folder: self.clone_here()?,
            name,
            found: Found::Folder,
            missing: Vec::new(),
        })
    }

    fn nothing_at(mut self, part: OsString) -> Result<Place, PathError> {
        let mut names: Vec<OsString> = std::iter::once(part)
            .chain(std::mem::take(&mut self.pending))
            .collect();
        // Where a folder is missing, nobody can say where `..` of it would lead.
        if names.iter().any(|name| name == "..") {
            return Err(PathError::Missing(self.asked.to_owned()));
        }
        let path = names
            .iter()
            .fold(self.path_here(), |path, name| path.join(name));
        let name = names.pop().unwrap_or_default();
        Ok(Place {
            path,
            folder: self.clone_here()?,
            name,
            found: Found::Nothing,
            missing: names,
        })
    }
}
