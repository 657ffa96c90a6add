//! What cannot be begun: it ends before anything is made or asked, with the exit code of its kind and
//! a message that names the thing. And what is begun never touches what belongs to the person.

use crate::crew::{Crew, ends_as};
use crate::environment::{Ran, TestEnvironment};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use testkit::model_server::{ModelServer, Reply};

/// A builder whose server answers whatever it is asked. `$URL` stands for the server.
const ROSTER: &str = r#"name = "one"
model = "wire/m"
[workspace]
pass_env = ["HOLD"]
[provider.wire]
kind = "openai"
base_url = "$URL"
[[task]]
id = "make"
role = "builder"
prompt = "Make it."
"#;

/// Every file below a folder, with its bytes.
fn files(below: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if entry.file_type().expect("a type").is_dir() {
                found.insert(path.clone(), Vec::new());
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

/// Runs the roster, which must be refused with this exit code and these words, and leave every byte
/// below the folder of the test as it was.
#[track_caller]
fn refused(environment: &TestEnvironment, exit: i32, words: &[&str]) -> Ran {
    let root = Path::new(environment.root());
    let before = files(root);
    let ran = environment
        .run(&["fleet", "run", "../roster.toml", "--json"])
        .exits(exit);
    let after = files(root);
    let differing: Vec<_> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes))
        .map(|(path, _)| path)
        .collect();
    assert!(differing.is_empty(), "made or changed: {differing:?}");
    assert_eq!(after.len(), before.len(), "something was removed");
    for words in words {
        assert!(ran.stderr.contains(words), "`{words}` in {}", ran.stderr);
    }
    let last = ran.json().pop().expect("a record for programs");
    assert_eq!(
        (&last["type"], &last["exit"]),
        (&"error".into(), &exit.into())
    );
    ran
}

fn with_roster(environment: TestEnvironment, roster: &str) -> TestEnvironment {
    environment.write("roster.toml", roster);
    environment
}

fn repository(roster: &str) -> TestEnvironment {
    with_roster(TestEnvironment::new().with_repository(), roster)
}

fn willing() -> ModelServer {
    ModelServer::answering(|request| match request.turn() {
        1 => Reply::calls([(
            "shell",
            r#"{"command":"pwd > here.txt; git status -sb >> here.txt"}"#,
        )]),
        _ => Reply::text("It is made."),
    })
}

/// The only integration branch.
fn integration(environment: &TestEnvironment, options: &[&str]) -> String {
    let list = [
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/codewhale/*/integration",
    ];
    environment.git(&[options, &list].concat())
}

#[test]
fn a_repository_without_a_commit_is_left_alone_and_then_works() {
    let server = willing();
    let environment = TestEnvironment::new().with_identity();
    environment.git(&["init", "-q", "-b", "trunk"]);
    environment.write("desk/README.md", "A sample.\n");
    let environment = with_roster(environment, &ROSTER.replace("$URL", &server.base_url()));
    refused(&environment, 2, &["no commit", "git commit"]);
    assert_eq!(environment.git(&["for-each-ref"]), "");
    assert_eq!(server.requests().len(), 0);

    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-q", "-m", "Begin"]);
    let run = environment.run(&["fleet", "run", "../roster.toml"]);
    run.exits(0);
    let trunk = environment.git(&["rev-parse", "trunk"]);
    let landed = environment.git(&["rev-parse", &integration(&environment, &[])]);
    assert_ne!(landed, trunk);
    assert_eq!(environment.git(&["merge-base", "trunk", &landed]), trunk);
    assert_eq!(environment.git(&["branch", "--show-current"]), "trunk");
}

/// Runs the roster, which must come to its end with the words of its provider and be resumable.
#[track_caller]
fn stopped_by_its_provider(environment: &TestEnvironment, words: &[&str]) {
    let ran = environment
        .run(&["fleet", "run", "../roster.toml", "--json"])
        .exits(6);
    let last = ran.json().pop().expect("a last record");
    assert_eq!(last["type"], "run.ended", "{ran:#?}");
    assert_eq!(last["outcome"], "provider", "{ran:#?}");
    for words in words {
        assert!(ran.stderr.contains(words), "`{words}` in {}", ran.stderr);
    }
}

#[test]
fn a_provider_that_cannot_be_reached_is_named_and_the_run_goes_on_once_it_can() {
    let server = willing();
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").to_string()
    };
    let environment = repository(&ROSTER.replace("$URL", &format!("http://{address}/v1")));
    stopped_by_its_provider(&environment, &["`wire`", &address]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_missing_key_is_named_by_its_variable() {
    let server = willing();
    let url = format!("{}\"\nkey_env = \"WIRE_KEY", server.base_url());
    let environment = repository(&ROSTER.replace("$URL", &url));
    refused(&environment, 6, &["`wire`", "WIRE_KEY"]);
    let environment = environment.with("WIRE_KEY", "sk-very-secret");
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    let key = |request: &testkit::model_server::RequestView| {
        request.header("authorization").map(str::to_owned)
    };
    let keys: Vec<_> = server.requests().iter().map(key).collect();
    assert_eq!(keys[0].as_deref(), Some("Bearer sk-very-secret"));
    let leaked = files(Path::new(environment.root()))
        .into_iter()
        .find(|(_, bytes)| bytes.windows(14).any(|part| part == b"sk-very-secret"));
    assert_eq!(leaked.map(|(path, _)| path), None, "the key lies in a file");
}

#[test]
fn a_refused_key_is_told_in_the_words_of_the_provider_and_asked_once() {
    let server = ModelServer::refusing_the_key("this key has been revoked");
    let environment = repository(&ROSTER.replace("$URL", &server.base_url()));
    stopped_by_its_provider(
        &environment,
        &["`wire`", "401", "this key has been revoked"],
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_base_that_is_no_commit_is_refused() {
    let server = willing();
    let roster = format!(
        "base = \"nowhere\"\n{}",
        ROSTER.replace("$URL", &server.base_url())
    );
    refused(&repository(&roster), 2, &["nowhere"]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_check_says_what_a_run_would_miss_where_it_would_stand() {
    let check = |environment: TestEnvironment, base: &str, words: Option<&str>| {
        let roster = ROSTER.replace("$URL", "http://127.0.0.1:9");
        let environment = with_roster(environment, &format!("{base}{roster}"));
        let ran = environment
            .run(&["fleet", "check", "../roster.toml"])
            .exits(0);
        let note = ran
            .stderr
            .lines()
            .find(|line| line.starts_with("note: a run"));
        assert_eq!(note.is_some(), words.is_some(), "{}", ran.stderr);
        assert!(note.unwrap_or_default().contains(words.unwrap_or_default()));
    };
    let empty = TestEnvironment::new().with_identity();
    empty.git(&["init", "-q"]);
    let nowhere = "base = \"nowhere\"\n";
    check(
        TestEnvironment::new(),
        "",
        Some("is not in a git repository"),
    );
    check(empty, "", Some("has no commit yet"));
    check(
        TestEnvironment::new().with_repository(),
        nowhere,
        Some("`nowhere`"),
    );
    check(
        TestEnvironment::new().with_repository(),
        "base = \"HEAD\"\n",
        None,
    );
    check(TestEnvironment::new().with_repository(), "", None);
}

#[test]
fn all_mistakes_of_a_roster_are_shown_at_once() {
    let roster = r#"max_parralel = 4

[role.builder]
modle = "m1"
access = "wrte"

[roles.scout]
model = "m1"

[[task]]
id = "t1"
role = "reviwer"
prompt = "Do it."
timeout = "10"
"#;
    let words = [
        "1:1",
        "max_parralel",
        "4:1",
        "modle",
        "did you mean `model`",
        "5:10",
        "wrte",
        "did you mean `write`",
        "7:2",
        "roles",
        "did you mean `role.scout`",
        "12:8",
        "reviwer",
        "did you mean `reviewer`",
        "14:11",
        "timeout",
    ];
    refused(&repository(roster), 2, &words);
}

#[test]
fn circles_and_unknown_needs_are_refused_by_name() {
    let task = |id: &str, needs: &str| {
        format!("[[task]]\nid = \"{id}\"\nrole = \"scout\"\nneeds = [{needs}]\nprompt = \"p\"\n")
    };
    let check = |tasks: String, words: &[&str]| {
        let roster = format!("model = \"openai/m\"\n{tasks}");
        refused(&repository(&roster), 2, words);
    };
    check(
        task("x", "\"y\"") + &task("y", "\"x\""),
        &["x", "y", "wait for each other"],
    );
    check(task("z", "\"z\""), &["z"]);
    check(task("q", "\"nope\""), &["nope"]);
    check(task("a", "\"a\"") + &task("a", ""), &["`a`"]);
}

#[test]
fn an_unknown_model_ends_the_run_with_the_words_of_the_provider() {
    let words = "The model `m` does not exist; there are m1 and m2";
    let server = ModelServer::answering(|_| Reply::refusal(404, words));
    let environment = repository(&ROSTER.replace("$URL", &server.base_url()));
    let ran = environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(1);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    let status = environment.run(&["fleet", "status"]).exits(0);
    assert!(
        status.stdout.contains("does not exist"),
        "{}",
        status.stdout
    );
    // It was refused for good: no attempt could change that.
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_effort_that_the_model_does_not_know_is_refused() {
    let roster = "model = \"anthropic/claude-3-5-haiku-latest\"\n[role.scout]\neffort = \"high\"\n[[task]]\nid = \"a\"\nrole = \"scout\"\nprompt = \"p\"\n";
    let environment = repository(roster);
    refused(
        &environment,
        2,
        &["claude-3-5-haiku-latest", "effort", "scout"],
    );
    environment
        .run(&["fleet", "check", "../roster.toml"])
        .exits(2);
}

#[test]
fn a_folder_with_a_blank_in_its_name_is_a_folder() {
    let server = willing();
    let environment = TestEnvironment::new()
        .with("HOME", "$T/my home")
        .with_repository();
    environment.write("roster.toml", &ROSTER.replace("$URL", &server.base_url()));
    environment.write("my home/.keep", "");
    let folder = environment.path("my home/proj dir");
    std::fs::rename(environment.path("desk"), &folder).expect("it can be moved");
    std::fs::create_dir(environment.path("desk")).expect("a folder");
    let there = ["-C", "../my home/proj dir"];
    let run = [&there[..], &["fleet", "run", "../../roster.toml"]].concat();
    environment.run(&run).exits(0);
    let branch = integration(&environment, &there);
    let file = environment.git(&[&there[..], &["show", &format!("{branch}:here.txt")]].concat());
    assert!(
        file.contains("$T/my home/.local/state/codewhale/worktrees/"),
        "{file}"
    );
    assert!(file.contains("## codewhale/one-"), "{file}");
    assert!(
        !files(&environment.path(""))
            .keys()
            .any(|path| path.ends_with("~"))
    );
}

/// What of a checkout belongs to the person, beyond the files.
fn belongings(environment: &TestEnvironment) -> Vec<String> {
    let mut found: Vec<String> = [
        &["status", "--porcelain=v2", "--branch", "--ignored", "-z"][..],
        &["stash", "list", "-p"],
        &["config", "--list", "--local"],
        &[
            "for-each-ref",
            "refs/heads/main",
            "refs/heads/mine",
            "refs/tags",
            "refs/stash",
        ],
        &["diff", "HEAD"],
        &["reflog"],
    ]
    .iter()
    .map(|arguments| environment.git(arguments))
    .collect();
    let index = std::fs::read(environment.path("desk/.git/index")).expect("an index");
    found.push(format!("{index:?}"));
    for folder in ["desk/.git/hooks", "desk/src"] {
        found.push(format!("{:?}", files(&environment.path(folder))));
    }
    found
}

#[test]
fn a_dirty_checkout_is_worked_beside_and_never_touched() {
    let crew = Crew::new();
    let environment = &crew.environment;
    environment.write("desk/src/kept.txt", "kept\n");
    environment.write("desk/.gitignore", "*.log\n");
    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-q", "-m", "Add a source"]);
    environment.git(&["branch", "mine"]);
    environment.git(&["tag", "v1"]);
    environment.write("desk/src/kept.txt", "stashed\n");
    environment.git(&["stash", "-q"]);
    environment.write("desk/src/kept.txt", "changed\n");
    environment.write("desk/src/staged.txt", "staged\n");
    environment.git(&["add", "src/staged.txt"]);
    environment.write("desk/src/staged.txt", "staged and changed\n");
    environment.write("desk/src/new.txt", "new\n");
    environment.write("desk/src/run.log", "ignored\n");
    environment.write(
        "desk/.git/hooks/post-commit",
        "#!/bin/sh\ntouch \"$HOLD/hooked\"\n",
    );
    let hook = environment.path("desk/.git/hooks/post-commit");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(hook, mode).expect("a mode can be set");

    environment.git(&["status"]);
    let before = belongings(environment);
    ends_as(crew.start().ended(), "done", 0);
    crew.status();
    environment.run(&["fleet", "diff", "alpha"]).exits(0);
    assert_eq!(belongings(environment), before);
    assert!(!environment.path("hold/hooked").exists(), "a hook was run");
    let landed = format!("codewhale/{}/integration", crew.run_id());
    let names = environment.git(&["ls-tree", "-r", "--name-only", &landed]);
    assert!(names.contains("alpha.txt"), "{names}");
    assert!(
        !names.contains("new.txt") && !names.contains("staged.txt"),
        "{names}"
    );
}
