//! Two builders whose work does not merge: it goes back to one of them, and what lands holds both. Or
//! nothing of it lands.

use crate::environment::TestEnvironment;
use crate::reading::Run;
use rustix::process::Signal;
use serde_json::Value;
use testkit::model_server::{ModelServer, Reply, RequestView};

/// Two builders that start at once, on the same commit.
const ROSTER: &str = r#"model = "here/m"
[provider.here]
kind = "openai"
base_url = "@URL@"
[[task]]
id = "one"
role = "builder"
prompt = "Write ONE on the second line."
check = ["grep -q 1 f"]
[[task]]
id = "two"
role = "builder"
prompt = "Write TWO on the second line."
check = ["grep -q 1 f"]
"#;

fn environment(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("desk/f", "1\n2\n3\n");
    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-q", "-m", "Add f"]);
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    environment
}

/// A look, so that there is a turn before the one that writes.
fn read() -> Reply {
    Reply::calls([("read", r#"{"path":"f"}"#)])
}

/// Writes `f` by a command: unlike the tool, it need not have been read under the same manager.
fn write(content: &str) -> Reply {
    let command = format!("printf '{}' > f", content.replace('\n', "\\n"));
    let call = serde_json::json!({"command": command}).to_string();
    Reply::calls([("shell", call.as_str())])
}

/// Each builder writes its word; one that is told of a conflict writes `solved`.
fn server(solved: &'static str) -> ModelServer {
    ModelServer::answering(move |request: &RequestView| {
        let word = if request.mentions("Write ONE") {
            "ONE"
        } else {
            "TWO"
        };
        match request.turn() {
            1 => read(),
            2 if request.mentions("Conflicts:") => write(solved),
            2 => write(&format!("1\n{word}\n3\n")),
            _ => Reply::text("Done."),
        }
    })
}

fn run(environment: &TestEnvironment, exit: i32) -> Vec<Value> {
    let ran = environment.run(&["fleet", "run", "../roster.toml", "--json"]);
    ran.exits(exit).json()
}

fn of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|r| r["type"] == kind).collect()
}

#[test]
fn a_builder_solves_the_conflict_with_what_landed_before_its_work() {
    let server = server("1\nONE and TWO\n3\n");
    let environment = environment(&server);
    let records = run(&environment, 0);
    let landed = of_type(&records, "work.landed");
    assert_eq!(landed.len(), 2, "{landed:#?}");
    let conflicted = of_type(&records, "landing.conflicted");
    assert_eq!(conflicted.len(), 1, "{conflicted:#?}");
    assert_eq!(conflicted[0]["onto"], landed[0]["commit"]);
    assert_eq!(conflicted[0]["paths"], serde_json::json!(["f"]));

    let run = landed[0]["run"].as_str().expect("an id");
    let show =
        |what: &str| environment.git(&["show", &format!("codewhale/{run}/integration{what}")]);
    assert_eq!(show(":f"), "1\nONE and TWO\n3");
    let again = conflicted[0]["task"].as_str().expect("a task");
    let second = records.iter().rfind(|r| r["type"] == "attempt.started");
    let second = second.expect("an attempt");
    assert_eq!(
        (&second["task"], &second["attempt"]),
        (&again.into(), &2.into())
    );
    assert_eq!(second["base"], landed[0]["commit"]);

    let told = server
        .requests()
        .into_iter()
        .find(|request| request.mentions("Conflicts:"))
        .expect("the second attempt was told");
    for part in [
        "contents: `f`",
        "<<<<<<<",
        ">>>>>>>",
        "What landed before it:",
        "The work:",
    ] {
        assert!(told.mentions(part), "{part}");
    }
    let shown = environment.run(&["fleet", "inspect", again]).exits(0);
    assert!(
        shown.stdout.contains("Attempt 1, conflict"),
        "{}",
        shown.stdout
    );
    assert_eq!(environment.git(&["status", "--porcelain"]), "");
}

#[test]
fn work_in_which_marks_are_left_does_not_land_and_is_kept() {
    let server = ModelServer::answering(|request: &RequestView| {
        let word = if request.mentions("Write ONE") {
            "ONE"
        } else {
            "TWO"
        };
        match request.turn() {
            1 => read(),
            2 if request.mentions("Conflicts:") => {
                Reply::calls([("write", r#"{"path":"other","content":"x\n"}"#)])
            }
            2 => write(&format!("1\n{word}\n3\n")),
            _ => Reply::text("Done."),
        }
    });
    let environment = environment(&server);
    let records = run(&environment, 3);
    let landed = of_type(&records, "work.landed");
    assert_eq!(landed.len(), 1, "{landed:#?}");
    let ends = of_type(&records, "task.ended");
    let failed = ends.iter().find(|end| end["state"] == "failed");
    let failed = failed.expect("one failed");
    assert_eq!(failed["reason"], "marks of the conflict are left in f");
    let (run, task) = (failed["run"].as_str(), failed["task"].as_str());
    let (run, task) = (run.expect("an id"), task.expect("an id"));
    let kept = environment.git(&["show", &format!("codewhale/{run}/t/{task}/2:f")]);
    assert!(kept.contains("<<<<<<<"), "{kept}");
    let landed = environment.git(&["show", &format!("codewhale/{run}/integration:f")]);
    assert!(!landed.contains("<<<<<<<"), "{landed}");
}

/// From the moment that the conflict is known until the solved work has landed.
#[test]
fn killed_while_a_conflict_is_solved_it_goes_on_and_lands_each_work_once() {
    type Fits = fn(&Value) -> bool;
    let moments: [Fits; 4] = [
        |record| record["type"] == "landing.conflicted",
        |record| record["type"] == "workspace.ready" && record["attempt"] == 2,
        |record| record["type"] == "work.committed" && record["attempt"] == 2,
        |record| record["type"] == "landing.prepared" && record["attempt"] == 2,
    ];
    for (at, moment) in moments.into_iter().enumerate() {
        let server = server("1\nONE and TWO\n3\n");
        let environment = environment(&server);
        let mut run = Run::start(&environment, &["fleet", "run", "../roster.toml"]);
        run.until(moment);
        run.signal(Signal::KILL);
        run.end();
        environment.is_left_by_all();
        // It may have been faster than the signal.
        let status = environment.run(&["fleet", "status", "--json"]).exits(0);
        if status.json()[0]["state"] != "done" {
            environment.run(&["fleet", "resume"]).exits(0);
        }
        let logged = environment.run(&["fleet", "logs", "--json"]).exits(0);
        let records = logged.json();
        let landed = of_type(&records, "work.landed");
        assert_eq!(landed.len(), 2, "moment {at}: {landed:#?}");
        let id = landed[0]["run"].as_str().expect("an id");
        let text = environment.git(&["show", &format!("codewhale/{id}/integration:f")]);
        assert_eq!(text, "1\nONE and TWO\n3", "moment {at}");
    }
}
