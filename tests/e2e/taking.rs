//! `fleet land` and `fleet reject`: a run's work on the person's own branch, exactly once, or everything
//! as it was.

use crate::crew::Crew;
use crate::environment::{Ran, TestEnvironment};
use rustix::process::Signal;
use serde_json::Value;

const ROSTER: &str = r#"name = "small"
model = "played/m"
[provider.played]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "change"
role = "builder"
prompt = "Change it."
"#;

/// The second line of `f` is the work's.
const EDITS: &str = r#"{"name":"read","arguments":{"path":"f"}},{"name":"write","arguments":{"path":"f","content":"1\nwork\n3\n"}}"#;

/// `f` is called `h`.
const RENAMES: &str = r#"{"name":"shell","arguments":{"command":"mv f h"}}"#;

/// A repository with `f` on `main`, and a finished run that did these calls.
fn ran(calls: &str) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("desk/f", "1\n2\n3\n");
    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-q", "-m", "Add f"]);
    environment.write("roster.toml", ROSTER);
    let turns = format!(
        "{{\"task\":\"change\",\"turn\":1,\"text\":\"-\",\"calls\":[{calls}]}}\n{{\"task\":\"change\",\"turn\":2,\"text\":\"Done.\"}}\n"
    );
    environment.write("turns.jsonl", &turns);
    let ran = environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    assert!(
        ran.stderr.contains("codewhale fleet land small-"),
        "{ran:?}"
    );
    environment
}

fn commit(environment: &TestEnvironment, file: &str, text: &str) {
    environment.write(&format!("desk/{file}"), text);
    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-q", "-m", "Mine"]);
}

fn land(environment: &TestEnvironment) -> Ran {
    environment.run(&["fleet", "land", "--json"])
}

fn status(environment: &TestEnvironment) -> Value {
    let ran = environment.run(&["fleet", "status", "--json"]).exits(0);
    ran.json().remove(0)
}

/// How many times the ledger says that the work was taken.
fn times_taken(environment: &TestEnvironment) -> usize {
    let ran = environment.run(&["fleet", "logs", "--json"]).exits(0);
    let records = ran.json();
    records.iter().filter(|r| r["type"] == "run.landed").count()
}

/// HEAD, every branch, the status, git's special files and the bytes of the person's files. The index, which
/// holds times too, is another thing.
fn everything(environment: &TestEnvironment) -> Vec<String> {
    let mut all = vec![
        environment.git(&["rev-parse", "HEAD"]),
        environment.git(&["symbolic-ref", "HEAD"]),
        environment.git(&["for-each-ref"]),
        environment.git(&["status", "--porcelain=v2"]),
    ];
    for folder in ["desk/.git", "desk"] {
        let entries = std::fs::read_dir(environment.path(folder)).expect("a folder");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file() && !path.ends_with(".git/index"))
            .collect();
        files.sort();
        for path in files {
            let bytes = std::fs::read(&path).expect("a file");
            all.push(format!("{}: {}", path.display(), bytes.escape_ascii()));
        }
    }
    all
}

/// The work is refused for this reason, and nothing at all is changed.
#[track_caller]
fn is_refused(environment: &TestEnvironment, parts: &[&str]) {
    // Git notes what it has looked at: from here on the index keeps its bytes.
    environment.git(&["status"]);
    let index = || std::fs::read(environment.path("desk/.git/index")).expect("an index");
    let before = index();
    is_put_back(environment, parts);
    assert_eq!(index(), before);
    assert_eq!(status(environment)["landed"], Value::Null);
    assert_eq!(times_taken(environment), 0);
}

/// The work is refused for this reason, and what was begun is put back.
#[track_caller]
fn is_put_back(environment: &TestEnvironment, parts: &[&str]) {
    let before = everything(environment);
    let ran = land(environment).exits(5);
    for part in parts {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    assert_eq!(everything(environment), before);
}

fn holders(environment: &TestEnvironment, commit: &str) -> String {
    let format = "--format=%(refname:short)";
    let branches = environment.git(&["branch", format, "--contains", commit]);
    let own = branches.lines().filter(|name| !name.contains("codewhale/"));
    own.collect::<Vec<_>>().join(" ")
}

#[test]
fn work_goes_to_the_branch_it_started_from_and_is_recorded_once() {
    let environment = ran(EDITS);
    let outcome = land(&environment).exits(0).json().remove(0);
    assert_eq!(outcome["schema"], "codewhale.land/1");
    assert_eq!(outcome["how"], "fast-forward");
    assert_eq!(outcome["branch"], "main");
    let head = environment.git(&["rev-parse", "main"]);
    assert_eq!(outcome["commit"], head);
    assert_eq!(environment.git(&["show", "HEAD:f"]), "1\nwork\n3");
    assert_eq!(environment.git(&["status", "--porcelain"]), "");
    let again = land(&environment).exits(0).json().remove(0);
    assert_eq!(
        (&again["how"], &again["commit"]),
        (&"found".into(), &head.as_str().into())
    );
    assert_eq!(times_taken(&environment), 1);
    let status = status(&environment);
    assert_eq!(status["landed"]["branch"], "main");
    let listed = environment.run(&["fleet", "list"]).exits(0);
    assert!(listed.stdout.contains("on main"), "{}", listed.stdout);
    let run = status["run"].as_str().expect("an id");
    let refused = environment.run(&["fleet", "reject", run]).exits(5);
    assert!(refused.stderr.contains("git revert"), "{}", refused.stderr);
}

#[test]
fn a_merge_commit_carries_the_sum_of_the_ledger() {
    let environment = ran(EDITS);
    commit(&environment, "other", "x\n");
    let ledger = || {
        let runs = environment.path("desk/.git/codewhale/runs");
        let run = std::fs::read_dir(runs).expect("runs").next();
        let folder = run.expect("a run").expect("an entry").path();
        std::fs::read_to_string(folder.join("ledger.jsonl")).expect("a ledger")
    };
    let before = ledger();
    let outcome = land(&environment).exits(0).json().remove(0);
    assert_eq!(outcome["how"], "merge");
    let line = before.lines().last().expect("a line");
    let sum = outcome["ledger"]["sum"].as_str().expect("a sum");
    assert!(
        line.ends_with(&format!("\"sum\":\"{sum}\"}}")),
        "{sum} in {line}"
    );
    assert_eq!(outcome["ledger"]["line"], before.lines().count());
    let message = environment.git(&["show", "-s", "--format=%an|%cn|%B", "main"]);
    assert!(
        message.starts_with("A Person|A Person|Merge run small-"),
        "{message}"
    );
    assert!(message.contains("- change\n"), "{message}");
    assert!(message.ends_with(&format!(", {sum}")), "{message}");
    assert!(ledger().starts_with(&before));
    environment.run(&["ledger", "verify"]).exits(0);
}

#[test]
fn work_that_does_not_merge_and_uncommitted_work_in_its_way_leave_all_as_it_was() {
    let environment = ran(EDITS);
    commit(&environment, "f", "1\nmine\n3\n");
    is_refused(&environment, &["contents: f", "git merge codewhale/small-"]);

    let environment = ran(EDITS);
    environment.write("desk/f", "1\nuncommitted\n3\n");
    is_refused(&environment, &["uncommitted work", "f\n"]);

    let environment = ran(RENAMES);
    environment.git(&["mv", "f", "g"]);
    environment.git(&["commit", "-q", "-m", "Rename"]);
    is_refused(&environment, &["rename/rename: f"]);

    let environment = ran(EDITS);
    commit(&environment, "other", "x\n");
    let hook = environment.path("desk/.git/hooks/pre-merge-commit");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    testkit::script::write(&hook, "echo not today >&2; exit 1");
    is_put_back(&environment, &["not today", "everything is as it was"]);
    assert_eq!(times_taken(&environment), 0);
}

#[test]
fn another_branch_that_is_checked_out_is_left_alone() {
    let environment = ran(EDITS);
    environment.git(&["checkout", "-q", "-b", "feature"]);
    environment.write("desk/f", "1\nuncommitted\n3\n");
    let before = environment.git(&["status", "--porcelain=v2", "--branch"]);
    let outcome = land(&environment).exits(0).json().remove(0);
    assert_eq!(
        (&outcome["branch"], &outcome["checkout"]),
        (&"main".into(), &Value::Null)
    );
    let after = environment.git(&["status", "--porcelain=v2", "--branch"]);
    assert_eq!(after, before);
    let work = outcome["commit"].as_str().expect("a commit");
    assert_eq!(holders(&environment, work), "main");
    let file = std::fs::read_to_string(environment.path("desk/f")).expect("a file");
    assert_eq!(file, "1\nuncommitted\n3\n");
}

#[test]
fn a_branch_that_is_gone_can_be_replaced_by_another() {
    let environment = ran(EDITS);
    environment.git(&["checkout", "-q", "-b", "next"]);
    environment.git(&["branch", "-q", "-D", "main"]);
    is_refused(&environment, &["no branch `main`", "--onto"]);
    let landed = environment
        .run(&["fleet", "land", "--onto", "next"])
        .exits(0);
    assert!(landed.stdout.contains("is on next at"), "{}", landed.stdout);
    assert!(landed.stdout.contains("ledger line "), "{}", landed.stdout);
}

#[test]
fn work_of_two_tasks_that_end_at_the_same_moment_arrives_together() {
    let environment = TestEnvironment::new().with_repository();
    let second = "[[task]]\nid = \"more\"\nrole = \"builder\"\nprompt = \"Add to it.\"\n";
    environment.write("roster.toml", &format!("{ROSTER}{second}"));
    let turns = |task: &str, file: &str| {
        let call = format!(r#"{{"name":"write","arguments":{{"path":"{file}","content":"x\n"}}}}"#);
        format!(
            "{{\"task\":\"{task}\",\"turn\":1,\"text\":\"-\",\"calls\":[{call}]}}\n{{\"task\":\"{task}\",\"turn\":2,\"text\":\"Done.\"}}\n"
        )
    };
    let script = turns("change", "one") + &turns("more", "two");
    environment.write("turns.jsonl", &script);
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    land(&environment).exits(0);
    let names = environment.git(&["ls-tree", "--name-only", "main"]);
    assert_eq!(names, "README.md\none\ntwo");
    assert_eq!(environment.git(&["status", "--porcelain"]), "");
}

#[test]
fn killed_between_the_merge_and_its_record_the_work_is_found_and_recorded_once() {
    let environment = ran(EDITS);
    commit(&environment, "other", "x\n");
    let hook = environment.path("desk/.git/hooks/post-merge");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    let kills = "rm \"$0\"; kill -9 $(awk '{print $4}' /proc/$PPID/stat)";
    testkit::script::write(&hook, kills);
    assert_eq!(land(&environment).code, None, "it was killed");
    let merged = environment.git(&["rev-parse", "main"]);
    assert_eq!(times_taken(&environment), 0);
    let outcome = land(&environment).exits(0).json().remove(0);
    assert_eq!(
        (&outcome["how"], &outcome["commit"]),
        (&"found".into(), &merged.as_str().into())
    );
    assert_eq!(environment.git(&["rev-parse", "main"]), merged);
    assert_eq!(times_taken(&environment), 1);
    environment.is_left_by_all();
}

#[test]
fn work_that_was_merged_by_hand_is_recorded_with_the_commit_that_brought_it() {
    let environment = ran(EDITS);
    commit(&environment, "other", "x\n");
    let run = status(&environment)["run"].as_str().map(str::to_owned);
    let branch = format!("codewhale/{}/integration", run.expect("an id"));
    environment.git(&["merge", "-q", "--no-edit", &branch]);
    let merged = environment.git(&["rev-parse", "main"]);
    commit(&environment, "later", "x\n");
    let outcome = land(&environment).exits(0).json().remove(0);
    assert_eq!(
        (&outcome["how"], &outcome["commit"]),
        (&"found".into(), &merged.as_str().into())
    );
}

#[test]
fn a_run_at_work_is_held_and_one_without_work_has_nothing_to_take() {
    let crew = Crew::new();
    crew.hold_answer("survey/1.1");
    let mut started = crew.start();
    crew.wait_until_asked("survey/1.1", 0);
    let held = crew.environment.run(&["fleet", "land"]).exits(8);
    assert!(held.stderr.contains("held by"), "{}", held.stderr);
    assert!(started.is_running());
    started.signal(Signal::TERM);
    started.ended();
    let stopped = crew.environment.run(&["fleet", "land"]).exits(5);
    assert!(
        stopped.stderr.contains("fleet resume"),
        "{}",
        stopped.stderr
    );

    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", ROSTER);
    let turn = r#"{"task":"change","turn":1,"text":"I did it."}"#;
    environment.write("turns.jsonl", &format!("{turn}\n"));
    let ran = environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(1);
    assert!(ran.stdout.contains("nothing was changed"), "{}", ran.stdout);
    let nothing = land(&environment).exits(1);
    assert!(
        nothing.stderr.contains("Nothing has landed"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn rejected_work_is_not_offered_and_stays_on_its_branch() {
    let environment = ran(EDITS);
    let run = status(&environment)["run"].as_str().map(str::to_owned);
    let run = run.expect("an id");
    for _ in 0..2 {
        let reject = ["fleet", "reject", &run, "--reason", "too late"];
        let rejected = environment.run(&reject).exits(0);
        assert_eq!(rejected.stdout, format!("{run} is rejected\n"));
    }
    assert_eq!(status(&environment)["rejected"], true);
    let shown = environment.run(&["fleet", "status"]).exits(0);
    assert!(
        shown.stdout.contains("rejected: too late"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stderr.contains("fleet land"), "{}", shown.stderr);
    let listed = environment.run(&["fleet", "list"]).exits(0);
    assert!(listed.stdout.contains("rejected"), "{}", listed.stdout);
    is_refused(&environment, &["was rejected: too late", "git merge"]);
    let work = format!("codewhale/{run}/integration");
    assert_eq!(
        environment.git(&["show", &format!("{work}:f")]),
        "1\nwork\n3"
    );
}
