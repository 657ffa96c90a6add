//! Clean-up loses nothing.

use crate::place::{FIRST, NOON, Place, task};
use fleet_git::{CommitIntent, KeptReason, Removal, Workspace, Workspaces};
use std::fs;
use std::path::{Path, PathBuf};

/// Removes the folder of a task after some work, twice, and checks that no commit got lost.
fn check(work: fn(&Place, &Workspaces, &Workspace), wanted: &str) {
    let place = Place::with_repo();
    place.commit("R", &[(".gitignore", "*.log\n")], "ignore");
    let (workspaces, workspace) = place.workspace();
    work(&place, &workspaces, &workspace);
    let unreachable = place.unreachable_commits();
    let before = place.state();
    for _ in 0..2 {
        match workspaces.remove(&workspace).unwrap() {
            Removal::Kept { path, reason } => {
                assert_eq!(
                    reason.to_string().split(" commits up").next().unwrap(),
                    reason.to_string()
                );
                let reason = match reason {
                    KeptReason::Commits(_) => "commits".to_owned(),
                    reason => reason.to_string(),
                };
                assert_eq!(format!("kept, {reason}"), wanted);
                assert_eq!(path, workspace.path());
                assert_eq!(place.state(), before);
            }
            Removal::Removed { .. } => {
                assert_eq!("removed", wanted);
                assert!(!workspace.path().exists());
                let refs = place.git("R", &["for-each-ref", "refs/heads/codewhale/r/t"]);
                assert_eq!(refs, "");
                assert_eq!(place.git("R", &["worktree", "list"]).lines().count(), 1);
            }
        }
    }
    assert_eq!(place.unreachable_commits(), unreachable);
}

#[test]
fn work_that_exists_nowhere_else_is_kept() {
    check(|_, _, _| {}, "removed");
    check(
        |place, _, w| place.write(w.path(), &[("new.rs", "x")]),
        "kept, uncommitted: new.rs",
    );
    check(
        |place, _, w| place.write(w.path(), &[("f", "x"), ("two words", "x")]),
        "kept, uncommitted: f and 1 more",
    );
    check(
        |_, _, w| fs::remove_file(w.path().join("f")).unwrap(),
        "kept, uncommitted: f",
    );
    check(
        |place, _, w| {
            place.git(w.path(), &["checkout", "-q", "--detach"]);
            place.commit(w.path(), &[("g", "x")], "detached");
        },
        "kept, commits",
    );
    check(
        |place, _, w| {
            place.commit(w.path(), &[("g", "x")], "first run");
            place.workspaces().reopen(w.path()).unwrap();
        },
        "kept, commits",
    );
    check(
        |place, _, w| {
            place.write(w.path(), &[("f", "staged\n")]);
            place.git(w.path(), &["add", "f"]);
            place.write(w.path(), &[("f", "1\n2\n3\n")]);
        },
        "kept, staged only: f",
    );
    check(
        |place, _, w| {
            place.commit("R", &[("f", "other\n")], "other");
            place.commit(w.path(), &[("f", "mine\n")], "mine");
            let merge = place.try_git(w.path(), &["merge", "-q", "trunk"]);
            assert!(!merge.status.success());
        },
        "kept, a merge is begun",
    );
    check(
        |place, _, w| {
            place.commit("R", &[("f", "other\n")], "other");
            place.commit(w.path(), &[("f", "mine\n")], "mine");
            let rebase = place.try_git(w.path(), &["rebase", "-q", "trunk"]);
            assert!(!rebase.status.success());
        },
        "kept, a rebase is begun",
    );
    check(
        |place, _, w| {
            fs::remove_dir_all(w.path()).unwrap();
            fs::create_dir(w.path()).unwrap();
            place.write(w.path(), &[("mine", "x")]);
            fs::remove_dir_all(place.path("R/.git/worktrees/one.1")).unwrap();
        },
        "kept, no longer registered as a worktree",
    );
}

#[test]
fn a_commit_that_another_branch_holds_goes_with_its_folder() {
    check(
        |place, _, w| {
            let commit = place.commit(w.path(), &[("g", "x")], "work");
            place.git("R", &["branch", "codewhale/r/integration", commit.as_str()]);
        },
        "removed",
    );
    check(
        |place, workspaces, w| {
            place.write(w.path(), &[("g", "x")]);
            let snapshot = workspaces.snapshot(w, "s", NOON).unwrap();
            let plan = workspaces.repo().plan_commit(&CommitIntent {
                tree: &snapshot.tree,
                parents: &[w.base().clone()],
                message: "work",
                role: "builder",
                at: NOON,
            });
            workspaces.commit(w, &plan, w.base()).unwrap();
            place.git("R", &["merge", "-q", w.branch().unwrap().as_str()]);
        },
        "removed",
    );
}

#[test]
fn ignored_files_go_and_are_named_but_not_those_it_was_given() {
    let place = Place::with_repo();
    place.commit("R", &[(".gitignore", "*.log\ntarget\n.env\n")], "ignore");
    place.write("R", &[(".env", "x")]);
    let workspaces = place.workspaces_with(&[".env"]);
    let base = workspaces.repo().head().unwrap();
    let workspace = workspaces.for_task(&task("one"), FIRST, &base).unwrap();
    place.write(
        workspace.path(),
        &[("run.log", "1"), ("target/a", ""), ("target/b", "")],
    );
    let Removal::Removed { mut ignored } = workspaces.remove(&workspace).unwrap() else {
        panic!("must be removed");
    };
    ignored.sort();
    assert_eq!(
        ignored,
        [PathBuf::from("run.log"), PathBuf::from("target/")]
    );
}

/// An attempt that starts where an earlier one ended has made nothing itself.
#[test]
fn an_attempt_that_added_nothing_to_an_earlier_one_is_removed() {
    let place = Place::with_repo();
    let (workspaces, first) = place.workspace();
    place.write(first.path(), &[("g", "x")]);
    let snapshot = workspaces.snapshot(&first, "s", NOON).unwrap();
    let second = workspaces
        .for_task(
            &task("one"),
            engine_core::ids::AttemptNo(2),
            &snapshot.commit,
        )
        .unwrap();
    let reader = workspaces.read_only(&snapshot.commit).unwrap();
    for workspace in [second, reader] {
        let removal = workspaces.remove(&workspace).unwrap();
        assert_eq!(removal, Removal::Removed { ignored: vec![] });
        assert!(!workspace.path().exists());
    }
    assert!(matches!(
        workspaces.remove(&first).unwrap(),
        Removal::Kept { .. }
    ));
    assert_eq!(place.unreachable_commits(), Vec::<String>::new());
}

#[test]
fn a_removed_name_can_be_used_again() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    workspaces.remove(&workspace).unwrap();
    let folder: &Path = workspace.path().parent().unwrap();
    assert!(!folder.exists());
    let again = workspaces
        .for_task(&task("one"), FIRST, workspace.base())
        .unwrap();
    assert_eq!(again, workspace);
}
