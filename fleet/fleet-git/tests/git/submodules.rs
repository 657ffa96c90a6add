//! Submodules, and worktrees that lie inside the repository.

use crate::place::{FIRST, NOON, Place, task};
use fleet_core::ids::RunId;
use fleet_git::{KeptReason, Removal, Workspaces};
use std::fs;
use std::path::PathBuf;

fn with_submodule() -> Place {
    let place = Place::with_repo();
    place.git(".", &["init", "-q", "-b", "main", "lib-src"]);
    place.commit("lib-src", &[("l", "library\n")], "lib");
    place.git("R", &["submodule", "--quiet", "add", "../lib-src", "lib"]);
    place.commit(
        "R",
        &[(".gitignore", ".env\n"), ("word", "onlyonce\n")],
        "submodule",
    );
    place.write("R", &[(".env", "k=1\n")]);
    place
}

#[test]
fn missing_submodules_are_named_and_clean_up_works_with_and_without_them() {
    for set_up in [false, true] {
        let place = with_submodule();
        let (workspaces, workspace) = place.workspace();
        assert_eq!(workspace.missing_submodules(), [PathBuf::from("lib")]);
        if set_up {
            place.git(
                workspace.path(),
                &["submodule", "--quiet", "update", "--init"],
            );
            assert!(workspace.path().join("lib/l").exists());
        }
        let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
        assert_eq!(&snapshot.commit, workspace.base());
        workspaces.restore(&workspace, workspace.base()).unwrap();
        assert_eq!(workspace.path().join("lib/l").exists(), set_up);
        if set_up {
            fs::write(workspace.path().join("lib/l"), "changed").unwrap();
            let removal = workspaces.remove(&workspace).unwrap();
            let reason = KeptReason::Uncommitted(vec!["lib".into()]);
            assert!(matches!(removal, Removal::Kept { reason: found, .. } if found == reason));
            place.git(workspace.path(), &["-C", "lib", "checkout", "-q", "l"]);
        }
        let removal = workspaces.remove(&workspace).unwrap();
        assert_eq!(removal, Removal::Removed { ignored: vec![] });
        assert!(!workspace.path().exists());
        assert_eq!(place.git("R", &["worktree", "list"]).lines().count(), 1);
    }
}

#[test]
fn worktrees_inside_the_repository_stay_out_of_its_status_and_searches() {
    for root in ["R/.fleet/wt", "outside"] {
        let place = with_submodule();
        let workspaces = Workspaces::new(
            place.repo(),
            &place.path(root),
            &RunId("r".into()),
            &[PathBuf::from(".env")],
        );
        let base = workspaces.repo().head().unwrap();
        let workspace = workspaces.for_task(&task("one"), FIRST, &base).unwrap();
        assert_eq!(fs::read(workspace.path().join(".env")).unwrap(), b"k=1\n");
        assert_eq!(place.git("R", &["status", "--porcelain"]), "");
        place.git("R", &["add", "-A"]);
        let entries = place.git("R", &["ls-files", "-s"]);
        let submodules = entries.lines().filter(|line| line.starts_with("160000"));
        assert_eq!(submodules.count(), 1);
        let hits = place.git("R", &["grep", "--untracked", "-l", "onlyonce"]);
        assert_eq!(hits, "word");
        assert_eq!(place.git(workspace.path(), &["status", "--porcelain"]), "");
        let removal = workspaces.remove(&workspace).unwrap();
        assert_eq!(removal, Removal::Removed { ignored: vec![] });
        assert_eq!(place.git("R", &["status", "--porcelain"]), "");
    }
}
