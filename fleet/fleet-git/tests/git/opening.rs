//! What a repository must be like, and what is read from it.

use crate::place::Place;
use fleet_git::{Dirty, IdentitySource, OpenError, Repo, RepoError};
use std::fs;

fn refusal(place: &Place, folder: &str) -> String {
    let error = Repo::discover_in(&place.path(folder), place.surroundings()).unwrap_err();
    error
        .to_string()
        .replace(place.path("").to_str().unwrap(), "@/")
}

#[test]
fn what_cannot_be_worked_with_is_refused_with_what_to_do() {
    let place = Place::with_repo();
    place.git(".", &["init", "-q", "-b", "trunk", "unborn"]);
    place.git(".", &["clone", "-q", "--bare", "R", "bare.git"]);
    place.git(".", &["init", "-q", "--object-format=sha256", "sha256"]);
    place.git(".", &["init", "-q", "odd"]);
    place.git("odd", &["config", "core.repositoryFormatVersion", "1"]);
    fs::write(
        place.path("odd/.git/config"),
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefstorage = reftable\n",
    )
    .unwrap();
    let all = ["home", "nowhere", "unborn", "bare.git", "sha256", "odd"]
        .map(|folder| refusal(&place, folder))
        .join("\n");
    insta::assert_snapshot!(all, @"
    @/home is not in a git repository; make one with `git init` and a first commit
    @/nowhere is not in a git repository; make one with `git init` and a first commit
    @/unborn has no commit yet on `trunk`; make a first one (`git add -A && git commit -m start`) and run this again
    @/bare.git is a bare repository; run this in a checkout of it
    @/sha256 uses SHA-256 object names, which is not supported: unknown object format 'sha256'
    @/odd uses the reftable format, which is not supported: unsupported extension name extensions.refstorage
    ");
}

#[test]
fn a_repository_without_a_commit_is_left_as_it_is_and_works_after_the_first() {
    let place = Place::empty();
    place.git(".", &["init", "-q", "-b", "trunk", "R"]);
    let before = fs::read_dir(place.path("R/.git")).unwrap().count();
    refusal(&place, "R");
    assert_eq!(fs::read_dir(place.path("R/.git")).unwrap().count(), before);
    assert_eq!(place.git("R", &["for-each-ref"]), "");

    let first = place.commit("R", &[("f", "1\n")], "first");
    let (_, workspace) = place.workspace();
    assert_eq!(workspace.base(), &first);
    let branch = workspace.branch().unwrap().as_str();
    assert_eq!(place.git("R", &["rev-parse", branch]), first.as_str());
}

#[test]
fn a_missing_or_old_git_is_named() {
    let place = Place::with_repo();
    let check = |script: &str, wanted: &str| {
        let surroundings = place.surroundings_with_git(script);
        let error = Repo::discover_in(&place.path("R"), surroundings).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    };
    check(
        "echo git version 2.30.2",
        "git 2.30.2 is too old; install git 2.38 or newer",
    );
    check(
        "echo nonsense",
        "git nonsense is too old; install git 2.38 or newer",
    );
    let nothing = fleet_git::Surroundings::from_vars([("PATH", place.path("home"))]);
    let error = Repo::discover_in(&place.path("R"), nothing).unwrap_err();
    assert!(matches!(error, OpenError::GitMissing), "{error}");
}

#[test]
fn the_committer_is_the_person_or_a_stated_fallback() {
    let place = Place::with_repo();
    let check = |name: &str, source: IdentitySource| {
        let repo = place.repo();
        assert_eq!(repo.identity().to_string(), name);
        assert_eq!(repo.identity().source(), source);
    };
    check("Ada <ada@example.invalid>", IdentitySource::Person);
    fs::write(place.path("home/.gitconfig"), "[user]\n\tname = Ada\n").unwrap();
    check("codewhale <codewhale@localhost>", IdentitySource::Fallback);
    place.git("R", &["config", "user.email", "a@r.invalid"]);
    check("Ada <a@r.invalid>", IdentitySource::Person);
}

#[test]
fn a_linked_worktree_shares_the_common_folder_and_has_its_own_head() {
    let place = Place::with_repo();
    let first = place.repo().head().unwrap();
    place.git("R", &["worktree", "add", "-q", "-b", "side", "../side"]);
    let second = place.commit("side", &[("g", "x")], "second");
    fs::create_dir(place.path("side/deep")).unwrap();
    let repo = Repo::discover_in(&place.path("side/deep"), place.surroundings()).unwrap();
    assert_eq!(repo.toplevel(), place.path("side"));
    assert_eq!(repo.git_common_dir(), place.path("R/.git"));
    assert_eq!(repo.hash(), place.repo().hash());
    assert_eq!(repo.head().unwrap(), second);
    assert_eq!(place.repo().head().unwrap(), first);
}

#[test]
fn revisions_name_commits_or_are_refused() {
    let place = Place::with_repo();
    let first = place.repo().head().unwrap();
    place.git("R", &["tag", "-a", "v1", "-m", "v1"]);
    let second = place.commit("R", &[("f", "2\n")], "second");
    let repo = place.repo();
    let check = |revision: &str, wanted: Option<&fleet_core::ids::CommitId>| match wanted {
        Some(wanted) => assert_eq!(&repo.resolve(revision).unwrap(), wanted, "{revision}"),
        None => {
            let error = repo.resolve(revision).unwrap_err();
            assert!(
                matches!(error, RepoError::NoSuchCommit(_)),
                "{revision}: {error}"
            );
        }
    };
    check("trunk", Some(&second));
    check("HEAD~1", Some(&first));
    check("v1", Some(&first));
    check(&first.as_str()[..10], Some(&first));
    check("main", None);
    check("HEAD:f", None);
    check("--upload-pack=x", None);
    check("", None);
}

#[test]
fn looking_for_changes_leaves_the_index_alone_and_needs_no_lock() {
    let place = Place::with_repo();
    let repo = place.repo();
    assert!(repo.dirty().unwrap().is_clean());
    let index = place.path("R/.git/index");
    let before = fs::read(&index).unwrap();
    let file = fs::File::options()
        .write(true)
        .open(place.path("R/f"))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    fs::write(place.path("R/.git/index.lock"), "").unwrap();
    for _ in 0..10 {
        assert!(repo.dirty().unwrap().is_clean());
    }
    assert_eq!(fs::read(&index).unwrap(), before);

    place.write(
        "R",
        &[
            ("f", "other\n"),
            ("new", "x"),
            ("folder/a", ""),
            ("folder/b", ""),
        ],
    );
    let dirty = repo.dirty().unwrap();
    let wanted = Dirty {
        changed: 1,
        untracked: 2,
        unmerged: 0,
    };
    assert_eq!(dirty, wanted);
}

#[test]
fn a_demonstration_repository_is_made_from_a_folder_once() {
    let place = Place::empty();
    fs::write(place.path("home/.gitconfig"), "").unwrap();
    place.write(
        "files",
        &[
            ("a/b.txt", "b\n"),
            (".gitignore", "*.log\n"),
            ("x.log", "log\n"),
        ],
    );
    let make =
        || fleet_git::demo_repo_in(&place.path("files"), &place.path("D"), place.surroundings());
    let repo = make().unwrap();
    assert!(repo.dirty().unwrap().is_clean());
    let shown = place.git("D", &["log", "--format=%an|%cn|%s", "--name-only", "main"]);
    insta::assert_snapshot!(shown, @"
    codewhale demo|codewhale|The files of the demonstration

    .gitignore
    a/b.txt
    x.log
    ");
    assert_eq!(
        make().unwrap_err().to_string(),
        format!("{} exists and is not empty", place.path("D").display())
    );
}
