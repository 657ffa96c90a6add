//! Lock files of git: those of others are waited for, then named, never removed. What a process before
//! this one left when it was cut off is cleared away.

use crate::place::{FIRST, NOON, Place, task};
use fleet_git::{CommitIntent, CommitPlan, Moved, Workspace, WorkspaceError, Workspaces};
use std::fs;
use std::time::{Duration, Instant};

fn finished(place: &Place) -> (Workspaces, Workspace, CommitPlan) {
    let (workspaces, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "done\n")]);
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    let plan = workspaces.repo().plan_commit(&CommitIntent {
        tree: &snapshot.tree,
        parents: &[workspace.base().clone()],
        message: "Do it",
        role: "builder",
        at: NOON,
    });
    (workspaces, workspace, plan)
}

#[test]
fn a_lock_on_the_persons_index_is_no_matter() {
    let place = Place::with_repo();
    let lock = place.path("R/.git/index.lock");
    fs::write(&lock, "").unwrap();
    let started = Instant::now();
    let (workspaces, workspace, plan) = finished(&place);
    let moved = workspaces
        .commit(&workspace, &plan, workspace.base())
        .unwrap();
    assert_eq!(moved, Moved::Done);
    workspaces.restore(&workspace, workspace.base()).unwrap();
    assert!(started.elapsed() < Duration::from_secs(4));
    assert!(lock.exists());
}

#[test]
fn a_lock_on_the_folders_index_that_goes_away_is_waited_for() {
    let place = Place::with_repo();
    let (workspaces, workspace, plan) = finished(&place);
    let lock = place.path("R/.git/worktrees/one.1/index.lock");
    fs::write(&lock, "").unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let branch = workspace.branch().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let moved = workspaces.commit(&workspace, &plan, workspace.base());
            send.send(moved.unwrap()).unwrap();
        });
        // The commit is on its branch before the lock is asked for.
        while workspaces.repo().branch_tip(branch).unwrap().as_ref() != Some(plan.id()) {
            std::thread::yield_now();
        }
        let early = receive.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "went on without the lock");
        fs::remove_file(&lock).unwrap();
        assert_eq!(receive.recv().unwrap(), Moved::Done);
    });
    assert_eq!(place.git(workspace.path(), &["status", "--porcelain"]), "");
}

#[test]
fn a_lock_that_stays_is_named_with_its_age_and_left_alone() {
    let place = Place::with_repo();
    let (workspaces, workspace, plan) = finished(&place);
    let lock = place.path("R/.git/worktrees/one.1/index.lock");
    let file = fs::File::create(&lock).unwrap();
    let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(hour_ago).unwrap();
    let error = workspaces
        .commit(&workspace, &plan, workspace.base())
        .unwrap_err();
    assert!(error.is_transient());
    let WorkspaceError::Lock(held) = &error else {
        panic!("{error}");
    };
    assert_eq!(held.path, lock);
    assert!(held.age.unwrap() >= Duration::from_secs(3600));
    let text = error.to_string();
    assert!(
        text.contains("index.lock is held by another process since 36"),
        "{text}"
    );
    assert!(lock.exists());
    // The commit itself is there, and other work goes on.
    let branch = workspace.branch().unwrap();
    assert_eq!(
        workspaces.repo().branch_tip(branch).unwrap().as_ref(),
        Some(plan.id())
    );
    workspaces.snapshot(&workspace, "s", NOON).unwrap();
    fs::remove_file(&lock).unwrap();
    let again = workspaces
        .commit(&workspace, &plan, workspace.base())
        .unwrap();
    assert_eq!(again, Moved::AlreadyDone);
}

#[test]
fn locks_that_a_dead_process_left_on_what_only_the_fleet_moves_are_outlasted() {
    let place = Place::with_repo();
    let (_, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "done\n")]);
    let branch = workspace.branch().unwrap();
    let locks = [
        format!("{}.lock", workspace.snapshot_ref()),
        format!("refs/heads/{branch}.lock"),
        "worktrees/one.1/index.lock".to_owned(),
    ];
    let locks = locks.map(|name| place.path("R/.git").join(name));
    for lock in &locks {
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(lock, "").unwrap();
    }
    let next = place.workspaces();
    let again = next.reopen(workspace.path()).unwrap();
    let snapshot = next.snapshot(&again, "s", NOON).unwrap();
    let plan = next.repo().plan_commit(&CommitIntent {
        tree: &snapshot.tree,
        parents: &[again.base().clone()],
        message: "Do it",
        role: "builder",
        at: NOON,
    });
    let moved = next.commit(&again, &plan, again.base()).unwrap();
    assert_eq!(moved, Moved::Done);
    for lock in locks {
        assert!(!lock.exists(), "{} stays", lock.display());
    }
}

#[test]
fn a_registration_that_was_cut_off_keeps_nobody_from_registering() {
    let place = Place::with_repo();
    let (_, workspace) = place.workspace();
    let half = place.path("R/.git/worktrees/half");
    let folder = workspace.path().parent().unwrap();
    let gitdir = format!("{}\n", folder.join("half/.git").display());
    place.write(&half, &[("gitdir", &gitdir), ("commondir", "")]);
    assert!(!place.try_git("R", &["worktree", "list"]).status.success());
    let base = workspace.base();
    place
        .workspaces()
        .for_task(&task("two"), FIRST, base)
        .unwrap();
    assert!(!half.exists());
    place.git("R", &["worktree", "list"]);
}
