//! Making work folders: free names, taking up, nothing left behind, many at once.

use crate::place::{FIRST, NOON, Place, listing, task};
use engine_core::ids::AttemptNo;
use fleet_core::ids::RunId;
use fleet_git::{Repo, WorkspaceError, Workspaces};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[test]
fn a_task_gets_a_folder_and_a_branch_at_the_base() {
    let place = Place::with_repo();
    let (_, workspace) = place.workspace();
    assert_eq!(workspace.branch().unwrap().as_str(), "codewhale/r/t/one/1");
    assert!(workspace.path().ends_with("r/one.1"));
    assert_eq!(fs::read(workspace.path().join("f")).unwrap(), b"1\n2\n3\n");
    assert_eq!(place.git(workspace.path(), &["status", "--porcelain"]), "");
    assert_eq!(
        place.git(workspace.path(), &["rev-parse", "HEAD"]),
        workspace.base().as_str()
    );
    assert_eq!(place.git("R", &["status", "--porcelain"]), "");
    let config = fs::read_to_string(place.path("R/.git/config")).unwrap();
    assert!(!config.contains("branch"), "{config}");
}

/// Names that are taken: what was there stays, and the task gets another name.
#[test]
fn names_that_are_taken_are_walked_around() {
    let check = |prepare: fn(&Place), branch: &str, folder: &str| {
        let place = Place::with_repo();
        prepare(&place);
        let before = place.git("R", &["for-each-ref"]);
        let files = listing(&place.path("wt"));
        let (_, workspace) = place.workspace();
        assert_eq!(workspace.branch().unwrap().as_str(), branch);
        assert!(workspace.path().ends_with(folder), "{:?}", workspace.path());
        let after = place.git("R", &["for-each-ref"]);
        assert!(before.lines().all(|line| after.contains(line)), "{after}");
        assert!(listing(&place.path("wt")).is_superset(&files));
    };
    check(
        |place| {
            place.git("R", &["checkout", "-q", "-b", "codewhale/r/t/one/1"]);
            place.commit("R", &[("g", "x")], "own");
            place.git("R", &["checkout", "-q", "trunk"]);
        },
        "codewhale/r/t/one/1-2",
        "one.1",
    );
    check(
        |place| {
            let args = [
                "worktree",
                "add",
                "-q",
                "-b",
                "codewhale/r/t/one/1",
                "../side",
            ];
            place.git("R", &args);
        },
        "codewhale/r/t/one/1-2",
        "one.1",
    );
    check(
        |place| drop(place.git("R", &["branch", "codewhale"])),
        "codewhale-2/r/t/one/1",
        "one.1",
    );
    check(
        |place| {
            let folder = place.path("wt").join(place.repo().hash()).join("r/one.1");
            place.write(folder, &[("mine", "x")]);
        },
        "codewhale/r/t/one/1",
        "one.1-2",
    );
}

#[test]
fn an_earlier_try_without_work_is_taken_up_and_one_with_work_is_not() {
    let check = |work: fn(&Place, &Path), is_taken_up: bool| {
        let place = Place::with_repo();
        let (_, first) = place.workspace();
        work(&place, first.path());
        let files = listing(first.path());
        let (_, second) = place.workspace();
        assert_eq!(first.path() == second.path(), is_taken_up);
        assert_eq!(first.branch() == second.branch(), is_taken_up);
        assert_eq!(listing(first.path()), files);
        let (_, third) = place.workspace();
        assert_eq!(third, second);
    };
    check(|_, _| {}, true);
    check(|_, path| fs::write(path.join("new"), "x").unwrap(), false);
    check(|_, path| fs::remove_file(path.join("f")).unwrap(), false);
    check(
        |place, path| drop(place.commit(path, &[("g", "x")], "work")),
        false,
    );
    check(
        |place, path| drop(place.git(path, &["checkout", "-q", "--detach"])),
        false,
    );
}

#[test]
fn a_task_is_not_handed_the_folder_of_a_living_one() {
    let place = Place::with_repo();
    let (workspaces, first) = place.workspace();
    let base = first.base().clone();
    let second = workspaces.for_task(&task("one"), FIRST, &base).unwrap();
    let next = workspaces
        .for_task(&task("one"), AttemptNo(2), &base)
        .unwrap();
    let names = [&first, &second, &next].map(|w| w.branch().unwrap().as_str().to_owned());
    assert_eq!(
        names,
        [
            "codewhale/r/t/one/1",
            "codewhale/r/t/one/1-2",
            "codewhale/r/t/one/2"
        ]
    );
    assert_ne!(first.path(), second.path());
    assert_ne!(first.snapshot_ref(), second.snapshot_ref());
}

/// Two runs in one repository, eight threads each, all at once.
#[test]
fn sixteen_at_once_from_two_runs_all_work() {
    let place = Place::with_repo();
    let runs = ["r1", "r2"]
        .map(|run| Workspaces::new(place.repo(), &place.path("wt"), &RunId(run.into()), &[]));
    let base = runs[0].repo().head().unwrap();
    let made: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                let (workspaces, base) = (&runs[number % 2], &base);
                // Half of the tasks have the same name as another one of their run.
                let name = format!("t{}", number / 4);
                scope.spawn(move || workspaces.for_task(&task(&name), FIRST, base).unwrap())
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let paths: BTreeSet<_> = made.iter().map(|w| w.path().to_owned()).collect();
    let branches: BTreeSet<_> = made.iter().map(|w| w.branch().cloned()).collect();
    assert_eq!((paths.len(), branches.len()), (16, 16));
    for workspace in &made {
        assert_eq!(place.git(workspace.path(), &["status", "--porcelain"]), "");
        fs::write(
            workspace.path().join("own"),
            workspace.path().to_str().unwrap(),
        )
        .unwrap();
    }
    let snapshots: BTreeSet<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = made
            .iter()
            .enumerate()
            .map(|(number, workspace)| {
                let workspaces = &runs[number % 2];
                scope.spawn(move || workspaces.snapshot(workspace, "s", NOON).unwrap().commit.0)
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(snapshots.len(), 16);
}

#[test]
fn readers_of_one_tree_share_a_detached_folder_until_somebody_writes_in_it() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    fs::write(workspace.path().join("new"), "x").unwrap();
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    let first = workspaces.read_only(&snapshot.commit).unwrap();
    assert_eq!(first.branch(), None);
    assert_eq!(fs::read(first.path().join("new")).unwrap(), b"x");
    assert_eq!(workspaces.read_only(&snapshot.commit).unwrap(), first);
    assert_eq!(
        place.workspaces().read_only(&snapshot.commit).unwrap(),
        first
    );
    let other = workspaces.read_only(workspace.base()).unwrap();
    assert_ne!(other.path(), first.path());

    fs::write(first.path().join("f"), "spoilt").unwrap();
    let fresh = place.workspaces().read_only(&snapshot.commit).unwrap();
    assert_ne!(fresh.path(), first.path());
    assert_eq!(fs::read(fresh.path().join("f")).unwrap(), b"1\n2\n3\n");
}

#[test]
fn what_cannot_be_copied_leaves_nothing_behind() {
    let check = |copy: &str, wanted: fn(&WorkspaceError) -> bool| {
        let place = Place::with_repo();
        place.commit("R", &[(".gitignore", ".env\nd\n")], "ignore");
        place.write("R", &[("seen", "x"), ("d/e", "x")]);
        let workspaces = place.workspaces_with(&[copy]);
        let base = workspaces.repo().head().unwrap();
        let before = place.state();
        let error = workspaces.for_task(&task("one"), FIRST, &base).unwrap_err();
        assert!(wanted(&error), "{copy}: {error}");
        assert_eq!(place.state(), before);
        assert!(
            place
                .workspaces()
                .for_task(&task("one"), FIRST, &base)
                .is_ok()
        );
    };
    check(".env", |e| matches!(e, WorkspaceError::CopyMissing(_)));
    check("../R/f", |e| matches!(e, WorkspaceError::CopyOutside(_)));
    check("/etc/passwd", |e| {
        matches!(e, WorkspaceError::CopyOutside(_))
    });
    check("seen", |e| matches!(e, WorkspaceError::CopyNotIgnored(_)));
    check("f", |e| matches!(e, WorkspaceError::CopyNotIgnored(_)));
    check("d", |e| matches!(e, WorkspaceError::CopyOutside(_)));
}

#[test]
fn a_copied_file_keeps_its_mode_and_stays_out_of_snapshots() {
    let place = Place::with_repo();
    place.commit("R", &[(".gitignore", ".env\n")], "ignore");
    place.write("R", &[(".env", "key=1\n")]);
    fs::set_permissions(place.path("R/.env"), fs::Permissions::from_mode(0o600)).unwrap();
    let workspaces = place.workspaces_with(&[".env"]);
    let base = workspaces.repo().head().unwrap();
    let workspace = workspaces.for_task(&task("one"), FIRST, &base).unwrap();
    let copied = workspace.path().join(".env");
    assert_eq!(fs::read(&copied).unwrap(), b"key=1\n");
    assert_eq!(
        fs::metadata(&copied).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    assert_eq!(snapshot.commit, base);
    let checkout = workspaces.clean_checkout(&base).unwrap();
    assert_eq!(fs::read(checkout.path().join(".env")).unwrap(), b"key=1\n");
}

#[test]
fn a_deleted_folder_is_made_again_and_gets_its_snapshot_back() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    fs::write(workspace.path().join("new"), "x").unwrap();
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    for prune in [false, true] {
        fs::remove_dir_all(workspace.path()).unwrap();
        if prune {
            place.git("R", &["worktree", "prune"]);
        }
        let error = workspaces.snapshot(&workspace, "s", NOON).unwrap_err();
        assert!(matches!(error, WorkspaceError::Gone(_)), "{error}");
        let workspaces = place.workspaces();
        let again = workspaces.reopen(workspace.path()).unwrap();
        assert_eq!(again.branch(), workspace.branch());
        assert!(!again.path().join("new").exists());
        workspaces.restore(&again, &snapshot.commit).unwrap();
        assert_eq!(fs::read(again.path().join("new")).unwrap(), b"x");
    }
    let error = place
        .workspaces()
        .reopen(Path::new("/nowhere/one.1"))
        .unwrap_err();
    assert!(matches!(error, WorkspaceError::Gone(_)));
}

#[test]
fn a_resumed_attempt_finds_its_own_folder_in_the_state_asked_for() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    let base = workspace.base().clone();
    fs::write(workspace.path().join("kept"), "x").unwrap();
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    fs::write(workspace.path().join("unknown"), "y").unwrap();
    let resume = |state| {
        let again = place.workspaces();
        again.resume(&task("one"), FIRST, &base, state).unwrap()
    };
    let names = |path: &Path| listing(path).len();
    assert_eq!(resume(&snapshot.commit), workspace);
    assert_eq!(names(workspace.path()), 2);
    assert_eq!(resume(&base), workspace);
    assert_eq!(names(workspace.path()), 1);
    fs::remove_dir_all(workspace.path()).unwrap();
    assert_eq!(resume(&snapshot.commit).path(), workspace.path());
    assert_eq!(names(workspace.path()), 2);
    let other = place.workspaces();
    let fresh = other
        .resume(&task("two"), FIRST, &base, &snapshot.commit)
        .unwrap();
    assert_eq!(fresh.branch().unwrap().as_str(), "codewhale/r/t/two/1");
    assert_eq!(names(fresh.path()), 2);
}

/// What a sandbox grants is enough for `git commit` and names no other task's branch.
#[test]
fn the_writable_git_paths_are_its_own() {
    let place = Place::with_repo();
    let (_, workspace) = place.workspace();
    let paths = workspace.writable_git_paths().unwrap();
    let common = place.path("R/.git");
    let wanted: Vec<PathBuf> = [
        "objects",
        "worktrees/one.1",
        "refs/heads/codewhale/r/t/one",
        "logs/refs/heads/codewhale/r/t/one",
    ]
    .iter()
    .map(|path| common.join(path))
    .collect();
    assert_eq!(paths, wanted);
    assert!(paths.iter().all(|path| path.is_dir()));
    let before = fs::read(common.join("logs/HEAD")).unwrap();
    place.commit(workspace.path(), &[("g", "x")], "work");
    assert_eq!(fs::read(common.join("logs/HEAD")).unwrap(), before);
}

/// A repository that was moved while nobody worked: its worktrees find it again.
#[test]
fn a_worktree_is_taken_up_after_its_repository_was_moved() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "work\n")]);
    let base = workspace.base().clone();
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    drop(workspaces);
    fs::rename(place.path("R"), place.path("moved")).unwrap();
    let repo = Repo::discover_in(&place.path("moved"), place.surroundings()).unwrap();
    let later = Workspaces::new(repo, &place.path("wt"), &RunId("r".into()), &[]);
    let again = later
        .resume(&task("one"), FIRST, &base, &snapshot.commit)
        .unwrap();
    assert_eq!(again.path(), workspace.path());
    assert_eq!(place.git(again.path(), &["status", "--porcelain"]), " M f");
    assert_eq!(
        later.snapshot(&again, "s", NOON).unwrap().commit,
        snapshot.commit
    );
    fs::write(again.path().join("f"), "1\n2\n3\n").unwrap();
    later.remove(&again).unwrap();
    assert_eq!(place.git("moved", &["worktree", "list"]).lines().count(), 1);
    // Nothing stays of the folders that lay where the repository was before.
    let rest = fs::read_dir(place.path("wt")).unwrap();
    assert_eq!(rest.count(), 0);
}

/// A worktree that somebody moved, edited or took the branch of, while nobody worked.
#[test]
fn what_a_person_did_to_a_worktree_is_undone_on_resume() {
    let check = |meddle: fn(&Place, &Path)| {
        let place = Place::with_repo();
        let (workspaces, workspace) = place.workspace();
        place.write(workspace.path(), &[("f", "work\n"), ("new", "n\n")]);
        let base = workspace.base().clone();
        let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
        meddle(&place, workspace.path());
        let later = place.workspaces();
        let again = later
            .resume(&task("one"), FIRST, &base, &snapshot.commit)
            .unwrap();
        assert_eq!(fs::read(again.path().join("f")).unwrap(), b"work\n");
        assert_eq!(
            listing(again.path()).len(),
            2,
            "{:?}",
            listing(again.path())
        );
        let kept = later.snapshot(&again, "s", NOON).unwrap();
        assert_eq!(kept.tree, snapshot.tree);
        place.git(again.path(), &["status", "--porcelain"]);
    };
    check(|_, path| fs::write(path.join("f"), "edited").unwrap());
    check(|_, path| fs::write(path.join("stray"), "x").unwrap());
    check(|place, path| fs::rename(path, place.path("elsewhere")).unwrap());
    check(|_, path| fs::remove_dir_all(path).unwrap());
    check(|_, path| fs::remove_file(path.join(".git")).unwrap());
    check(|place, path| {
        place.git(path, &["checkout", "-q", "--detach"]);
        place.git("R", &["branch", "-q", "-D", "codewhale/r/t/one/1"]);
    });
    check(|place, path| {
        fs::remove_dir_all(path).unwrap();
        place.git("R", &["worktree", "prune"]);
        place.git("R", &["branch", "-q", "-D", "codewhale/r/t/one/1"]);
    });
    check(|place, path| drop(place.commit(path, &[("own", "x")], "the person's own")));
    check(|place, _| {
        let other = place.commit("R", &[("g", "x")], "other");
        let moved = ["update-ref", "refs/heads/codewhale/r/t/one/1"];
        place.git("R", &[&moved[..], &[other.as_str()]].concat());
    });
}
