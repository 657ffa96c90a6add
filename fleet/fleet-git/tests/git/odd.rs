//! File names that are not what one expects, as exact bytes, under another language.

use crate::place::{NOON, Place, contents, listing};
use fleet_git::Change;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NAMES: [&[u8]; 10] = [
    b"two words.txt",
    "ä.txt".as_bytes(),
    b"a -> b.txt",
    b"\"q\".txt",
    b"line\nfeed",
    b"x b/y",
    b"-dash.txt",
    b"bad\xffutf8",
    b":(glob)*",
    b"a;b$(touch pwned)`id`",
];

fn name(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn write(folder: &Path, bytes: &[u8], content: &str) {
    let file = folder.join(name(bytes));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

#[test]
fn odd_names_pass_through_snapshot_diff_undo_and_landing_as_bytes() {
    let place = Place::with_repo();
    for bytes in NAMES {
        write(&place.path("R"), bytes, "before\nsame\nsame\nsame\nsame\n");
    }
    place.commit("R", &[], "odd");
    let (workspaces, workspace) = place.workspace();
    let before = contents(workspace.path());
    for bytes in NAMES {
        write(workspace.path(), bytes, "after\nsame\nsame\nsame\nsame\n");
    }
    let new = workspace.path().join("neu ü.txt");
    fs::rename(workspace.path().join("two words.txt"), new).unwrap();
    let after = contents(workspace.path());
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    assert_eq!(snapshot.left_out, Vec::<PathBuf>::new());

    let diff = workspaces
        .repo()
        .diff(workspace.base(), &snapshot.commit, usize::MAX)
        .unwrap();
    let mut changed: Vec<PathBuf> = diff.files.iter().map(|file| file.path.clone()).collect();
    changed.sort();
    let mut wanted: Vec<PathBuf> = NAMES[1..]
        .iter()
        .map(|bytes| name(bytes).to_owned())
        .collect();
    wanted.push("neu ü.txt".into());
    wanted.sort();
    assert_eq!(changed, wanted);
    for file in &diff.files {
        assert_eq!((file.added, file.removed), (1, 1), "{:?}", file.path);
        let renamed = Change::Renamed {
            from: "two words.txt".into(),
        };
        let is_new = file.path == Path::new("neu ü.txt");
        assert_eq!(file.change, if is_new { renamed } else { Change::Modified });
    }

    workspaces.restore(&workspace, workspace.base()).unwrap();
    assert_eq!(contents(workspace.path()), before);
    workspaces.restore(&workspace, &snapshot.commit).unwrap();
    assert_eq!(contents(workspace.path()), after);
    let checkout = workspaces.clean_checkout(&snapshot.commit).unwrap();
    assert_eq!(contents(checkout.path()), after);
    assert!(!workspace.path().join("pwned").exists());
}

#[test]
fn names_that_differ_in_case_only_and_deep_folders_are_kept_apart() {
    let place = Place::with_repo();
    let deep = format!("deep/{}leaf", "d/".repeat(100));
    place.commit(
        "R",
        &[("README", "A"), ("readme", "a"), (&deep, "x")],
        "case",
    );
    let (workspaces, workspace) = place.workspace();
    assert_eq!(listing(workspace.path()), listing(&place.path("R")));
    fs::write(workspace.path().join("readme"), "b").unwrap();
    fs::remove_file(workspace.path().join(&deep)).unwrap();
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    let diff = workspaces
        .repo()
        .diff(workspace.base(), &snapshot.commit, 0)
        .unwrap();
    let names: Vec<_> = diff.files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(names, [PathBuf::from(deep), PathBuf::from("readme")]);
}
