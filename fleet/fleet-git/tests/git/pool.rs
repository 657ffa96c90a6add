//! Folders of attempts that are over, used again by later ones: never with anything left in them.

use crate::place::{FIRST, NOON, Place, contents, task};
use fleet_core::ids::{BranchName, CommitId, RunId};
use fleet_git::{CommitIntent, Removal, Workspace, Workspaces};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A repository with folders, a program, a link and rules of what is ignored.
fn place() -> Place {
    let place = Place::with_repo();
    place.write(
        "R",
        &[
            (".gitignore", "*.log\n/target/\n.env\n"),
            ("src/deep/a", "a\n"),
            ("src/b", "b\n"),
            ("tool", "#!/bin/sh\n"),
            (".env", "key=1\n"),
        ],
    );
    let program = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.path("R/tool"), program).unwrap();
    symlink("f", place.path("R/link")).unwrap();
    place.commit("R", &[], "files");
    place
}

/// Commits what an attempt has done and lands it.
fn land(place: &Place, workspaces: &Workspaces, workspace: &Workspace) -> CommitId {
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
    let integration = ["update-ref", "refs/heads/codewhale/r/integration"];
    place.git("R", &[&integration[..], &[plan.id().as_str()]].concat());
    plan.id().clone()
}

/// Gives a folder up; it must not be kept.
fn retire(workspaces: &Workspaces, workspace: &Workspace) {
    let removal = workspaces.retire(workspace).unwrap();
    assert!(matches!(removal, Removal::Removed { .. }), "{removal:?}");
    assert!(!workspace.path().exists());
}

/// Everything that can be seen of a folder: kinds, modes, contents, empty folders too.
fn seen(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let mut line = format!("{:o} {}", meta.mode(), meta.nlink());
            if meta.is_dir() {
                line = format!("{:o}", meta.mode());
                folders.push(path.clone());
            } else if meta.is_symlink() {
                line.push_str(&format!(" -> {}", fs::read_link(&path).unwrap().display()));
            } else if path != folder.join(".git") {
                line.push_str(&format!(" {}", fs::read(&path).unwrap().escape_ascii()));
            }
            found.insert(path.strip_prefix(folder).unwrap().to_owned(), line);
        }
    }
    found
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// What an agent may leave that git does not speak of, or speaks of as ignored.
fn leave_everything(place: &Place, folder: &Path) {
    place.write(
        folder,
        &[
            ("run.log", "1"),
            ("src/deep/x.log", "1"),
            ("target/a/b", "1"),
            (".env", "key=stolen\n"),
        ],
    );
    fs::create_dir_all(folder.join("src/empty/er")).unwrap();
    place.git(folder, &["init", "-q", "target/repository"]);
    fs::hard_link(folder.join("src/b"), folder.join("target/same")).unwrap();
    symlink("/etc", folder.join("target/etc")).unwrap();
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(folder.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("f", 0o600);
    mode("tool", 0o777);
    mode("src/deep", 0o700);
    mode("target/a", 0o500);
}

#[test]
fn a_folder_that_is_used_again_is_as_clean_as_a_new_one() {
    let place = place();
    let workspaces = place.workspaces_with(&[".env"]);
    let base = workspaces.repo().head().unwrap();
    let first = workspaces.for_task(&task("one"), FIRST, &base).unwrap();
    place.write(first.path(), &[("f", "work\n"), ("new/file", "n\n")]);
    fs::remove_file(first.path().join("src/deep/a")).unwrap();
    let landed = land(&place, &workspaces, &first);
    leave_everything(&place, first.path());
    let folder = inode(first.path());
    retire(&workspaces, &first);
    assert_eq!(place.git("R", &["worktree", "prune", "-n"]), "");

    let other = Workspaces::new(
        place.repo(),
        &place.path("fresh"),
        &RunId("q".into()),
        &[PathBuf::from(".env")],
    );
    for (name, start) in [("two", &landed), ("three", &base)] {
        let again = workspaces.for_task(&task(name), FIRST, start).unwrap();
        assert_eq!(inode(again.path()), folder, "the folder was not used again");
        let fresh = other.for_task(&task(name), FIRST, start).unwrap();
        assert_eq!(seen(again.path()), seen(fresh.path()));
        assert_eq!(
            place.git(again.path(), &["status", "--porcelain", "--ignored"]),
            "!! .env"
        );
        let branch = place.git(again.path(), &["symbolic-ref", "HEAD"]);
        assert_eq!(branch, format!("refs/heads/codewhale/r/t/{name}/1"));
        assert_eq!(
            place.git(again.path(), &["rev-parse", "HEAD"]),
            start.as_str()
        );
        assert_eq!(
            workspaces.snapshot(&again, "s", NOON).unwrap().commit,
            *start
        );
        leave_everything(&place, again.path());
        retire(&workspaces, &again);
    }
    let refs = place.git("R", &["for-each-ref", "refs/heads/codewhale/r/t"]);
    assert_eq!(refs, "");
    workspaces.discard_checkouts().unwrap();
    let rest = fs::read_dir(first.path().parent().unwrap());
    assert_eq!(rest.map_or(0, Iterator::count), 0);
    assert_eq!(place.unreachable_commits(), Vec::<String>::new());
}

#[test]
fn a_submodule_that_an_agent_set_up_is_not_handed_on() {
    let place = place();
    place.git(".", &["init", "-q", "-b", "main", "lib-src"]);
    place.commit("lib-src", &[("l", "library\n")], "lib");
    place.git("R", &["submodule", "--quiet", "add", "../lib-src", "lib"]);
    place.commit("R", &[], "submodule");
    let (workspaces, first) = place.workspace();
    place.git(first.path(), &["submodule", "--quiet", "update", "--init"]);
    land(&place, &workspaces, &first);
    retire(&workspaces, &first);
    let again = workspaces
        .for_task(&task("two"), FIRST, first.base())
        .unwrap();
    assert_eq!(fs::read_dir(again.path().join("lib")).unwrap().count(), 0);
    assert_eq!(again.missing_submodules(), [PathBuf::from("lib")]);
}

#[test]
fn a_folder_with_work_is_kept_and_a_later_attempt_gets_another() {
    let place = place();
    let (workspaces, first) = place.workspace();
    place.write(first.path(), &[("new", "n")]);
    let before = contents(first.path());
    let removal = workspaces.retire(&first).unwrap();
    assert!(matches!(removal, Removal::Kept { .. }), "{removal:?}");
    let second = workspaces
        .for_task(&task("two"), FIRST, first.base())
        .unwrap();
    assert_ne!(second.path(), first.path());
    assert_eq!(contents(first.path()), before);
}

/// Somebody works in a folder that waits to be used again: it is theirs no more than ours.
#[test]
fn what_is_put_into_a_waiting_folder_is_not_found_there_later() {
    let place = place();
    let (workspaces, first) = place.workspace();
    land(&place, &workspaces, &first);
    let waiting = first.path().with_file_name("_spare.1");
    retire(&workspaces, &first);
    place.write(&waiting, &[("f", "spoilt"), ("stray", "x")]);
    let again = workspaces
        .for_task(&task("two"), FIRST, first.base())
        .unwrap();
    assert!(!waiting.exists());
    assert_eq!(
        contents(again.path()),
        contents(&place.path("R"))
            .into_iter()
            .filter(|(name, _)| name != b".env")
            .collect::<Vec<_>>()
    );
}

/// The process died between any two of the steps that give a folder another name.
#[test]
fn a_folder_that_was_cut_off_on_its_way_is_made_anew() {
    let check = |cut: fn(&Place, &Path)| {
        let place = place();
        let (workspaces, first) = place.workspace();
        let base = first.base().clone();
        land(&place, &workspaces, &first);
        retire(&workspaces, &first);
        cut(&place, first.path().parent().unwrap());
        drop(workspaces);
        let later = place.workspaces();
        let names = ["two", "three"];
        for name in names {
            let made = later.for_task(&task(name), FIRST, &base).unwrap();
            assert!(made.path().ends_with(format!("r/{name}.1")), "{made:?}");
            assert_eq!(place.git(made.path(), &["status", "--porcelain"]), "");
            assert_eq!(fs::read(made.path().join("f")).unwrap(), b"1\n2\n3\n");
        }
        assert_eq!(place.git("R", &["worktree", "list"]).lines().count(), 3);
        assert_eq!(place.git("R", &["worktree", "prune", "-n"]), "");
        let folders = fs::read_dir(first.path().parent().unwrap()).unwrap();
        assert_eq!(folders.count(), 2);
    };
    /// What is written first: the name that the folder is going to have.
    fn begun(place: &Place, folder: &Path) {
        let git = place.path("R/.git/codewhale/runs/r/git");
        let base = place.repo().head().unwrap();
        let path = folder.join("two.1");
        let text = format!(
            "preparing\0codewhale/r/t/two/1\0{base}\0one.1\0{}\0",
            path.display()
        );
        place.write(&git, &[("two.1/made", &text)]);
    }
    fn branched(place: &Place, folder: &Path) {
        begun(place, folder);
        let base = place.repo().head().unwrap();
        let branch = BranchName("codewhale/r/t/two/1".into());
        place.repo().create_branch(&branch, &base).unwrap();
    }
    fn moved(place: &Place, folder: &Path) {
        branched(place, folder);
        fs::rename(folder.join("_spare.1"), folder.join("two.1")).unwrap();
    }
    fn registered(place: &Place, folder: &Path) {
        moved(place, folder);
        let gitdir = format!("{}\n", folder.join("two.1/.git").display());
        place.write("R/.git/worktrees/one.1", &[("gitdir", &gitdir)]);
    }
    check(|_, _| {});
    check(begun);
    check(branched);
    check(moved);
    check(registered);
    check(|place, folder| {
        registered(place, folder);
        let git = place.path("R/.git/codewhale/runs/r/git");
        fs::rename(git.join("_spare.1/index"), git.join("two.1/index")).unwrap();
    });
    check(|_, folder| fs::remove_dir_all(folder.join("_spare.1")).unwrap());
    check(|place, _| fs::remove_dir_all(place.path("R/.git/worktrees/one.1")).unwrap());
    check(|place, _| {
        fs::remove_file(place.path("R/.git/codewhale/runs/r/git/_spare.1/index")).unwrap();
    });
}

#[test]
fn many_at_once_use_each_folder_once() {
    let place = place();
    let (workspaces, first) = place.workspace();
    let base = first.base().clone();
    let mut folders = vec![first];
    for number in 0..3 {
        let name = task(&format!("t{number}"));
        folders.push(workspaces.for_task(&name, FIRST, &base).unwrap());
    }
    let inodes: Vec<u64> = folders.iter().map(|made| inode(made.path())).collect();
    land(&place, &workspaces, &folders[0]);
    for folder in &folders {
        retire(&workspaces, folder);
    }
    let made: Vec<Workspace> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|number| {
                let (workspaces, base) = (&workspaces, &base);
                let name = task(&format!("u{number}"));
                scope.spawn(move || workspaces.for_task(&name, FIRST, base).unwrap())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut again: Vec<u64> = made.iter().map(|made| inode(made.path())).collect();
    again.sort_unstable();
    again.dedup();
    assert_eq!(again.len(), 6);
    assert!(inodes.iter().all(|folder| again.contains(folder)));
    for made in &made {
        assert_eq!(place.git(made.path(), &["status", "--porcelain"]), "");
    }
}
