//! Taking work onto the person's branch: as they would do it, or not at all.

use crate::place::{NOON, Place};
use fleet_core::ids::{BranchName, CommitId};
use fleet_git::{Arrival, Home, Homeward, HomewardError, MergeNote};
use std::fs;
use std::path::Path;

/// A repository whose branch `trunk` is checked out in `R`, and work on it that changes `f` and adds `new`.
fn with_work() -> (Place, CommitId) {
    let place = Place::with_repo();
    place.git("R", &["worktree", "add", "-q", "-b", "work", "../side"]);
    let files = [("f", "1\nwork\n3\n"), ("new", "work\n")];
    let head = place.commit("side", &files, "work");
    place.git("R", &["worktree", "remove", "../side"]);
    (place, head)
}

fn bring(place: &Place, head: &CommitId) -> Result<Home, HomewardError> {
    place.repo().bring_home(&Homeward {
        branch: &BranchName("trunk".into()),
        head,
        note: MergeNote {
            message: "Merge the work\n\nCodewhale-Run: r\n",
            role: "builder",
            at: NOON,
        },
    })
}

/// Everything that a refusal must leave as it was, to the byte.
fn everything(place: &Place) -> String {
    let mut text = place.state();
    let head = place.git("R", &["rev-parse", "HEAD"]);
    text.push_str(&format!("{head}\n"));
    let mut names: Vec<_> = fs::read_dir(place.path("R/.git"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    names.sort();
    for path in names {
        text.push_str(&format!("{}\n", path.file_name().unwrap().display()));
        if path.file_name().unwrap() != "index" {
            let content = fs::read(&path).unwrap();
            text.push_str(&format!("{}\n", content.escape_ascii()));
        }
    }
    for (name, content) in crate::place::contents(&place.path("R")) {
        let (name, content) = (name.escape_ascii(), content.escape_ascii());
        text.push_str(&format!("{name}: {content}\n"));
    }
    text
}

/// It is refused, for this reason, and nothing at all is changed, not even the index.
#[track_caller]
fn refuses(place: &Place, head: &CommitId, reason: &str) -> HomewardError {
    let (before, index) = (
        everything(place),
        fs::read(place.path("R/.git/index")).unwrap(),
    );
    let error = bring(place, head).unwrap_err();
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(fs::read(place.path("R/.git/index")).unwrap(), index);
    assert_eq!(everything(place), before);
    error
}

fn hook(place: &Place, name: &str, script: &str) {
    fs::create_dir_all(place.path("R/.git/hooks")).unwrap();
    testkit::script::write(&place.path("R/.git/hooks").join(name), script);
}

fn file(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn a_branch_without_commits_of_its_own_is_moved_forward_in_its_checkout() {
    let (place, head) = with_work();
    let before = place.repo().head().unwrap();
    place.write("R", &[("mine", "x\n"), ("staged", "y\n")]);
    place.git("R", &["add", "staged"]);
    let home = bring(&place, &head).unwrap();
    let wanted = Home {
        how: Arrival::FastForward { before },
        commit: head.clone(),
        checkout: Some(place.path("R")),
        hooks_not_run: Vec::new(),
    };
    assert_eq!(home, wanted);
    assert_eq!(place.repo().head().unwrap(), head);
    assert_eq!(file(&place, "R/f"), "1\nwork\n3\n");
    assert_eq!(
        place.git("R", &["status", "--porcelain"]),
        "A  staged\n?? mine"
    );
    let again = bring(&place, &head).unwrap();
    assert_eq!((again.how, again.commit), (Arrival::Found, head));
}

#[test]
fn a_merge_runs_the_persons_hooks_and_is_made_and_signed_by_them() {
    let (place, head) = with_work();
    let before = place.commit("R", &[("other", "x\n")], "mine");
    for name in ["pre-merge-commit", "post-merge"] {
        hook(&place, name, &format!("echo {name} >> \"$HOME/heard\""));
    }
    hook(&place, "commit-msg", "echo 'Told: yes' >> \"$1\"");
    let sign = "cat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2; echo signature";
    testkit::script::write(&place.path("sign"), sign);
    let program = place.path("sign");
    place.git("R", &["config", "gpg.program", program.to_str().unwrap()]);
    place.git("R", &["config", "commit.gpgsign", "true"]);
    let home = bring(&place, &head).unwrap();
    assert_eq!(
        home.how,
        Arrival::Merge {
            before: before.clone()
        }
    );
    let shown = place.git("R", &["cat-file", "commit", "HEAD"]);
    assert!(shown.contains(&format!("parent {before}\nparent {head}\n")));
    for part in [
        "author Ada <ada@",
        "committer Ada <ada@",
        "gpgsig signature",
        "Merge the work",
        "Codewhale-Run: r\nTold: yes",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(file(&place, "home/heard"), "pre-merge-commit\npost-merge\n");
    assert_eq!(place.git("R", &["status", "--porcelain"]), "");
    place.commit("R", &[("later", "x\n")], "later");
    let again = bring(&place, &head).unwrap();
    assert_eq!((again.how, again.commit), (Arrival::Found, home.commit));
}

#[test]
fn what_a_hook_refuses_is_put_back() {
    for name in ["pre-merge-commit", "commit-msg"] {
        let (place, head) = with_work();
        place.commit("R", &[("other", "x\n")], "mine");
        place.write("R", &[("other", "uncommitted\n"), ("note", "untracked\n")]);
        hook(&place, name, "echo not today >&2; exit 1");
        let before = everything(&place);
        let error = bring(&place, &head).unwrap_err();
        let HomewardError::Refused(said) = error else {
            panic!("{error:?}")
        };
        assert!(said.stderr.contains("not today"), "{said}");
        assert_eq!(everything(&place), before, "{name}");
    }
}

#[test]
fn a_branch_that_somebody_else_moves_during_a_refused_merge_does_not_count_as_landed() {
    let (place, head) = with_work();
    place.commit("R", &[("other", "x\n")], "mine");
    let script = "other=$(git commit-tree -p HEAD -m theirs 'HEAD^{tree}')
        git update-ref refs/heads/trunk \"$other\"; exit 1";
    hook(&place, "pre-merge-commit", script);
    let error = bring(&place, &head).unwrap_err();
    assert!(matches!(error, HomewardError::Moved(_)), "{error:?}");
    let shown = place.git("R", &["log", "-1", "--format=%s", "trunk"]);
    assert_eq!(shown, "theirs");
    assert_eq!(place.git("R", &["status", "--porcelain"]), "");
    fs::remove_file(place.path("R/.git/hooks/pre-merge-commit")).unwrap();
    assert!(bring(&place, &head).is_ok());
}

#[test]
fn uncommitted_work_in_the_way_is_never_touched() {
    let check = |prepare: fn(&Place), wanted: &[&str]| {
        let (place, head) = with_work();
        prepare(&place);
        let error = refuses(&place, &head, "uncommitted work");
        let HomewardError::InTheWay { paths, .. } = error else {
            panic!("{error:?}")
        };
        assert!(paths.iter().eq(wanted.iter().map(Path::new)), "{paths:?}");
    };
    check(|place| place.write("R", &[("f", "1\n2\nmine\n")]), &["f"]);
    check(|place| fs::remove_file(place.path("R/f")).unwrap(), &["f"]);
    check(|place| place.write("R", &[("new", "mine\n")]), &["new"]);
    check(
        |place| place.write("R", &[("new/below", "mine\n")]),
        &["new"],
    );
    check(
        |place| place.write("R", &[("new", "mine\n"), (".git/info/exclude", "new\n")]),
        &["new"],
    );
    check(
        |place| {
            place.write("R", &[("f", "1\nstaged\n3\n")]);
            place.git("R", &["add", "f"]);
            place.write("R", &[("f", "1\n2\n3\n")]);
        },
        &["f"],
    );
    // A merge commit is made of the index: git takes none in which something is staged.
    check(
        |place| {
            place.commit("R", &[("other", "x\n")], "mine");
            place.write("R", &[("other", "staged\n")]);
            place.git("R", &["add", "other"]);
        },
        &["other"],
    );
}

#[test]
fn what_does_not_merge_and_what_is_half_done_is_told_before_anything_is_touched() {
    let (place, head) = with_work();
    place.commit("R", &[("f", "1\nmine\n3\n")], "mine");
    let error = refuses(&place, &head, "does not merge");
    let HomewardError::Conflict { conflicts, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(conflicts.paths, [Path::new("f")]);

    for (name, what) in [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("index.lock", "another git command"),
    ] {
        let (place, head) = with_work();
        let text = format!("{head}\n");
        place.write("R/.git", &[(name, &text)]);
        refuses(&place, &head, what);
    }
    let (place, head) = with_work();
    place.git("R", &["config", "sequence.editor", "sed -i s/pick/edit/"]);
    place.commit("R", &[("other", "x\n")], "mine");
    place.git("R", &["rebase", "-q", "-i", "HEAD~1"]);
    refuses(&place, &head, "a rebase of the branch");
}

#[test]
fn a_branch_that_is_checked_out_nowhere_is_moved_and_no_checkout_is_touched() {
    let (place, head) = with_work();
    place.git("R", &["checkout", "-q", "-b", "feature"]);
    place.write("R", &[("f", "1\nuncommitted\n3\n")]);
    let shown = |place: &Place| {
        let status = place.git("R", &["status", "--porcelain=v2", "--branch"]);
        (status, fs::read(place.path("R/f")).unwrap())
    };
    let before = shown(&place);
    let home = bring(&place, &head).unwrap();
    assert_eq!((home.checkout, home.commit), (None, head.clone()));
    assert_eq!(shown(&place), before);
    let holders = |commit: &CommitId| {
        let format = "--format=%(refname:short)";
        place.git("R", &["branch", format, "--contains", commit.as_str()])
    };
    assert_eq!(holders(&head), "trunk\nwork");

    let (place, head) = with_work();
    place.commit("R", &[("other", "x\n")], "mine");
    place.git("R", &["checkout", "-q", "-b", "feature", "HEAD~1"]);
    hook(&place, "commit-msg", "exit 1");
    hook(&place, "post-merge", "exit 1");
    fs::write(
        place.path("R/.git/hooks/pre-merge-commit"),
        "not executable",
    )
    .unwrap();
    let before = shown(&place);
    let home = bring(&place, &head).unwrap();
    assert_eq!(home.hooks_not_run, ["commit-msg", "post-merge"]);
    assert_eq!(shown(&place), before);
    let shown = place.git("R", &["show", "-s", "--format=%an %cn %P %B", "trunk"]);
    assert!(
        shown.starts_with("Ada Ada ") && shown.contains(head.as_str()),
        "{shown}"
    );
    assert!(shown.ends_with("Codewhale-Run: r"), "{shown}");
    assert_eq!(place.git("R", &["show", "trunk:f"]), "1\nwork\n3");
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_merged_there() {
    let (place, head) = with_work();
    place.git("R", &["checkout", "-q", "-b", "feature"]);
    place.git("R", &["worktree", "add", "-q", "../W", "trunk"]);
    place.write("W", &[("f", "1\n2\nmine\n")]);
    refuses(&place, &head, "uncommitted work");
    assert_eq!(file(&place, "W/f"), "1\n2\nmine\n");
    place.write("W", &[("f", "1\n2\n3\n")]);
    let home = bring(&place, &head).unwrap();
    assert_eq!(home.checkout, Some(place.path("W")));
    assert_eq!(file(&place, "W/f"), "1\nwork\n3\n");
    assert_eq!(place.git("W", &["status", "--porcelain"]), "");
    assert_eq!(file(&place, "R/f"), "1\n2\n3\n");
}

#[test]
fn a_checkout_is_known_by_a_relative_path_and_also_while_it_is_not_there() {
    let (place, head) = with_work();
    place.git("R", &["checkout", "-q", "-b", "feature"]);
    place.git("R", &["worktree", "add", "-q", "../W", "trunk"]);
    let known = place.path("R/.git/worktrees/W/gitdir");
    fs::write(&known, "../../../../W/.git\n").unwrap();
    fs::rename(place.path("W"), place.path("away")).unwrap();
    refuses(&place, &head, "a checkout that is not there now");
    fs::rename(place.path("away"), place.path("W")).unwrap();
    bring(&place, &head).unwrap();
    assert_eq!(file(&place, "W/f"), "1\nwork\n3\n");
    assert_eq!(place.git("W", &["status", "--porcelain"]), "");
}

#[test]
fn a_branch_that_is_gone_and_a_person_without_a_name_are_told() {
    let (place, head) = with_work();
    place.git("R", &["checkout", "-q", "-b", "feature"]);
    place.git("R", &["branch", "-q", "-D", "trunk"]);
    refuses(&place, &head, "no branch `trunk`");

    let (place, head) = with_work();
    place.commit("R", &[("other", "x\n")], "mine");
    let settings = "[protocol \"file\"]\n\tallow = always\n";
    fs::write(place.path("home/.gitconfig"), settings).unwrap();
    refuses(&place, &head, "does not know who you are");
}
