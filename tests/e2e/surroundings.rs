//! Repositories and settings as people really have them: none of them changes what a run comes to, and
//! a run changes none of them.

use crate::crew::{Crew, ends_as};
use crate::environment::TestEnvironment;
use std::os::unix::fs::PermissionsExt as _;

/// Settings of a person that would change what git prints, asks, runs or writes.
const HOSTILE: &str = r#"[user]
name = A Person
email = person@example.invalid
[init]
defaultBranch = main
[color]
ui = always
[core]
autocrlf = input
hooksPath = $T/hooks
fsmonitor = $T/hooks/any
pager = $T/hooks/any
editor = $T/hooks/any
quotePath = true
[commit]
gpgSign = true
verbose = true
[tag]
gpgSign = true
[gpg]
program = $T/hooks/any
[diff]
external = $T/hooks/any
noprefix = true
mnemonicPrefix = true
renames = copies
[log]
showSignature = true
decorate = full
[status]
showUntrackedFiles = no
short = true
[merge]
conflictStyle = diff3
ff = only
[pull]
rebase = true
[rerere]
enabled = true
[submodule]
recurse = true
[worktree]
guessRemote = true
useRelativePaths = true
[gc]
auto = 1
"#;

/// Checks that the work of both builders is on the integration branch, and nothing else.
#[track_caller]
fn landed(crew: &Crew) {
    let branch = format!("codewhale/{}/integration", crew.run_id());
    let changed = [
        "-c",
        "core.quotePath=false",
        "diff-tree",
        "-r",
        "--name-status",
    ];
    let changed = crew
        .environment
        .git(&[&changed[..], &["main", branch.as_str()]].concat());
    assert_eq!(changed, "A\talpha.txt\nA\tbeta.txt");
    for (file, content) in [("alpha.txt", "one\ntwo\nthree"), ("beta.txt", "x\ny\nz")] {
        let object = format!("{branch}:{file}");
        assert_eq!(
            crew.environment.git(&["cat-file", "blob", &object]),
            content
        );
    }
}

#[test]
fn the_settings_of_a_person_change_nothing() {
    let crew = Crew::new();
    let environment = &crew.environment;
    environment.write("hooks/any", "#!/bin/sh\ntouch \"$HOLD/ran\"\nexit 1\n");
    for hook in [
        "any",
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        let file = environment.path("hooks").join(hook);
        let _ = std::fs::copy(environment.path("hooks/any"), &file);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("a mode can be set");
    }
    environment.write("home/.gitconfig", HOSTILE);
    ends_as(crew.start().ended(), "done", 0);
    let diff = environment.run(&["fleet", "diff", "alpha"]).exits(0);
    assert!(
        diff.stdout
            .starts_with("diff --git a/alpha.txt b/alpha.txt"),
        "{}",
        diff.stdout
    );
    assert!(
        !environment.path("hold/ran").exists(),
        "something of the person's was run"
    );
    environment.write(
        "home/.gitconfig",
        "[user]\nname = A\nemail = a@example.invalid\n",
    );
    landed(&crew);
}

#[test]
fn a_run_works_from_a_detached_head_in_the_middle_of_a_merge() {
    let crew = Crew::new();
    let environment = &crew.environment;
    environment.git(&["checkout", "-q", "-b", "other"]);
    environment.write("desk/README.md", "Another sample.\n");
    environment.git(&["commit", "-q", "-am", "Say it otherwise"]);
    environment.git(&["checkout", "-q", "--detach", "main"]);
    environment.write("desk/README.md", "A third sample.\n");
    environment.git(&["commit", "-q", "-am", "Say it once more"]);
    environment.git(&["update-ref", "refs/heads/main", "HEAD"]);
    let mut merge = environment.command(&[]);
    merge = {
        let mut git = std::process::Command::new("git");
        git.args(["merge", "-q", "other"])
            .current_dir(environment.path("desk"))
            .env_clear()
            .envs(
                merge
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        git
    };
    let conflicts = merge.output().expect("git starts");
    assert_eq!(conflicts.status.code(), Some(1));
    let before = environment.git(&["status", "--porcelain=v2"]);
    ends_as(crew.start().ended(), "done", 0);
    assert_eq!(environment.git(&["status", "--porcelain=v2"]), before);
    assert!(environment.path("desk/.git/MERGE_HEAD").exists());
    landed(&crew);
}

#[test]
fn a_run_works_from_a_folder_below_and_from_a_linked_worktree() {
    let crew = Crew::new();
    let environment = &crew.environment;
    let run = |folder: &str| {
        let roster = environment.path("roster.toml").display().to_string();
        let arguments = ["-C", folder, "fleet", "run", &roster, "--json"];
        ends_as(environment.start(&arguments).ended(), "done", 0);
        landed(&crew);
        let state = environment
            .run(&["-C", folder, "fleet", "status", "--json"])
            .exits(0);
        assert_eq!(state.json()[0]["state"], "done");
        std::fs::remove_dir_all(crew.run_folder().expect("a run")).expect("it can go");
    };
    run("checks");
    environment.git(&["worktree", "add", "-q", "--detach", "../linked", "main"]);
    run("../linked/checks");
    let status = ["-C", "../linked", "status", "--porcelain"];
    assert_eq!(environment.git(&status), "");
}

#[test]
fn two_runs_of_one_repository_do_not_meet() {
    let crew = Crew::new();
    let name = |name: &'static str| {
        crew.environment
            .start(&["fleet", "run", "../roster.toml", "--json", "--name", name])
    };
    let (one, two) = (name("one"), name("two"));
    ends_as(one.ended(), "done", 0);
    ends_as(two.ended(), "done", 0);
    let trees = crew.environment.git(&[
        "for-each-ref",
        "--format=%(tree)",
        "refs/heads/codewhale/*/integration",
    ]);
    let trees: Vec<&str> = trees.lines().collect();
    assert_eq!((trees.len(), trees[0]), (2, trees[1]));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let environment = TestEnvironment::new().with("XDG_STATE_HOME", "$T/file");
    let crew = Crew::in_environment(environment);
    crew.environment.write("file", "");
    let ran = crew.environment.run(&["fleet", "run", "../roster.toml"]);
    let ran = ran.exits(8);
    assert!(ran.stdout.contains("$T/file/codewhale"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert_eq!(crew.asked(), [""; 0]);
    // Once it can be written, the run goes on.
    std::fs::remove_file(crew.environment.path("file")).expect("it can go");
    ends_as(crew.resume().ended(), "done", 0);
}
