//! Bringing work back: conflicts, other branches, two at once.

use crate::place::{NOON, Place};
use fleet_core::ids::{BranchName, CommitId};
use fleet_git::{Change, MergeNote, MergePlan, Moved, Repo, RepoError};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const NOTE: MergeNote<'static> = MergeNote {
    message: "Land one",
    role: "builder",
    at: NOON,
};

fn integration() -> BranchName {
    BranchName("codewhale/r/integration".into())
}

/// A commit on a branch of its own, off the first commit.
fn task_commit(place: &Place, name: &str, change: fn(&Place)) -> CommitId {
    place.git("R", &["worktree", "add", "-q", "-b", name, "../side", "v0"]);
    change(place);
    place.git("side", &["add", "-A"]);
    place.git("side", &["commit", "-q", "-m", name]);
    let commit = CommitId(place.git("side", &["rev-parse", "HEAD"]));
    place.git("R", &["worktree", "remove", "../side"]);
    commit
}

fn with_tag() -> Place {
    let place = Place::with_repo();
    place.git("R", &["tag", "v0"]);
    place
}

fn line_two(place: &Place) {
    place.write("side", &[("f", "1\ntask\n3\n")]);
}

#[test]
fn what_does_not_merge_is_told_without_touching_anything() {
    let check = |main: fn(&Place), change: fn(&Place), wanted: &[&str]| {
        let place = with_tag();
        let commit = task_commit(&place, "task", change);
        main(&place);
        let onto = place.repo().head().unwrap();
        place.write("R", &[("f", "1\nuncommitted\n3\n")]);
        let before = place.state();
        let listed = |place: &Place| -> BTreeSet<_> {
            let names = fs::read_dir(place.path("R/.git")).unwrap();
            names.map(|entry| entry.unwrap().file_name()).collect()
        };
        let special = listed(&place);
        let plan = place.repo().plan_merge(&onto, &commit, &NOTE).unwrap();
        let paths: BTreeSet<PathBuf> = wanted.iter().map(PathBuf::from).collect();
        match plan {
            MergePlan::Conflict(found) => {
                assert_eq!(found.paths.into_iter().collect::<BTreeSet<_>>(), paths);
            }
            plan => assert!(wanted.is_empty(), "{plan:?}"),
        }
        assert_eq!(place.state(), before);
        assert_eq!(listed(&place), special);
        assert_eq!(fs::read(place.path("R/f")).unwrap(), b"1\nuncommitted\n3\n");
    };
    check(
        |place| drop(place.commit("R", &[("f", "1\nmain\n3\n")], "main")),
        line_two,
        &["f"],
    );
    check(
        |place| {
            place.git("R", &["mv", "f", "g"]);
            place.git("R", &["commit", "-q", "-m", "g"]);
        },
        |place| drop(place.git("side", &["mv", "f", "h"])),
        &["f", "g", "h"],
    );
    check(
        |place| drop(place.commit("R", &[("zwei\nZeilen ü", "main")], "main")),
        |place| place.write("side", &[("zwei\nZeilen ü", "task")]),
        &["zwei\nZeilen ü"],
    );
    check(
        |place| drop(place.commit("R", &[("other", "x")], "main")),
        line_two,
        &[],
    );
}

#[test]
fn plans_say_what_is_needed() {
    let place = with_tag();
    let commit = task_commit(&place, "task", line_two);
    let base = place.repo().head().unwrap();
    let plan =
        |onto: &CommitId, commit: &CommitId| place.repo().plan_merge(onto, commit, &NOTE).unwrap();
    assert_eq!(plan(&commit, &base), MergePlan::AlreadyThere);
    assert_eq!(plan(&commit, &commit), MergePlan::AlreadyThere);
    let forward = MergePlan::FastForward {
        commit: commit.clone(),
    };
    assert_eq!(plan(&base, &commit), forward);

    let onto = place.commit("R", &[("other", "x")], "main");
    let merge = plan(&onto, &commit);
    assert_eq!(merge, plan(&onto, &commit));
    let MergePlan::Merge {
        commit: planned,
        tree,
    } = merge
    else {
        panic!("must be a merge");
    };
    let repo = place.repo();
    repo.write_commit(&planned).unwrap();
    repo.write_commit(&planned).unwrap();
    let shown = place.git(
        "R",
        &["show", "-s", "--format=%T|%P|%an|%s", planned.id().as_str()],
    );
    let wanted = format!("{tree}|{onto} {commit}|codewhale builder|Land one");
    assert_eq!(shown, wanted);
    let text = place.git("R", &["show", &format!("{tree}:f")]);
    assert_eq!(text, "1\ntask\n3");
    let unknown = CommitId("1".repeat(40));
    let error = repo.plan_merge(&onto, &unknown, &NOTE).unwrap_err();
    assert!(matches!(error, RepoError::NoSuchCommit(_)));
}

#[test]
fn a_commit_of_missing_parts_is_not_written() {
    let place = with_tag();
    let text = format!(
        "tree {}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n",
        "1".repeat(40)
    );
    let plan = fleet_git::CommitPlan::from_text(text);
    assert!(place.repo().write_commit(&plan).is_err());
    let found = place.try_git("R", &["cat-file", "-e", plan.id().as_str()]);
    assert!(!found.status.success());
}

#[test]
fn a_ref_is_moved_once_and_never_over_somebody_elses_value() {
    let place = with_tag();
    let repo = place.repo();
    let a = repo.head().unwrap();
    let b = place.commit("R", &[("f", "b")], "b");
    let c = place.commit("R", &[("f", "c")], "c");
    let name = "refs/heads/codewhale/r/integration";
    let check = |old: Option<&CommitId>, new: &CommitId, wanted: Moved| {
        assert_eq!(repo.move_ref(name, old, new).unwrap(), wanted);
    };
    check(Some(&a), &b, Moved::Conflict { found: None });
    check(None, &a, Moved::Done);
    check(None, &a, Moved::AlreadyDone);
    check(
        None,
        &b,
        Moved::Conflict {
            found: Some(a.clone()),
        },
    );
    check(Some(&a), &b, Moved::Done);
    check(Some(&a), &b, Moved::AlreadyDone);
    check(
        Some(&a),
        &c,
        Moved::Conflict {
            found: Some(b.clone()),
        },
    );
    assert_eq!(
        repo.create_branch(&integration(), &b).unwrap(),
        Moved::AlreadyDone
    );
    place.git("R", &["pack-refs", "--all"]);
    check(Some(&b), &c, Moved::Done);
}

/// The person works on another branch, or on none: their checkout is no matter.
#[test]
fn work_goes_to_the_integration_branch_and_never_to_what_is_checked_out() {
    let place = with_tag();
    let commit = task_commit(&place, "task", line_two);
    let repo = place.repo();
    let base = repo.head().unwrap();
    place.git("R", &["checkout", "-q", "-b", "feature"]);
    repo.create_branch(&integration(), &base).unwrap();
    assert_eq!(
        repo.advance(&integration(), &base, &commit).unwrap(),
        Moved::Done
    );
    assert_eq!(
        repo.advance(&integration(), &base, &commit).unwrap(),
        Moved::AlreadyDone
    );
    let holders = place.git(
        "R",
        &[
            "branch",
            "--format=%(refname:short)",
            "--contains",
            commit.as_str(),
        ],
    );
    assert_eq!(holders, "codewhale/r/integration\ntask");
    assert_eq!(place.git("R", &["status", "--porcelain"]), "");

    place.git("R", &["checkout", "-q", "codewhale/r/integration"]);
    let next = place.commit("R", &[("f", "mine\n")], "mine");
    place.git("R", &["reset", "-q", "--hard", commit.as_str()]);
    let in_use_at = |folder: &str| {
        let error = repo.advance(&integration(), &commit, &next).unwrap_err();
        assert!(matches!(error, RepoError::InUse { at, .. } if at == place.path(folder)));
    };
    in_use_at("R");
    place.git("R", &["checkout", "-q", "task"]);
    place.git(
        "R",
        &["worktree", "add", "-q", "../W", "codewhale/r/integration"],
    );
    // Git itself lists nothing while somebody is half-way through making one.
    place.write(
        "R/.git/worktrees/half",
        &[("gitdir", "/half/.git\n"), ("commondir", "")],
    );
    assert!(!place.try_git("R", &["worktree", "list"]).status.success());
    in_use_at("W");
    assert_eq!(repo.branch_tip(&integration()).unwrap(), Some(commit));
}

fn land(repo: &Repo, commit: &CommitId) -> usize {
    for round in 1.. {
        let onto = repo.branch_tip(&integration()).unwrap().unwrap();
        let new = match repo.plan_merge(&onto, commit, &NOTE).unwrap() {
            MergePlan::AlreadyThere => return round,
            MergePlan::FastForward { commit } => commit,
            MergePlan::Merge { commit, .. } => {
                repo.write_commit(&commit).unwrap();
                commit.id().clone()
            }
            MergePlan::Conflict(found) => panic!("{found:?}"),
        };
        match repo.advance(&integration(), &onto, &new).unwrap() {
            Moved::Done | Moved::AlreadyDone => return round,
            Moved::Conflict { .. } => {}
        }
    }
    unreachable!()
}

#[test]
fn tasks_that_finish_at_the_same_moment_all_arrive() {
    let place = with_tag();
    let repo = place.repo();
    let base = repo.head().unwrap();
    let commits: Vec<CommitId> = (0..6)
        .map(|number| {
            place.git("R", &["checkout", "-q", "--detach", "v0"]);
            place.commit("R", &[(&format!("file{number}"), "x")], "task")
        })
        .collect();
    place.git("R", &["checkout", "-q", "trunk"]);
    repo.create_branch(&integration(), &base).unwrap();
    std::thread::scope(|scope| {
        for commit in &commits {
            let repo = &repo;
            scope.spawn(move || land(repo, commit));
        }
    });
    let tip = repo.branch_tip(&integration()).unwrap().unwrap();
    let names = place.git("R", &["ls-tree", "--name-only", tip.as_str()]);
    assert_eq!(names, "f\nfile0\nfile1\nfile2\nfile3\nfile4\nfile5");
}

#[test]
fn a_diff_counts_lines_and_is_cut_where_asked() {
    let place = with_tag();
    let from = place.repo().head().unwrap();
    place.git("R", &["config", "diff.noprefix", "true"]);
    place.git("R", &["config", "diff.context", "0"]);
    fs::write(place.path("R/blob"), [0_u8, 159, 146, 150]).unwrap();
    let to = place.commit("R", &[("f", "1\nzwei\nzwei b\n3\n"), ("gone", "x")], "to");
    let diff = place.repo().diff(&from, &to, usize::MAX).unwrap();
    assert_eq!((diff.added(), diff.removed(), diff.left_out), (3, 1, 0));
    assert!(
        diff.files
            .iter()
            .any(|file| file.path == Path::new("blob") && file.added == 0)
    );
    insta::assert_snapshot!(String::from_utf8_lossy(&diff.patch), @r"
    diff --git a/blob b/blob
    new file mode 100644
    index 0000000..e1bcee3
    Binary files /dev/null and b/blob differ
    diff --git a/f b/f
    index 01e79c3..e2a246f 100644
    --- a/f
    +++ b/f
    @@ -1,3 +1,4 @@
     1
    -2
    +zwei
    +zwei b
     3
    diff --git a/gone b/gone
    new file mode 100644
    index 0000000..c1b0730
    --- /dev/null
    +++ b/gone
    @@ -0,0 +1 @@
    +x
    \ No newline at end of file
    ");
    let whole = diff.patch.len();
    let cut = place.repo().diff(&from, &to, 100).unwrap();
    assert!(cut.patch.len() <= 100 && cut.patch.ends_with(b"\n"));
    assert_eq!(cut.patch.len() + cut.left_out, whole);
    let back = place.repo().diff(&to, &from, 0).unwrap();
    assert!(back.files.iter().any(|file| file.change == Change::Deleted));
}

#[test]
fn each_conflict_is_named_by_its_kind_and_nothing_of_either_side_is_lost() {
    let check = |theirs: fn(&Place), ours: fn(&Place), wanted: &[(&str, &str)]| {
        let place = with_tag();
        place.commit("R", &[("gone", "x\n"), ("type", "file\n")], "more");
        fs::write(place.path("R/bytes"), [0_u8, 1, 2]).unwrap();
        place.commit("R", &[("run.sh", "echo\n")], "bytes");
        place.git("R", &["tag", "-f", "v0"]);
        let commit = task_commit(&place, "task", theirs);
        ours(&place);
        place.git("R", &["add", "-A"]);
        place.git("R", &["commit", "-q", "-m", "main"]);
        let (repo, before) = (place.repo(), place.state());
        let onto = repo.head().unwrap();
        let plan = repo.plan_merge(&onto, &commit, &NOTE).unwrap();
        let MergePlan::Conflict(conflicts) = plan else {
            panic!("{plan:?}")
        };
        let found: BTreeSet<(String, String)> = conflicts
            .found
            .iter()
            .flat_map(|conflict| {
                let paths = conflict.paths.iter();
                paths.map(|path| (conflict.kind.clone(), path.display().to_string()))
            })
            .collect();
        for (kind, path) in wanted {
            let pair = ((*kind).to_owned(), (*path).to_owned());
            assert!(found.contains(&pair), "{pair:?} in {found:?}");
        }
        repo.write_commit(&conflicts.marked).unwrap();
        for side in [&onto, &commit] {
            let beyond = repo.commits_beyond(side, conflicts.marked.id(), 9).unwrap();
            assert_eq!(beyond.len(), 2, "the marked commit is on both sides");
        }
        assert_eq!(place.state(), before);
    };
    check(
        |place| place.write("side", &[("f", "1\ntask\n3\n")]),
        |place| place.write("R", &[("f", "1\nmain\n3\n")]),
        &[("contents", "f")],
    );
    check(
        |place| place.write("side", &[("gone", "changed\n")]),
        |place| fs::remove_file(place.path("R/gone")).unwrap(),
        &[("modify/delete", "gone")],
    );
    check(
        |place| drop(place.git("side", &["mv", "f", "g"])),
        |place| drop(place.git("R", &["mv", "f", "h"])),
        &[("rename/rename", "f"), ("rename/rename", "g")],
    );
    check(
        |place| fs::write(place.path("side/bytes"), [0_u8, 9]).unwrap(),
        |place| fs::write(place.path("R/bytes"), [0_u8, 8]).unwrap(),
        &[("binary", "bytes")],
    );
    check(
        |place| {
            fs::remove_file(place.path("side/type")).unwrap();
            std::os::unix::fs::symlink("f", place.path("side/type")).unwrap();
        },
        |place| place.write("R", &[("type", "other\n")]),
        &[("distinct modes", "type")],
    );
    check(
        |place| place.write("side", &[("new", "task\n")]),
        |place| place.write("R", &[("new/below", "main\n")]),
        &[("file/directory", "new")],
    );
}

#[test]
fn marks_that_are_left_are_found_and_those_of_others_are_not() {
    let place = with_tag();
    let commit = task_commit(&place, "task", line_two);
    let onto = place.commit(
        "R",
        &[("f", "1\nmain\n3\n"), ("doc", "<<<<<<< HEAD\n")],
        "main",
    );
    let repo = place.repo();
    let MergePlan::Conflict(conflicts) = repo.plan_merge(&onto, &commit, &NOTE).unwrap() else {
        panic!("must not merge");
    };
    repo.write_commit(&conflicts.marked).unwrap();
    let marked = conflicts.marked.id();
    let sides = [&onto, &commit];
    let text = repo.marked_text(marked, Path::new("f"), &sides).unwrap();
    let wanted =
        format!("from line 1:\n1\n<<<<<<< {onto}\nmain\n=======\ntask\n>>>>>>> {commit}\n3\n\n");
    assert_eq!(text, Some(wanted));
    for path in ["doc", "none"] {
        assert_eq!(
            repo.marked_text(marked, Path::new(path), &sides).unwrap(),
            None
        );
    }
    let left = |commit: &CommitId| {
        let tree = repo.tree_of(commit).unwrap();
        repo.marks_left(&onto, &tree, &sides).unwrap()
    };
    assert_eq!(left(marked), [PathBuf::from("f")]);
    let half = place.commit("R", &[("f", &format!("1\n>>>>>>> {commit}\n3\n"))], "half");
    assert_eq!(left(&half), [PathBuf::from("f")]);
    let solved = place.commit(
        "R",
        &[("f", "1\nboth\n3\n"), ("doc", "<<<<<<< HEAD~\n")],
        "solved",
    );
    assert_eq!(left(&solved), [] as [PathBuf; 0]);
}
