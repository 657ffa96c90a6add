//! Whole runs: what they print, what they end with, and what can be seen of them afterwards.

use crate::environment::{Ran, TestEnvironment};
use insta::assert_snapshot;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::model_server::{ModelServer, Reply, Script};

/// A scout that reports, and a builder that adds a file which is checked.
const ROSTER: &str = r#"name = "small"
[provider.here]
kind = "openai"
base_url = "@URL@"
[role.scout]
model = "here/m"
[role.builder]
model = "here/m"
[[task]]
id = "look"
role = "scout"
prompt = "LOOK around"
[[task]]
id = "make"
role = "builder"
prompt = "MAKE the file"
needs = ["look"]
check = ["test -s made.txt"]
"#;

/// Answers under which both tasks of [`ROSTER`] succeed.
fn good() -> Script {
    let write = r#"{"path":"made.txt","content":"made\n"}"#;
    Script::new()
        .turn("MAKE", 1, Reply::calls([("write", write)]).usage(100, 10))
        .turn("MAKE", 2, Reply::text("Made it.").usage(120, 5))
        .turn("LOOK", 1, Reply::text("Nothing is here.").usage(90, 8))
}

fn environment(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    environment
}

fn run(environment: &TestEnvironment, arguments: &[&str]) -> Ran {
    environment.run(&[&["fleet", "run", "../roster.toml"], arguments].concat())
}

/// The text with the run's id, commits and times taken out.
fn stable(text: &str) -> String {
    let mut stable = String::new();
    for word in text.split_inclusive([' ', '\n', '/']) {
        let bare = word.trim_end_matches([' ', '\n', '/']);
        let is_hex = |word: &str| word.bytes().all(|b| b.is_ascii_hexdigit());
        let shown = match bare {
            id if id.starts_with("small-") => "RUN",
            commit if matches!(commit.len(), 12 | 40) && is_hex(commit) => "COMMIT",
            time if time.len() == 4 && time.starts_with("0:") => "TIME",
            range if range.contains("..codewhale") => "COMMIT..codewhale",
            other => other,
        };
        stable.push_str(shown);
        stable.push_str(&word[bare.len()..]);
    }
    stable
}

/// The `type` of each record.
fn types(records: &[Value]) -> Vec<&str> {
    records.iter().filter_map(|r| r["type"].as_str()).collect()
}

#[test]
fn a_good_run_says_where_its_work_is() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    let ran = run(&environment, &[]).exits(0);
    assert_snapshot!(stable(&ran.stdout), @"
    RUN  done  TIME  333 tokens
    ✓  look  scout    here/m  settled  step 1   98  TIME
    ✓  make  builder  here/m  landed   step 2  235  TIME  1 file (+1 -0)
    1 landed, 1 settled
    landed on codewhale/RUN/integration at COMMIT
    ");
    assert_snapshot!(stable(&ran.stderr), @"
    run RUN
    look  attempt 1 started
    look  finished: Nothing is here.
    look  settled
    make  attempt 1 started
    make  write made.txt
    make  finished: Made it.
    make  committed COMMIT (1 file, +1 -0)
    make  check passed: test -s made.txt
    make  landed as COMMIT
    make  landed
    look      codewhale fleet diff make
    commits   git log --oneline COMMIT..codewhale/RUN/integration
    take it   codewhale fleet land RUN
    ");
    assert_eq!(environment.git(&["status", "--porcelain"]), "");
    assert_eq!(
        environment.git(&["rev-parse", "--abbrev-ref", "HEAD"]),
        "main"
    );
    let branch = environment.git(&[
        "branch",
        "--list",
        "codewhale/*/integration",
        "--format=%(refname:short)",
    ]);
    assert_eq!(
        environment.git(&["show", &format!("{branch}:made.txt")]),
        "made"
    );
}

#[test]
fn a_branch_in_the_way_of_those_of_a_run_is_walked_around() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    environment.git(&["branch", "codewhale"]);
    let ran = run(&environment, &[]).exits(0);
    assert!(
        ran.stdout.contains("landed on codewhale-2/"),
        "{}",
        ran.stdout
    );
    let branches = environment.git(&["branch", "--list", "--format=%(refname:short)"]);
    let landed = branches
        .lines()
        .find(|name| name.starts_with("codewhale-2/"));
    let landed = landed.expect("a branch of the run");
    assert!(landed.ends_with("/integration"), "{branches}");
    assert_eq!(
        environment.git(&["show", &format!("{landed}:made.txt")]),
        "made"
    );
}

#[test]
fn attempts_are_inspected_in_their_order() {
    let environment = TestEnvironment::new().with_repository();
    let roster = r#"model = "played/m"
[provider.played]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "make"
prompt = "Make it."
check = ["test -f made.txt"]
"#;
    environment.write("roster.toml", roster);
    let turn = r#"{"task":"make","attempt":1,"turn":1,"text":"Made it."}"#;
    environment.write("turns.jsonl", &format!("{turn}\n"));
    run(&environment, &[]).exits(1);
    let shown = environment.run(&["fleet", "inspect", "make"]).exits(0);
    let mut titles = shown.stdout.lines().filter(|l| l.starts_with("Attempt"));
    assert_eq!(
        titles.next(),
        Some("Attempt 1, check exit 1: test -f made.txt")
    );
    assert_eq!(titles.next(), Some("Attempt 2, failure"));
}

#[test]
fn what_is_gone_after_landing_is_not_named_as_if_it_were_there() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    run(&environment, &[]).exits(0);
    let shown = environment.run(&["fleet", "inspect", "make"]).exits(0);
    let fact = |name: &str| shown.stdout.lines().find(|line| line.starts_with(name));
    assert!(fact("landed on codewhale/").is_some(), "{}", shown.stdout);
    assert_eq!(fact("branch"), None);
    assert!(fact("workspace").is_some_and(|line| line.ends_with("(taken away)")));
}

#[test]
fn verdicts_are_inspected_with_who_gave_them() {
    let environment = TestEnvironment::new().with_repository();
    let roster = r#"model = "played/m"
[provider.played]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "make"
prompt = "Make it."
review = "reviewer"
"#;
    environment.write("roster.toml", roster);
    let turns = r#"{"task":"make","turn":1,"text":"-","calls":[{"name":"write","arguments":{"path":"made.txt","content":"made"}}]}
{"task":"make","turn":2,"text":"Made it."}
{"task":"make-review-1","turn":1,"text":"-","calls":[{"name":"verdict","arguments":{"verdict":"reject","findings":"No test."}}]}
{"task":"make-review-2","turn":1,"text":"-","calls":[{"name":"verdict","arguments":{"verdict":"approve","findings":"Good."}}]}
"#;
    environment.write("turns.jsonl", turns);
    run(&environment, &[]).exits(0);
    let check = |task: &str, wanted: &[&str]| {
        let shown = environment.run(&["fleet", "inspect", task]).exits(0);
        let lines: Vec<&str> = shown.stdout.lines().collect();
        let starts = |line: &&usize| lines[**line].starts_with("Attempt");
        let at: Vec<usize> = (0..lines.len()).filter(|at| starts(&at)).collect();
        let told: Vec<&str> = at
            .iter()
            .flat_map(|at| [lines[*at], lines[at + 1]])
            .collect();
        assert_eq!(told, wanted, "{}", shown.stdout);
    };
    let rejected = ["Attempt 1, make-review-1 rejects", "No test."];
    let approved = ["Attempt 2, make-review-2 approves", "Good."];
    check("make", &[rejected, approved].concat());
    check("make-review-1", &rejected);
    check("make-review-2", &approved);
}

#[test]
fn a_run_for_programs_is_one_record_a_line_and_ends_with_its_end() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    let records = run(&environment, &["--json"]).exits(0).json();
    assert_eq!(types(&records)[0], "run.opened");
    let last = records.last().expect("a record");
    assert_eq!(last["type"], "run.ended");
    assert_eq!(
        (&last["outcome"], &last["exit"]),
        (&"done".into(), &0.into())
    );
    let run = &last["run"];
    let mut seq = 0;
    for record in &records {
        assert_eq!(&record["run"], run);
        assert!(record["at"].as_str().is_some_and(|at| at.ends_with('Z')));
        let next = record["seq"].as_u64().expect("a number");
        assert!(next >= seq, "{record}");
        seq = next;
    }
    let logged = environment.run(&["fleet", "logs", "--json"]).exits(0);
    assert_eq!(logged.json(), records, "logs say the same as the run did");
}

#[test]
fn reading_commands_tell_the_same_story() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    run(&environment, &["--json"]).exits(0);

    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    let status = &status.json()[0];
    assert_eq!(status["schema"], "codewhale.status/1");
    assert_eq!(
        (&status["state"], &status["exit"]),
        (&"done".into(), &0.into())
    );
    assert_eq!(status["manager"], Value::Null);
    let states: Vec<&Value> = status["tasks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|task| &task["state"])
        .collect();
    assert_eq!(states, ["settled", "landed"]);

    let list = environment.run(&["fleet", "list", "--json"]).exits(0);
    let list = &list.json()[0]["runs"];
    assert_eq!((&list[0]["run"], &list[1]), (&status["run"], &Value::Null));

    let inspect = environment
        .run(&["fleet", "inspect", "make", "--json"])
        .exits(0);
    let inspect = &inspect.json()[0];
    assert_eq!(inspect["result"], "Made it.");
    assert_eq!(inspect["checks"][0]["exit"], 0);
    assert_eq!(inspect["change"]["insertions"], 1);

    let diff = environment.run(&["fleet", "diff", "make"]).exits(0);
    assert_snapshot!(diff.stdout, @"
    diff --git a/made.txt b/made.txt
    new file mode 100644
    index 0000000..c5f1b8e
    --- /dev/null
    +++ b/made.txt
    @@ -0,0 +1 @@
    +made
    ");
    environment.write("change.patch", &diff.stdout);
    environment.git(&["apply", "../change.patch"]);
    assert!(environment.path("desk/made.txt").exists());

    let shown = environment.run(&["fleet", "inspect", "look"]).exits(0);
    let facts: Vec<&str> = shown
        .stdout
        .lines()
        .filter(|line| !line.starts_with("workspace"))
        .collect();
    assert_snapshot!(stable(&facts.join("\n")), @"
    ✓  look  scout  here/m  settled  step 1  98  TIME
    run       RUN
    tokens    90 in, 8 out

    Asked
    LOOK around

    Result
    Nothing is here.
    ");
    let none = environment.run(&["fleet", "diff", "look"]).exits(0);
    assert_eq!(none.stdout, "");
    assert!(
        none.stderr.contains("has changed nothing"),
        "{}",
        none.stderr
    );
    let unknown = environment.run(&["fleet", "inspect", "nope"]).exits(2);
    assert!(unknown.stderr.contains("look, make"), "{}", unknown.stderr);
}

#[test]
fn a_run_without_success_ends_with_1() {
    let server = ModelServer::answering(|_| Reply::refusal(400, "no"));
    let ran = run(&environment(&server), &["--json"]).exits(1);
    let records = ran.json();
    let last = records.last().expect("a record");
    assert_eq!(
        (&last["outcome"], &last["exit"]),
        (&"failed".into(), &1.into())
    );
}

#[test]
fn a_run_with_some_success_ends_with_3_and_says_why() {
    let script = Script::new()
        .turn("MAKE", 1, Reply::text("I did nothing."))
        .turn("LOOK", 1, Reply::text("Nothing is here."));
    let server = ModelServer::scripted(script);
    let ran = run(&environment(&server), &[]).exits(3);
    assert!(ran.stdout.contains("partial"), "{}", ran.stdout);
    assert!(ran.stderr.contains("fleet inspect make"), "{}", ran.stderr);
}

#[test]
fn a_provider_that_is_gone_ends_with_6() {
    let environment = environment(&ModelServer::scripted(good()));
    let ran = run(&environment, &[]).exits(6);
    assert!(ran.stderr.contains("`here`"), "{}", ran.stderr);
}

#[test]
fn a_refused_key_ends_with_6_and_the_run_goes_on_with_a_good_one() {
    let refused = AtomicBool::new(true);
    let script = good();
    let server = ModelServer::answering(move |request| {
        if refused.swap(false, Ordering::Relaxed) {
            Reply::refusal(401, "who are you")
        } else {
            script.reply(request)
        }
    });
    let environment = environment(&server);
    let ran = run(&environment, &["--json"]).exits(6);
    let records = ran.json();
    let last = records.last().expect("a record");
    assert_eq!(
        (&last["type"], &last["outcome"]),
        (&"run.ended".into(), &"provider".into())
    );
    assert!(ran.stderr.contains("who are you"), "{}", ran.stderr);
    environment.run(&["fleet", "resume"]).exits(0);
}

#[test]
fn a_broken_roster_ends_with_2_and_an_error_record() {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", "nmae = \"x\"\n");
    let ran = run(&environment, &["--json"]).exits(2);
    let records = ran.json();
    assert_eq!((records.len(), &records[0]["type"]), (1, &"error".into()));
    assert!(ran.stderr.contains("did you mean `name`"), "{}", ran.stderr);
}

#[test]
fn outside_a_repository_the_message_says_what_to_do() {
    let server = ModelServer::scripted(good());
    let environment = TestEnvironment::new();
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    let ran = run(&environment, &[]).exits(2);
    assert_snapshot!(ran.stderr, @"
    × $T/desk is not in a git repository; make one with `git init` and a first commit
    help: go into a repository, name one with -C, or make one with `git init`
    ");
}

#[test]
fn a_budget_of_the_command_line_is_kept() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    let ran = run(&environment, &["--budget", "tokens=1100", "--json"]).exits(4);
    let records = ran.json();
    assert_eq!(records.last().expect("a record")["outcome"], "budget");
    assert_eq!(server.requests().len(), 0);
    for wrong in ["tokens=0", "tokens=-1", "tokens=abc", "usd=5"] {
        run(&environment, &["--budget", wrong]).exits(2);
    }
}

#[test]
fn a_reader_that_went_away_does_not_stop_a_run() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = environment.command(&["fleet", "run", "../roster.toml", "--json"]);
    let output = command.stdout(writer).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    assert_eq!(status.json()[0]["state"], "done");
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    run(&environment, &["--name", "first"]).exits(0);
    run(&environment, &["--name", "second"]).exits(0);
    let state = |arguments: &[&str]| {
        let ran = environment.run(&[&["fleet", "status", "--json"], arguments].concat());
        let run = ran.exits(0).json()[0]["run"].to_string();
        run[1..].split('-').next().map(str::to_owned)
    };
    assert_eq!(state(&[]).as_deref(), Some("second"), "the newest");
    assert_eq!(state(&["fir"]).as_deref(), Some("first"));
    let ran = environment.run(&["fleet", "status", "third"]).exits(2);
    assert!(ran.stderr.contains("fleet list"), "{}", ran.stderr);
}

#[test]
fn without_a_run_the_reading_commands_say_how_to_start_one() {
    let environment = TestEnvironment::new().with_repository();
    for arguments in [
        &["fleet", "status"][..],
        &["fleet", "logs"],
        &["fleet", "diff", "x"],
    ] {
        let ran = environment.run(arguments).exits(2);
        assert!(ran.stderr.contains("fleet run"), "{}", ran.stderr);
    }
    let ran = environment.run(&["fleet", "list"]).exits(0);
    assert_eq!(ran.stdout, "");
    let ran = environment.run(&["fleet", "resume"]).exits(2);
    assert!(ran.stderr.contains("unfinished"), "{}", ran.stderr);
}

#[test]
fn a_demonstration_needs_no_repository_and_says_that_nobody_was_asked() {
    let environment = TestEnvironment::new();
    let roster = r#"name = "small"
model = "played/m"
[workspace]
demo = "files"
[provider.played]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "look"
role = "scout"
prompt = "Look."
"#;
    environment.write("desk/roster.toml", roster);
    environment.write("desk/files/a.txt", "a\n");
    environment.write(
        "desk/turns.jsonl",
        "{\"task\":\"look\",\"turn\":1,\"text\":\"Looked.\"}\n",
    );
    let ran = environment.run(&["fleet", "run", "roster.toml"]).exits(0);
    assert_snapshot!(stable(&ran.stderr), @"
    run RUN
    look  attempt 1 started
    look  finished: Looked.
    look  settled
    The model was a script played back: nobody was asked.
    ");
    let home = environment.path("desk/.git");
    assert!(!home.exists(), "the folder itself becomes no repository");
}

#[test]
fn cleaning_takes_finished_folders_away_and_keeps_work_that_is_nowhere_else() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    run(&environment, &[]).exits(0);
    let roster = ROSTER.replace("@URL@", &server.base_url());
    environment.write("roster.toml", &roster.replace("test -s made.txt", "false"));
    run(&environment, &["--name", "failing"]).exits(3);
    let worktrees = || {
        let list = environment.git(&["worktree", "list", "--porcelain"]);
        list.lines().filter(|l| l.starts_with("worktree")).count()
    };
    assert!(worktrees() > 1);

    let cleaned = environment.run(&["fleet", "clean", "--json"]).exits(0);
    let kept = &cleaned.json()[0]["kept"];
    let kept: Vec<&str> = kept
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|kept| kept["path"].as_str())
        .collect();
    assert!(
        !kept.is_empty() && kept.iter().all(|path| path.contains("failing-")),
        "{kept:?}"
    );
    assert_eq!(worktrees(), 1 + kept.len());
    let branch = environment.git(&["branch", "--list", "codewhale/small-*/integration"]);
    assert!(!branch.is_empty(), "what landed stays");
    let again = environment.run(&["fleet", "clean"]).exits(0);
    assert!(
        again.stdout.starts_with("0 folders removed"),
        "{}",
        again.stdout
    );
    environment.run(&["fleet", "status", "small"]).exits(0);
}

#[test]
fn a_damaged_ledger_is_shown_up_to_the_damage_and_never_written() {
    let server = ModelServer::scripted(good());
    let environment = environment(&server);
    run(&environment, &[]).exits(0);
    let runs = environment.path("desk/.git/codewhale/runs");
    let run = runs.read_dir().expect("runs").flatten().next();
    let ledger = run.expect("a run").path().join("ledger.jsonl");
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    std::fs::write(&ledger, text.replacen("task.ended", "task.ENDED", 1)).expect("written");
    let before = std::fs::read(&ledger).expect("a ledger");

    let status = environment.run(&["fleet", "status"]).exits(7);
    assert!(status.stdout.contains("look"), "{}", status.stdout);
    assert!(status.stderr.contains("damaged at"), "{}", status.stderr);
    let logs = environment.run(&["fleet", "logs", "--json"]).exits(7);
    assert_eq!(types(&logs.json())[0], "run.opened");
    let list = environment.run(&["fleet", "list"]).exits(0);
    assert!(list.stdout.contains("damaged"), "{}", list.stdout);
    environment.run(&["fleet", "resume"]).exits(7);
    assert_eq!(std::fs::read(&ledger).expect("a ledger"), before);
}
