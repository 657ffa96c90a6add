//! Making work folders: free names, taking up, nothing left behind, many at once.

mod support;

use engine_core::ids::{AttemptNo, TaskId};
use std::fs;
use support::{NOON, Place};

fn one() -> TaskId {
    "one".parse().unwrap()
}

const FIRST: AttemptNo = AttemptNo(1);

#[test]
fn a_task_gets_a_folder_and_a_branch_at_the_base() {
    let place = Place::with_repo();
    let workspaces = place.workspaces();
    let base = workspaces.repo().head().unwrap();
    let workspace = workspaces.for_task(&one(), FIRST, &base).unwrap();
    assert_eq!(workspace.branch().unwrap().as_str(), "codewhale/r/t/one/1");
    assert_eq!(fs::read(workspace.path().join("f")).unwrap(), b"1\n2\n3\n");
    let folder = workspace.path().to_str().unwrap();
    assert_eq!(place.git(folder, &["status", "--porcelain"]), "");
    assert_eq!(place.git(folder, &["rev-parse", "HEAD"]), base.as_str());
    fs::write(workspace.path().join("new"), "x").unwrap();
    let snapshot = workspaces.snapshot(&workspace, "step", NOON).unwrap();
    assert_eq!(snapshot.left_out, Vec::<std::path::PathBuf>::new());
    let same = workspaces.snapshot(&workspace, "step", NOON).unwrap();
    assert_eq!(same, snapshot);
}
