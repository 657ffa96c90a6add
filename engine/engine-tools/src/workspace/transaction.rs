//! Changes several files so that either all are changed or none is. Everything that can fail for want
//! of room or permission is done beforehand, beside the files; then names are exchanged, and where that
//! fails half-way, put back. Never leaves its own files behind, unless the process is killed.

use super::jail::{Found, Place};
use super::replace::{self, MadeFolder, NEW_FILE};
use rustix::fs::{AtFlags, Mode};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

/// Mode of a new executable file, before the umask.
const NEW_PROGRAM: Mode = Mode::from_raw_mode(0o777);

/// One file to change.
#[derive(Debug)]
pub(crate) struct Step<'p> {
    pub(crate) place: &'p Place,
    /// What it becomes; `None`: it goes.
    pub(crate) after: Option<NewFile<'p>>,
}

/// A file as it is to be.
#[derive(Debug)]
pub(crate) struct NewFile<'p> {
    pub(crate) bytes: &'p [u8],
    /// The file whose mode it has; that of a new file when there is none.
    pub(crate) like: Option<&'p Place>,
    pub(crate) execution: Execution,
}

/// Whether a file may be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    /// By whoever may execute it now.
    AsItIs,
    /// By whoever may read it.
    Allowed,
    /// By nobody.
    Forbidden,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` could not be changed: {error}{}", left(.spoilt))]
pub(crate) struct TransactionError {
    /// Where it failed.
    path: String,
    error: io::Error,
    /// What could not be put back, with luck nothing.
    spoilt: Vec<String>,
}

fn left(spoilt: &[String]) -> String {
    if spoilt.is_empty() {
        "; no file was changed".to_owned()
    } else {
        format!("; could not be put back: {}", spoilt.join(", "))
    }
}

/// Changes all files, or none.
pub(crate) fn carry_out(steps: &[Step<'_>]) -> Result<(), TransactionError> {
    let mut work = Work::default();
    let failed = steps
        .iter()
        .find_map(|step| work.prepare(step).err().map(|error| (step.place, error)))
        .or_else(|| work.exchange(steps));
    let Some((place, error)) = failed else {
        work.forget_the_old();
        return Ok(());
    };
    Err(TransactionError {
        path: place.shown(),
        error,
        spoilt: work.put_back(steps),
    })
}

/// What was done so far.
#[derive(Default)]
struct Work {
    prepared: Vec<Prepared>,
    /// How many of them have been exchanged.
    exchanged: usize,
    folders: Vec<MadeFolder>,
}

/// One file that is ready to be exchanged.
struct Prepared {
    folder: OwnedFd,
    name: OsString,
    /// The new content, under a name of its own, until it takes the file's name.
    new: Option<OsString>,
    /// The old content under a second name, or the name that it gets when the file goes.
    old: Option<OsString>,
}

impl Work {
    fn prepare(&mut self, step: &Step<'_>) -> io::Result<()> {
        let place = step.place;
        let made = replace::make_folders(place, &mut self.folders)?;
        let folder = match made {
            Some(folder) => folder,
            None => place.folder.try_clone()?,
        };
        let old = match place.found {
            Found::Nothing => None,
            Found::Link => Some(replace::unused_name()),
            Found::File => {
                let mode = replace::mode_of(&folder, place)?;
                Some(match step.after {
                    Some(_) => second_name(&folder, place, mode)?,
                    None => replace::unused_name(),
                })
            }
            Found::Folder | Found::Other => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let prepared = self.prepared.len();
        self.prepared.push(Prepared {
            folder,
            name: place.name.clone(),
            new: None,
            old,
        });
        if let Some(after) = &step.after {
            let folder = &self.prepared[prepared].folder;
            let mode = after.like.map(|like| replace::mode_of(&like.folder, like));
            let mode = mode
                .transpose()?
                .map(|mode| after.execution.applied_to(mode));
            let new = match after.execution {
                Execution::Allowed => NEW_PROGRAM,
                Execution::AsItIs | Execution::Forbidden => NEW_FILE,
            };
            let name = replace::write_beside(folder, after.bytes, new, mode)?;
            self.prepared[prepared].new = Some(name);
        }
        Ok(())
    }

    /// Gives every new content its name; where that fails, the place and why.
    fn exchange<'p>(&mut self, steps: &[Step<'p>]) -> Option<(&'p Place, io::Error)> {
        for (prepared, step) in self.prepared.iter().zip(steps) {
            let Prepared {
                folder,
                name,
                new,
                old,
            } = prepared;
            let done = match (new, old) {
                (Some(new), _) => rustix::fs::renameat(folder, new, folder, name),
                (None, Some(old)) => rustix::fs::renameat(folder, name, folder, old),
                (None, None) => Ok(()),
            };
            if let Err(error) = done {
                return Some((step.place, error.into()));
            }
            self.exchanged += 1;
        }
        None
    }

    /// Takes away the old contents.
    fn forget_the_old(self) {
        for prepared in &self.prepared {
            prepared.remove(prepared.old.as_ref());
        }
    }

    /// Puts everything back as it was; the paths where that failed.
    fn put_back(self, steps: &[Step<'_>]) -> Vec<String> {
        let mut spoilt = Vec::new();
        for (index, prepared) in self.prepared.iter().enumerate().rev() {
            let Prepared {
                folder, name, old, ..
            } = prepared;
            if index >= self.exchanged {
                // Of a file that was to go, the old name is not there yet.
                prepared.remove(prepared.new.as_ref());
                prepared.remove(prepared.old.as_ref().filter(|_| prepared.new.is_some()));
                continue;
            }
            let restored = match old {
                Some(old) => rustix::fs::renameat(folder, old, folder, name),
                None => rustix::fs::unlinkat(folder, name, AtFlags::empty()),
            };
            if restored.is_err() {
                spoilt.push(format!("`{}`", steps[index].place.shown()));
            }
        }
        for (parent, name) in self.folders.iter().rev() {
            // Somebody else may have put something there meanwhile: then it stays.
            let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
        spoilt
    }
}

impl Prepared {
    /// Takes away a file of ours. One that stays behind changes nothing of what was asked.
    fn remove(&self, name: Option<&OsString>) {
        if let Some(name) = name {
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

/// Keeps a file's content under a second name: the very file where the file system can, else a copy.
fn second_name(folder: &OwnedFd, place: &Place, mode: Mode) -> io::Result<OsString> {
    let second = replace::unused_name();
    let linked = rustix::fs::linkat(folder, &place.name, folder, &second, AtFlags::empty());
    if linked.is_ok() {
        return Ok(second);
    }
    let path = place.shown();
    let file = place.open(&path).map_err(io::Error::other)?;
    let bytes = super::jail::read_bounded(file, &path).map_err(io::Error::other)?;
    replace::write_beside(folder, &bytes, NEW_FILE, Some(mode))
}

impl Execution {
    fn applied_to(self, mode: Mode) -> Mode {
        let may_read = Mode::RUSR | Mode::RGRP | Mode::ROTH;
        let may_execute = Mode::XUSR | Mode::XGRP | Mode::XOTH;
        match self {
            Self::AsItIs => mode,
            Self::Allowed => {
                let readers = (mode & may_read).as_raw_mode();
                mode | Mode::from_raw_mode(readers >> 2)
            }
            Self::Forbidden => mode & !may_execute,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::jail::Jail;
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// Every name below a folder with what is there.
    fn snapshot(folder: &Path) -> Vec<(String, String, u32)> {
        let mut all: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let text = fs::read_to_string(&path).unwrap_or_else(|_| "(folder)".to_owned());
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, text, mode)
            })
            .collect();
        all.sort();
        all
    }

    fn new(bytes: &[u8]) -> Option<NewFile<'_>> {
        Some(NewFile {
            bytes,
            like: None,
            execution: Execution::AsItIs,
        })
    }

    #[test]
    fn a_fault_half_way_puts_everything_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["changed", "gone"] {
            fs::write(root.join(name), name).unwrap();
        }
        fs::set_permissions(root.join("changed"), fs::Permissions::from_mode(0o640)).unwrap();
        let jail = Jail::open(root).unwrap();
        let names = ["changed", "gone", "deep/new", "late"];
        let places = names.map(|name| jail.find(name).unwrap());
        // In the way of the last step, and not there when it was looked for.
        fs::create_dir(root.join("late")).unwrap();
        let before = snapshot(root);
        let steps = [
            Step {
                place: &places[0],
                after: new(b"other"),
            },
            Step {
                place: &places[1],
                after: None,
            },
            Step {
                place: &places[2],
                after: new(b"new"),
            },
            Step {
                place: &places[3],
                after: new(b"late"),
            },
        ];
        let error = carry_out(&steps).unwrap_err().to_string();
        assert!(
            error.starts_with("`late` could not be changed: "),
            "{error}"
        );
        assert!(error.ends_with("; no file was changed"), "{error}");
        assert_eq!(snapshot(root), before);
        carry_out(&steps[..3]).unwrap();
        let after: Vec<_> = snapshot(root).into_iter().map(|(n, t, _)| (n, t)).collect();
        let expected = [
            ("changed", "other"),
            ("deep", "(folder)"),
            ("late", "(folder)"),
        ];
        let expected = expected.map(|(n, t)| (n.to_owned(), t.to_owned()));
        assert_eq!(after, expected);
        assert_eq!(snapshot(&root.join("deep"))[0].1, "new");
    }

    #[test]
    fn a_fault_before_anything_was_exchanged_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("a"), "a").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        let jail = Jail::open(root).unwrap();
        let places = ["a", "new/b", "sub/c"].map(|name| jail.find(name).unwrap());
        fs::remove_dir(root.join("sub")).unwrap();
        let before = snapshot(root);
        let steps: Vec<Step<'_>> = places
            .iter()
            .map(|place| Step {
                place,
                after: new(b"x"),
            })
            .collect();
        carry_out(&steps).unwrap_err();
        assert_eq!(snapshot(root), before);
    }

    #[test]
    fn only_the_permission_to_execute_is_changed() {
        let check = |execution: Execution, mode: u32, expected: u32| {
            let mode = Mode::from_raw_mode(mode);
            assert_eq!(execution.applied_to(mode).as_raw_mode(), expected);
        };
        check(Execution::AsItIs, 0o640, 0o640);
        check(Execution::Allowed, 0o640, 0o750);
        check(Execution::Allowed, 0o644, 0o755);
        check(Execution::Forbidden, 0o755, 0o644);
    }
}
