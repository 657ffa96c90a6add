//! What a run leaves behind: told before it is taken away, and taken away without losing work unasked.

use crate::place::{FIRST, NOON, Place, task};
use fleet_core::ids::{BranchName, RunId};
use fleet_git::{CommitIntent, Leaving, Workspace, Workspaces, Worth};

/// Makes a commit of what is in a folder, on its branch.
fn commit(workspaces: &Workspaces, workspace: &Workspace) -> String {
    let snapshot = workspaces.snapshot(workspace, "s", NOON).unwrap();
    let plan = workspaces.repo().plan_commit(&CommitIntent {
        tree: &snapshot.tree,
        parents: &[workspace.base().clone()],
        message: "work",
        role: "builder",
        at: NOON,
    });
    workspaces
        .commit(workspace, &plan, workspace.base())
        .unwrap();
    plan.id().to_string()
}

fn said(leavings: &[Leaving]) -> Vec<String> {
    let line = |left: &Leaving| {
        let worth = match &left.worth {
            Worth::Nothing => "nothing",
            Worth::Work => "work",
            Worth::CheckedOut(_) => "checked out",
        };
        format!("{} {worth}", left.name)
    };
    leavings.iter().map(line).collect()
}

#[test]
fn what_landed_can_go_and_what_exists_nowhere_else_is_named() {
    let place = Place::with_repo();
    let workspaces = place.workspaces();
    let base = workspaces.repo().head().unwrap();
    let make = |name: &str| {
        let made = workspaces.for_task(&task(name), FIRST, &base).unwrap();
        place.write(made.path(), &[(name, "x\n")]);
        let tip = commit(&workspaces, &made);
        (made, tip)
    };
    let (landed, tip) = make("landed");
    place.git("R", &["branch", "codewhale/r/integration", &tip]);
    let (failed, _) = make("failed");
    let (held, _) = make("held");
    let branches: Vec<BranchName> = [&landed, &failed, &held]
        .iter()
        .map(|made| made.branch().unwrap().clone())
        .collect();
    // The folder of one is gone with its branch, that of another is gone without it.
    workspaces.remove(&landed).unwrap();
    std::fs::remove_dir_all(failed.path()).unwrap();
    place.git("R", &["worktree", "prune"]);
    // Two attempts with the same work are no reason to lose both.
    place.git(
        "R",
        &["branch", "codewhale/r/t/failed/2", branches[1].as_str()],
    );
    let more = [
        &branches[..],
        &[BranchName("codewhale/r/t/failed/2".into())],
    ]
    .concat();

    let repo = place.repo();
    let leavings = repo.leavings(&RunId("r".into()), &more).unwrap();
    assert_eq!(
        said(&leavings),
        [
            "refs/heads/codewhale/r/t/failed/1 work",
            "refs/heads/codewhale/r/t/held/1 checked out",
            "refs/heads/codewhale/r/t/failed/2 work",
            "refs/codewhale/r/s/failed/1 work",
            "refs/codewhale/r/s/held/1 work",
            "refs/codewhale/r/s/landed/1 nothing",
        ]
    );
    let other = repo.leavings(&RunId("q".into()), &[]).unwrap();
    assert_eq!(other, []);

    let harmless: Vec<&Leaving> = leavings
        .iter()
        .filter(|left| left.worth == Worth::Nothing)
        .collect();
    repo.drop_leavings(&harmless).unwrap();
    assert_eq!(
        place.git("R", &["for-each-ref", "refs/codewhale/r/s/landed"]),
        ""
    );
    // One that was moved meanwhile stays, and so do all others of the same order.
    place.git("R", &["update-ref", &leavings[0].name, base.as_str()]);
    assert!(
        repo.drop_leavings(&leavings.iter().collect::<Vec<_>>())
            .is_err()
    );
    assert_eq!(repo.leavings(&RunId("r".into()), &more).unwrap().len(), 5);
}

/// A person's clean-up of the repository in the middle of a run.
#[test]
fn snapshots_survive_when_the_person_collects_garbage() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "work\n")]);
    let first = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    place.write(workspace.path(), &[("f", "more work\n")]);
    place.git("R", &["reflog", "expire", "--expire=now", "--all"]);
    place.git("R", &["gc", "-q", "--prune=now"]);
    let second = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    assert_ne!(first.commit, second.commit);
    for (snapshot, content) in [(&first, "work\n"), (&second, "more work\n")] {
        workspaces.restore(&workspace, &snapshot.commit).unwrap();
        let found = std::fs::read_to_string(workspace.path().join("f")).unwrap();
        assert_eq!(found, content);
    }
    place.git("R", &["fsck", "--no-progress", "--strict"]);
}

/// Contents that were read in, but belonged to no snapshot yet when garbage was collected.
#[test]
fn contents_that_were_collected_as_garbage_are_read_in_again() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "work\n"), ("d/new", "n\n")]);
    let lost = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    place.git("R", &["update-ref", "-d", workspace.snapshot_ref()]);
    place.git("R", &["prune", "--expire=now"]);
    let gone = place.try_git("R", &["cat-file", "-e", lost.tree.as_str()]);
    assert!(!gone.status.success());
    let again = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    assert_eq!(again.tree, lost.tree);
    place.git("R", &["fsck", "--no-progress", "--strict"]);
}
