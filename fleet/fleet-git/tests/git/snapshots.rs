//! Snapshots of work folders, putting back, and what they never touch.

use crate::place::{NOON, Place, contents, listing};
use fleet_git::CommitIntent;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

#[test]
fn a_snapshot_keeps_everything_but_ignored_files_and_touches_nothing_else() {
    let place = Place::with_repo();
    place.commit("R", &[(".gitignore", "*.log\n")], "ignore");
    let (workspaces, workspace) = place.workspace();
    let path = workspace.path();
    place.write(
        path,
        &[("f", "changed"), ("new/deep", "x"), ("run.log", "noise")],
    );
    symlink("/nowhere", path.join("link")).unwrap();
    fs::write(path.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(path.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let index = fs::read(place.path("R/.git/worktrees/one.1/index")).unwrap();

    let snapshot = workspaces.snapshot(&workspace, "step 1", NOON).unwrap();
    let listed = place.git("R", &["ls-tree", "-r", snapshot.tree.as_str()]);
    let listed: Vec<String> = listed
        .lines()
        .map(|line| format!("{} {}", &line[..6], line.split('\t').nth(1).unwrap()))
        .collect();
    insta::assert_debug_snapshot!(listed, @r#"
    [
        "100644 .gitignore",
        "100644 f",
        "120000 link",
        "100644 new/deep",
        "100755 tool",
    ]
    "#);
    let shown = place.git(
        "R",
        &[
            "show",
            "-s",
            "--format=%an|%cn|%P|%s",
            workspace.snapshot_ref(),
        ],
    );
    assert_eq!(
        shown,
        format!("codewhale snapshot|Ada|{}|step 1", workspace.base())
    );
    assert_eq!(
        fs::read(place.path("R/.git/worktrees/one.1/index")).unwrap(),
        index
    );
    let head = place.git(path, &["rev-parse", "HEAD"]);
    assert_eq!(head, workspace.base().as_str());
    assert_eq!(place.git("R", &["status", "--porcelain"]), "");
}

#[test]
fn snapshots_are_chained_and_an_unchanged_folder_gets_none() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    let take = |message: &str| workspaces.snapshot(&workspace, message, NOON).unwrap();
    let nothing = take("0");
    assert_eq!(&nothing.commit, workspace.base());
    assert_eq!(
        workspaces
            .repo()
            .ref_target(workspace.snapshot_ref())
            .unwrap(),
        None
    );

    fs::write(workspace.path().join("f"), "a").unwrap();
    let first = take("1");
    assert_eq!(take("again"), first);
    fs::write(workspace.path().join("f"), "b").unwrap();
    let second = take("2");
    let chain = place.git("R", &["rev-list", workspace.snapshot_ref()]);
    let wanted = [
        second.commit.as_str(),
        first.commit.as_str(),
        workspace.base().as_str(),
    ];
    assert_eq!(chain.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn putting_back_makes_the_folder_equal_whatever_happened_to_it() {
    let place = Place::with_repo();
    place.commit(
        "R",
        &[(".gitignore", "*.log\n"), ("d/x", "x"), ("d/y", "y")],
        "more",
    );
    let (workspaces, workspace) = place.workspace();
    let path = workspace.path();
    place.write(
        path,
        &[("f", "kept"), ("untracked/a", "a"), ("run.log", "1")],
    );
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    let mut wanted = contents(path);

    let damage: [fn(&std::path::Path); 6] = [
        |path| fs::write(path.join("f"), "KEPT").unwrap(),
        |path| fs::remove_file(path.join("f")).unwrap(),
        |path| {
            fs::remove_dir_all(path.join("d")).unwrap();
            fs::write(path.join("d"), "a file").unwrap();
        },
        |path| {
            fs::remove_file(path.join("f")).unwrap();
            fs::create_dir_all(path.join("f/g")).unwrap();
            fs::write(path.join("f/g/h"), "x").unwrap();
        },
        |path| {
            fs::create_dir_all(path.join("more/empty")).unwrap();
            fs::write(path.join("more/new"), "x").unwrap();
            fs::write(path.join("untracked/a"), "other").unwrap();
        },
        |path| {
            let time = fs::metadata(path.join("f")).unwrap().modified().unwrap();
            fs::write(path.join("f"), "KEPT").unwrap();
            let file = fs::File::options()
                .write(true)
                .open(path.join("f"))
                .unwrap();
            file.set_modified(time).unwrap();
        },
    ];
    for damage in damage {
        damage(path);
        for _ in 0..2 {
            workspaces.restore(&workspace, &snapshot.commit).unwrap();
            assert_eq!(contents(path), wanted);
        }
    }
    fs::write(path.join("run.log"), "2").unwrap();
    workspaces.restore(&workspace, &snapshot.commit).unwrap();
    wanted
        .iter_mut()
        .find(|(name, _)| name == b"run.log")
        .unwrap()
        .1 = b"2".to_vec();
    assert_eq!(contents(path), wanted);

    workspaces.restore(&workspace, workspace.base()).unwrap();
    let names: Vec<_> = listing(path).into_iter().collect();
    assert_eq!(
        names,
        [&b".gitignore"[..], b"d/x", b"d/y", b"f", b"run.log"]
    );
}

#[test]
fn a_lost_or_damaged_private_index_costs_time_and_nothing_else() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    let index = place.path("R/.git/codewhale/runs/r/git/one.1/index");
    assert!(index.is_file());
    let damage: [fn(&PathBuf); 3] = [
        |index| fs::remove_file(index).unwrap(),
        |index| fs::write(index, "").unwrap(),
        |index| {
            let whole = fs::read(index).unwrap();
            fs::write(index, &whole[..whole.len() / 2]).unwrap();
        },
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        damage(&index);
        fs::write(workspace.path().join("f"), number.to_string()).unwrap();
        let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
        let shown = place.git("R", &["show", &format!("{}:f", snapshot.commit)]);
        assert_eq!(shown, number.to_string());
    }
}

/// A repository inside the folder would be committed as a pointer that nobody can follow.
#[test]
fn repositories_inside_the_folder_are_left_out_and_named() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    let path = workspace.path();
    place.git(path, &["init", "-q", "empty"]);
    place.git(
        path,
        &["clone", "-q", place.path("R").to_str().unwrap(), "full"],
    );
    fs::write(path.join("f"), "work").unwrap();
    let mut snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    snapshot.left_out.sort();
    let names = place.git(
        "R",
        &["ls-tree", "-r", "--name-only", snapshot.tree.as_str()],
    );
    assert_eq!(names, "f");
    assert_eq!(
        snapshot.left_out,
        [PathBuf::from("empty/"), PathBuf::from("full")]
    );
    workspaces.restore(&workspace, workspace.base()).unwrap();
    assert!(path.join("full/f").exists());
}

/// A filter of the person's that must succeed and does not: half a snapshot would be a lie.
#[test]
fn a_file_that_its_filter_refuses_fails_the_snapshot_and_is_named() {
    let place = Place::with_repo();
    place.git("R", &["config", "filter.broken.clean", "false"]);
    place.git("R", &["config", "filter.broken.required", "true"]);
    let (workspaces, workspace) = place.workspace();
    let files = [
        (".gitattributes", "*.bin filter=broken\n"),
        ("a.bin", "new"),
    ];
    place.write(workspace.path(), &files);
    let error = workspaces.snapshot(&workspace, "s", NOON).unwrap_err();
    assert!(error.to_string().contains("a.bin"), "{error}");
    let last = workspaces
        .repo()
        .ref_target(workspace.snapshot_ref())
        .unwrap();
    assert_eq!(last, None);
    fs::remove_file(workspace.path().join("a.bin")).unwrap();
    workspaces.snapshot(&workspace, "s", NOON).unwrap();
}

/// An agent that may write anything in its folder still cannot make the manager run its commands.
#[test]
fn a_git_file_or_settings_planted_by_an_agent_are_not_believed() {
    let place = Place::with_repo();
    place.git("R", &["config", "extensions.worktreeConfig", "true"]);
    let (workspaces, workspace) = place.workspace();
    let path = workspace.path();
    let trap = place.path("trap");
    let evil = format!(
        "[core]\n\tfsmonitor = touch {0}\n[filter \"x\"]\n\tclean = touch {0}; cat\n\tsmudge = touch {0}; cat\n",
        trap.display()
    );
    let admin = place.path("R/.git/worktrees/one.1");
    fs::write(admin.join("config.worktree"), &evil).unwrap();
    fs::write(path.join(".gitattributes"), "* filter=x\n").unwrap();
    fs::remove_file(path.join(".git")).unwrap();
    place.git(path, &["init", "-q"]);
    let mut config = fs::read_to_string(path.join(".git/config")).unwrap();
    config.push_str(&evil);
    fs::write(path.join(".git/config"), config).unwrap();

    fs::write(path.join("new"), "x").unwrap();
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    workspaces.restore(&workspace, workspace.base()).unwrap();
    workspaces.restore(&workspace, &snapshot.commit).unwrap();
    workspaces.remove(&workspace).unwrap();
    assert_eq!(fs::read(path.join("new")).unwrap(), b"x");
    assert!(!trap.exists());
}

#[test]
fn line_ends_come_back_as_git_checks_them_out() {
    let place = Place::with_repo();
    let attributes = "*.bat text eol=crlf\n*.bin -text\n";
    place.commit("R", &[(".gitattributes", attributes)], "attributes");
    let (workspaces, workspace) = place.workspace();
    let check = |name: &str, written: &str, back: &str| {
        let file = workspace.path().join(name);
        fs::write(&file, written).unwrap();
        let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), written, "{name}");
        fs::remove_file(&file).unwrap();
        workspaces.restore(&workspace, &snapshot.commit).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), back, "{name}");
    };
    check("plain.txt", "a\r\nb\nc", "a\r\nb\nc");
    check("x.bin", "a\r\nb\n", "a\r\nb\n");
    check("run.bat", "a\r\nb\r\n", "a\r\nb\r\n");
    check("mixed.bat", "a\r\nb\n", "a\r\nb\r\n");
}

#[test]
fn a_finished_task_is_one_commit_with_a_known_id_and_a_clean_folder() {
    let place = Place::with_repo();
    let (workspaces, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "done\n"), ("new", "x")]);
    let snapshot = workspaces.snapshot(&workspace, "s", NOON).unwrap();
    let plan = workspaces.repo().plan_commit(&CommitIntent {
        tree: &snapshot.tree,
        parents: &[workspace.base().clone()],
        message: "Do it",
        role: "builder",
        at: NOON,
    });
    let commit = || {
        let moved = workspaces
            .commit(&workspace, &plan, workspace.base())
            .unwrap();
        assert_eq!(place.git(workspace.path(), &["status", "--porcelain"]), "");
        moved
    };
    assert_eq!(commit(), fleet_git::Moved::Done);
    assert_eq!(commit(), fleet_git::Moved::AlreadyDone);
    let branch = workspace.branch().unwrap().as_str();
    let shown = place.git("R", &["log", "--format=%H|%an|%cn|%ct|%s", "-1", branch]);
    let wanted = format!("{}|codewhale builder|Ada|{}|Do it", plan.id(), NOON.0);
    assert_eq!(shown, wanted);

    place.git(
        "R",
        &[
            "update-ref",
            &format!("refs/heads/{branch}"),
            workspace.base().as_str(),
        ],
    );
    place.commit(workspace.path(), &[("other", "x")], "somebody else");
    let moved = workspaces
        .commit(&workspace, &plan, workspace.base())
        .unwrap();
    assert!(matches!(
        moved,
        fleet_git::Moved::Conflict { found: Some(_) }
    ));
}
