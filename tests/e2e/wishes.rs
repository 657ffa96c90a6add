//! What a person asks of a run that has begun, with a manager at work on it and without.

use crate::environment::TestEnvironment;
use crate::reading::Run;
use rustix::process::Signal;
use serde_json::Value;
use testkit::model_server::{Gate, ModelServer, Reply, sse};

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

/// Asks whose first is answered by a refusal: the attempt fails, and later ones do not.
fn failing_server() -> ModelServer {
    let first = std::sync::atomic::AtomicBool::new(true);
    ModelServer::answering(move |request| {
        if request.mentions("TALK") && first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Reply::refusal(400, "not this time");
        }
        Reply::text("Said.")
    })
}

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

/// The newest run's requests of a task, each with what was told.
fn told(environment: &TestEnvironment, task: &str) -> Vec<Vec<String>> {
    let logged = environment.run(&["fleet", "logs", "--json"]).exits(0);
    let asked = logged.json().into_iter();
    asked
        .filter(|r| r["type"] == "model.requested" && r["task"] == task)
        .map(|r| {
            let told = r["told"].as_array().cloned().unwrap_or_default();
            let text = |told: &Value| told.as_str().map(str::to_owned);
            told.iter().filter_map(text).collect()
        })
        .collect()
}

#[test]
fn a_task_that_failed_is_retried_with_what_was_skipped_because_of_it() {
    let server = failing_server();
    let environment = environment(&server);
    let roster = ROSTER.replace("agents = 1", "agents = 1\nattempts = 1");
    environment.write("roster.toml", &roster.replace("@URL@", &server.base_url()));
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(3);
    let [_, _, apart] = CANCELLED;
    check_states(
        &environment,
        [("endless", "failed"), ("after", "skipped"), apart],
    );
    let ran = environment.run(&["fleet", "retry", "apart"]).exits(2);
    assert!(
        ran.stderr.contains("has ended as settled"),
        "{}",
        ran.stderr
    );
    let ran = environment
        .run(&["fleet", "message", "endless", "Hm."])
        .exits(2);
    assert!(ran.stderr.contains("--instructions"), "{}", ran.stderr);
    let ran = environment
        .run(&["fleet", "retry", "endless", "--instructions", "Say it."])
        .exits(0);
    assert!(ran.stderr.contains("fleet resume"), "{}", ran.stderr);
    check_states(
        &environment,
        [("endless", "queued"), ("after", "queued"), apart],
    );
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    assert_eq!(status.json()[0]["state"], "stopped");
    environment.run(&["fleet", "resume"]).exits(0);
    check_states(
        &environment,
        [("endless", "settled"), ("after", "settled"), apart],
    );
    let second = &told(&environment, "endless")[1][0];
    assert!(second.contains("Say it."), "{second}");
    assert!(second.contains("not this time"), "{second}");
}

#[test]
fn a_resume_can_try_everything_again_that_failed() {
    let server = failing_server();
    let environment = environment(&server);
    let roster = ROSTER.replace("agents = 1", "agents = 1\nattempts = 1");
    environment.write("roster.toml", &roster.replace("@URL@", &server.base_url()));
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(3);
    environment
        .run(&["fleet", "resume", "--retry-failed"])
        .exits(0);
    let again = environment
        .run(&["fleet", "resume", "--retry-failed"])
        .exits(2);
    assert!(again.stderr.contains("no task"), "{}", again.stderr);
}

#[test]
fn a_cancelled_task_is_retried_while_its_run_is_at_work() {
    let server = server();
    let environment = environment(&server);
    let roster = ROSTER.replace("agents = 1", "agents = 2");
    environment.write(
        "roster.toml",
        &roster
            .replace("@URL@", &server.base_url())
            .replace("APART", "TALK"),
    );
    let mut run = Run::start(&environment, &["fleet", "run", "../roster.toml"]);
    server.wait_until(|seen| seen.in_flight == 2);
    let stop = |task: &str| environment.run(&["fleet", "stop", "--task", task]).exits(0);
    stop("endless");
    environment.run(&["fleet", "retry", "after"]).exits(0);
    run.until(|r| r["type"] == "attempt.started" && r["task"] == "endless" && r["attempt"] == 2);
    stop("endless");
    stop("apart");
    let (exit, _) = run.end();
    assert_eq!(exit, Some(1));
}

#[test]
fn what_is_said_is_heard_once_by_an_agent_at_work_and_stands_in_the_prompt_of_what_waits() {
    let gate = Gate::closed();
    let held = gate.clone();
    let server = ModelServer::answering(move |request| {
        if request.mentions("TALK") && !request.mentions("LOUDER") {
            return Reply::text("Said.").after(&held);
        }
        Reply::text("Said.")
    });
    let environment = environment(&server);
    let mut run = Run::start(&environment, &["fleet", "run", "../roster.toml"]);
    run.until(|r| r["type"] == "model.requested" && r["task"] == "endless");
    let say = |task: &str, text: &str| environment.run(&["fleet", "message", task, text]).exits(0);
    say("endless", "LOUDER");
    say("after", "AND CLEARER");
    let blank = environment
        .run(&["fleet", "message", "after", " "])
        .exits(2);
    assert!(blank.stderr.contains("empty"), "{}", blank.stderr);
    gate.open();
    let (exit, _) = run.end();
    assert_eq!(exit, Some(0));
    let heard = told(&environment, "endless");
    assert_eq!(
        (heard.len(), &heard[1][..]),
        (2, &["LOUDER".to_owned()][..])
    );
    assert!(told(&environment, "after")[0][0].contains("AND CLEARER"));
}

#[test]
fn what_was_said_before_a_kill_is_heard_after_it() {
    let server = server();
    let environment = environment(&server);
    let run = start(&environment, &server);
    environment
        .run(&["fleet", "message", "endless", "FIRST"])
        .exits(0);
    run.signal(Signal::KILL);
    run.end();
    environment
        .run(&["fleet", "message", "endless", "SECOND"])
        .exits(0);
    let mut run = Run::start(&environment, &["fleet", "resume"]);
    let asked = run.until(|r| r["type"] == "model.requested" && r["task"] == "endless");
    assert_eq!(asked["told"], serde_json::json!(["FIRST", "SECOND"]));
    run.signal(Signal::KILL);
    run.end();
    // Heard is heard: the next request repeats the conversation, not the message.
    let mut run = Run::start(&environment, &["fleet", "resume"]);
    let asked = run.until(|r| r["type"] == "model.requested" && r["task"] == "endless");
    assert_eq!(asked["told"], Value::Null);
    run.signal(Signal::INT);
    run.end();
}
