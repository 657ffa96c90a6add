//! Making a used folder as clean as a new one: only what its index names stays, with the modes that a
//! fresh file would have. Never follows a link, never looks at `.git`, and writes no content.

use crate::error::{At, WorkspaceError};
use crate::folders;
use git2::FileMode;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What the index says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tracked {
    /// A file or link, which stays.
    File,
    /// A folder with files.
    Folder,
    /// The place of a submodule: an empty folder in a fresh worktree.
    Submodule,
}

/// Modes of what is made anew by this account.
#[derive(Debug, Clone, Copy)]
struct Fresh {
    file: u32,
    program: u32,
}

impl Fresh {
    /// As a file that was just made tells.
    fn like(probe: &Path) -> io::Result<Self> {
        let file = fs::metadata(probe)?.mode() & 0o666;
        Ok(Self {
            file,
            program: file | (file & 0o444) >> 2,
        })
    }
}

/// Takes everything out of a folder that its index does not name. A file that a fresh checkout would not
/// have made so goes too: whoever fills the folder writes it anew. `probe` is a file of ours.
pub(crate) fn sweep(folder: &Path, index: &Path, probe: &Path) -> Result<(), WorkspaceError> {
    let tracked = tracked(index)?;
    let fresh = Fresh::like(probe).at(probe)?;
    let sweep = Sweep {
        top: folder,
        tracked: &tracked,
        fresh,
    };
    sweep.folder(Path::new("")).at(folder)
}

fn tracked(index: &Path) -> Result<HashMap<PathBuf, Tracked>, WorkspaceError> {
    let mut found = HashMap::new();
    for entry in git2::Index::open(index)?.iter() {
        let path = Path::new(OsStr::from_bytes(&entry.path)).to_owned();
        for folder in path.ancestors().skip(1) {
            if found.insert(folder.to_owned(), Tracked::Folder).is_some() {
                break;
            }
        }
        let kind = if entry.mode == u32::from(FileMode::Commit) {
            Tracked::Submodule
        } else {
            Tracked::File
        };
        found.insert(path, kind);
    }
    Ok(found)
}

struct Sweep<'a> {
    top: &'a Path,
    tracked: &'a HashMap<PathBuf, Tracked>,
    fresh: Fresh,
}

impl Sweep<'_> {
    fn folder(&self, below: &Path) -> io::Result<()> {
        let folder = self.top.join(below);
        if fs::metadata(&folder)?.mode() & 0o7777 != self.fresh.program {
            fs::set_permissions(&folder, Permissions::from_mode(self.fresh.program))?;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if below.as_os_str().is_empty() && name == ".git" {
                continue;
            }
            self.entry(&below.join(name), &entry.metadata()?)?;
        }
        Ok(())
    }

    fn entry(&self, below: &Path, meta: &Metadata) -> io::Result<()> {
        let path = self.top.join(below);
        match (self.tracked.get(below), meta.is_dir()) {
            (Some(Tracked::Folder), true) => self.folder(below),
            (Some(Tracked::Submodule), true) => {
                folders::take_away(&path)?;
                fs::create_dir(&path)
            }
            (Some(Tracked::File), false) if self.is_fresh(meta) => Ok(()),
            (_, true) => folders::take_away(&path),
            (_, false) => fs::remove_file(&path),
        }
    }

    /// Whether a checkout would have made it like this: no other name leads to it, its mode is usual.
    fn is_fresh(&self, meta: &Metadata) -> bool {
        let usual = [self.fresh.file, self.fresh.program].contains(&(meta.mode() & 0o7777));
        meta.nlink() == 1 && (meta.is_symlink() || (meta.is_file() && usual))
    }
}
