//! Clean checkouts for checks.

use crate::place::{FIRST, NOON, Place, contents, task};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_used_checkout_is_as_clean_as_a_new_one() {
    let place = Place::with_repo();
    place.commit("R", &[(".gitignore", "target\n"), ("d/x", "x")], "more");
    let (workspaces, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "work\n"), ("new", "n")]);
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    let damage: [fn(&Place, &Path); 6] = [
        |_, _| {},
        |place, path| {
            place.write(
                path,
                &[("f", "bad"), ("target/cache", "c"), ("junk/a", "j")],
            );
        },
        |_, path| {
            fs::remove_dir_all(path.join("d")).unwrap();
            fs::write(path.join("d"), "file").unwrap();
        },
        |place, path| {
            place.git(path, &["checkout", "-q", "-B", "check-branch"]);
            fs::write(path.join("f"), "staged").unwrap();
            place.git(path, &["add", "f"]);
        },
        |place, path| {
            fs::remove_file(path.join(".git")).unwrap();
            place.git(path, &["init", "-q"]);
        },
        |_, path| fs::remove_dir_all(path).unwrap(),
    ];
    let mut folder = None;
    for damage in damage {
        for (commit, wanted) in [
            (&snapshot.commit, workspace.path()),
            (workspace.base(), &place.path("R")),
        ] {
            let checkout = workspaces.clean_checkout(commit).unwrap();
            let path = checkout.path().to_owned();
            assert_eq!(contents(&path), contents(wanted));
            assert_eq!(place.git(&path, &["rev-parse", "HEAD"]), commit.as_str());
            assert_eq!(
                place.git(&path, &["status", "--porcelain", "--ignored"]),
                ""
            );
            assert_eq!(folder.get_or_insert(path.clone()), &path);
            damage(&place, &path);
        }
    }
}

/// `check` and `tree` are good names for tasks.
#[test]
fn a_task_may_be_called_like_a_checkout() {
    let place = Place::with_repo();
    let workspaces = place.workspaces();
    let base = workspaces.repo().head().unwrap();
    for id in ["check", "tree"] {
        let workspace = workspaces.for_task(&task(id), FIRST, &base).unwrap();
        place.write(workspace.path(), &[("work", "x")]);
        let checkout = workspaces.clean_checkout(&base).unwrap();
        let reader = workspaces.read_only(&base).unwrap();
        assert!(checkout.path() != workspace.path() && reader.path() != workspace.path());
        drop(checkout);
        place.workspaces().discard_checkouts().unwrap();
        assert!(workspace.path().join("work").exists());
    }
}

#[test]
fn checkouts_in_use_are_kept_apart_and_all_are_discarded_in_the_end() {
    let place = Place::with_repo();
    let workspaces = place.workspaces();
    let commit = workspaces.repo().head().unwrap();
    let before = place.state();
    let first = workspaces.clean_checkout(&commit).unwrap();
    let second = workspaces.clean_checkout(&commit).unwrap();
    assert_ne!(first.path(), second.path());
    let kept = second.path().to_owned();
    drop(first);
    workspaces.discard_checkouts().unwrap();
    assert!(kept.exists());
    drop(second);
    fs::write(kept.join("junk"), "x").unwrap();
    workspaces.discard_checkouts().unwrap();
    assert_eq!(place.state(), before);
}

#[test]
fn worktrees_can_be_listed_while_a_checkout_is_used_again() {
    let place = Place::with_repo();
    let workspaces = place.workspaces();
    let base = workspaces.repo().head().unwrap();
    drop(workspaces.clean_checkout(&base).unwrap());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                drop(workspaces.clean_checkout(&base).unwrap());
            }
        });
        for _ in 0..60 {
            let listed = place.try_git("R", &["worktree", "list", "--porcelain"]);
            let said = String::from_utf8_lossy(&listed.stderr);
            done.fetch_or(!listed.status.success(), Ordering::Relaxed);
            assert!(listed.status.success(), "{said}");
        }
        done.store(true, Ordering::Relaxed);
    });
}
