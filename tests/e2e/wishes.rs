//! What a person asks of a run that has begun, with a manager at work on it and without.

use crate::environment::TestEnvironment;
use crate::reading::Run;
use rustix::process::Signal;
use serde_json::Value;
use testkit::model_server::{ModelServer, Reply, sse};

/// One after the other: a task that talks without end, one that needs it, one that needs nothing.
const ROSTER: &str = r#"name = "wishes"
[limits]
agents = 1
[provider.here]
kind = "openai"
base_url = "@URL@"
[role.scout]
model = "here/m"
[[task]]
id = "endless"
role = "scout"
prompt = "TALK"
[[task]]
id = "after"
role = "scout"
prompt = "AFTER"
needs = ["endless"]
[[task]]
id = "apart"
role = "scout"
prompt = "APART"
"#;

fn server() -> ModelServer {
    let half = sse(r#"{"choices":[{"index":0,"delta":{"content":"half"}}]}"#);
    ModelServer::answering(move |request| {
        if request.mentions("TALK") {
            return Reply::bytes().send(&half).stall();
        }
        Reply::text("Said.")
    })
}

fn environment(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new()
        .with_repository()
        .with("TMPDIR", "$T");
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    environment
}

/// Starts the run and waits until the endless task is under way.
fn start(environment: &TestEnvironment, server: &ModelServer) -> Run {
    let mut run = Run::start(environment, &["fleet", "run", "../roster.toml"]);
    run.until(|r| r["type"] == "model.requested" && r["task"] == "endless");
    server.wait_until(|seen| seen.in_flight == 1);
    run
}

/// How each task of the newest run stands.
fn states(environment: &TestEnvironment) -> Vec<(String, String)> {
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    let status = status.json().remove(0);
    let tasks = status["tasks"].as_array().expect("tasks");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    tasks
        .iter()
        .map(|task| (text(&task["task"]), text(&task["state"])))
        .collect()
}

fn check_states(environment: &TestEnvironment, expected: [(&str, &str); 3]) {
    let expected = expected.map(|(task, state)| (task.to_owned(), state.to_owned()));
    assert_eq!(states(environment), expected);
}

fn at(record: &Value) -> i64 {
    let text = record["at"].as_str().expect("an instant");
    chrono::DateTime::parse_from_rfc3339(text)
        .expect("RFC 3339")
        .timestamp_millis()
}

const CANCELLED: [(&str, &str); 3] = [
    ("endless", "cancelled"),
    ("after", "skipped"),
    ("apart", "settled"),
];

#[test]
fn a_cancelled_task_makes_room_for_the_next_at_once() {
    let server = server();
    let environment = environment(&server);
    let mut run = start(&environment, &server);
    let told = environment
        .run(&["fleet", "stop", "--task", "endless"])
        .exits(0);
    assert!(told.stdout.contains("endless cancelled"), "{}", told.stdout);
    let ended = run.until(|r| r["type"] == "task.ended" && r["task"] == "endless");
    assert_eq!(ended["state"], "cancelled");
    let next = run.until(|r| r["type"] == "attempt.started");
    assert_eq!(next["task"], "apart");
    assert!(at(&next) - at(&ended) < 1_000, "{ended} {next}");
    let (exit, records) = run.end();
    assert_eq!(exit, Some(3), "{records:#?}");
    server.wait_until(|seen| seen.in_flight == 0);
    check_states(&environment, CANCELLED);
    let skipped = records
        .iter()
        .find(|r| r["type"] == "task.ended" && r["task"] == "after");
    assert_eq!(skipped.expect("an end")["blocked_by"], "endless");
}

#[test]
fn a_task_is_cancelled_without_a_manager_too() {
    for signal in [Signal::INT, Signal::KILL] {
        let server = server();
        let environment = environment(&server);
        let run = start(&environment, &server);
        run.signal(signal);
        run.end();
        environment
            .run(&["fleet", "stop", "--task", "endless"])
            .exits(0);
        check_states(
            &environment,
            [
                ("endless", "cancelled"),
                ("after", "skipped"),
                ("apart", "queued"),
            ],
        );
        environment.run(&["fleet", "resume"]).exits(3);
        check_states(&environment, CANCELLED);
    }
}

#[test]
fn a_run_that_is_given_up_is_not_in_the_way_any_more() {
    for signal in [None, Some(Signal::INT), Some(Signal::KILL)] {
        let server = server();
        let environment = environment(&server);
        let run = start(&environment, &server);
        if let Some(signal) = signal {
            run.signal(signal);
            run.end();
            environment.run(&["fleet", "stop", "--for-good"]).exits(0);
        } else {
            environment.run(&["fleet", "stop", "--for-good"]).exits(0);
            assert_eq!(run.end().0, Some(1));
        }
        let status = environment.run(&["fleet", "status", "--json"]).exits(0);
        assert_eq!(status.json()[0]["state"], "failed");
        let none = environment.run(&["fleet", "resume"]).exits(2);
        assert!(none.stderr.contains("unfinished"), "{}", none.stderr);
    }
}

#[test]
fn what_cannot_be_cancelled_is_refused_with_the_reason() {
    let server = server();
    let environment = environment(&server);
    let run = start(&environment, &server);
    let refused = |arguments: &[&str], reason: &str| {
        let ran = environment.run(&[&["fleet", "stop"], arguments].concat());
        let ran = ran.exits(2);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    };
    refused(&["--task", "nobody"], "no task is called `nobody`");
    refused(&["--task", "No Task"], "No Task");
    refused(&["--task", "apart", "--for-good"], "--for-good");
    environment
        .run(&["fleet", "stop", "--task", "endless"])
        .exits(0);
    let (_, records) = run.end();
    let id = records[0]["run"].as_str().expect("an id");
    refused(&["--task", "endless"], "No run");
    refused(&[id, "--task", "endless"], "has ended as cancelled");
    refused(&[id, "--task", "apart"], "has ended as settled");
    refused(&[id, "--for-good"], "every task of the run is over");
}
