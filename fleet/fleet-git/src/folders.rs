//! Files around worktrees: private folders, files that every worktree gets a copy of, taking a
//! folder away. Never follows a link out of the folder it works in.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// Makes a folder, and those above it, that only this account can look into.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let make = || {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
    };
    match make() {
        // Somebody took an empty folder above it away in between.
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(),
        made => made,
    }
}

/// Whether something has this name, be it a link to nowhere. Below a file nothing has a name.
pub(crate) fn is_taken(path: &Path) -> bool {
    !matches!(
        fs::symlink_metadata(path).map_err(|error| error.kind()),
        Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    )
}

/// Whether a path stays below the folder that it is relative to.
pub(crate) fn stays_inside(path: &Path) -> bool {
    !path.as_os_str().is_empty()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// Copies one file to the same relative place under another folder, with its mode. A link in the
/// target tree that leads elsewhere is refused with `InvalidInput`.
pub(crate) fn copy_file(from: &Path, to: &Path, relative: &Path) -> io::Result<()> {
    let target = to.join(relative);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
        if !parent.canonicalize()?.starts_with(to.canonicalize()?) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    }
    if is_taken(&target) {
        fs::remove_file(&target)?;
    }
    fs::copy(from.join(relative), &target).map(drop)
}

/// Copies everything in a folder but `.git`: files with their modes, links as links.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == ".git" {
            continue;
        }
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Takes a folder away with everything in it, write-protected folders too; a missing one is done.
pub(crate) fn take_away(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unprotect(folder)?;
            fs::remove_dir_all(folder)
        }
        done => done,
    }
}

/// Makes every folder below writable for its owner.
fn unprotect(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unprotect(&entry.path())?;
        }
    }
    Ok(())
}

/// Keeps a folder inside somebody's checkout out of their status, their `git add` and their
/// searches. A file that is there already stays.
pub(crate) fn hide_from_git(folder: &Path) -> io::Result<()> {
    let ignore: PathBuf = folder.join(".gitignore");
    if is_taken(&ignore) {
        return Ok(());
    }
    fs::write(ignore, "*\n")
}

#[cfg(test)]
mod tests {
    use super::{copy_file, is_taken, stays_inside, take_away};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    #[test]
    fn paths_that_leave_the_folder_are_recognised() {
        let check = |path: &str, wanted: bool| {
            assert_eq!(stays_inside(Path::new(path)), wanted, "{path}");
        };
        check(".env", true);
        check("a/b", true);
        check("", false);
        check("../x", false);
        check("a/../../x", false);
        check("/etc/passwd", false);
    }

    #[test]
    fn a_name_is_taken_by_what_is_there_and_by_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        symlink("nowhere", dir.path().join("link")).unwrap();
        let check = |below: &str, wanted: bool| {
            assert_eq!(is_taken(&dir.path().join(below)), wanted, "{below}");
        };
        check("file", true);
        check("link", true);
        check("free", false);
        check("free/below", false);
        check("file/below", false);
    }

    #[test]
    fn a_copy_keeps_its_mode_and_does_not_leave_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("d")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join("d/.env"), "k=1").unwrap();
        fs::set_permissions(from.join("d/.env"), fs::Permissions::from_mode(0o600)).unwrap();
        copy_file(&from, &to, Path::new("d/.env")).unwrap();
        copy_file(&from, &to, Path::new("d/.env")).unwrap();
        let mode = fs::metadata(to.join("d/.env"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);

        let other = dir.path().join("other");
        fs::create_dir_all(&other).unwrap();
        fs::remove_dir_all(to.join("d")).unwrap();
        symlink(&other, to.join("d")).unwrap();
        let error = copy_file(&from, &to, Path::new("d/.env")).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    }

    #[test]
    fn taking_away_leaves_what_a_link_points_to() {
        let dir = tempfile::tempdir().unwrap();
        let (gone, kept) = (dir.path().join("gone"), dir.path().join("kept"));
        fs::create_dir_all(gone.join("sub")).unwrap();
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("f"), "x").unwrap();
        symlink(&kept, gone.join("sub/link")).unwrap();
        fs::set_permissions(gone.join("sub"), fs::Permissions::from_mode(0o500)).unwrap();
        take_away(&gone).unwrap();
        take_away(&gone).unwrap();
        assert!(!gone.exists() && kept.join("f").exists());
    }
}
