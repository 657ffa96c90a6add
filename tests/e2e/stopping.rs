//! Stopping a run from outside, and going on with it: nothing is lost, nothing is left running.

use crate::environment::TestEnvironment;
use crate::reading::Run;
use crate::wait::eventually;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use testkit::model_server::{Gate, ModelServer, Reply, Script, sse};

/// Two tasks side by side: one that will be in a command, one in the middle of an answer.
const ROSTER: &str = r#"name = "long"
[provider.here]
kind = "openai"
base_url = "@URL@"
[workspace]
pass_env = ["NAP"]
[role.builder]
model = "here/m"
[role.scout]
model = "here/m"
[[task]]
id = "sleeper"
role = "builder"
prompt = "SLEEP"
[[task]]
id = "talker"
role = "scout"
prompt = "TALK"
"#;

/// A server under which both tasks of [`ROSTER`] are under way until they are stopped. Asked again, the
/// talker answers at once, and without `NAP` the sleeper's command, run again, ends at once.
fn busy_server() -> ModelServer {
    let sleep = r#"{"command":"echo $$ > pid; exec sleep ${NAP:-0}"}"#;
    let half = sse(r#"{"choices":[{"index":0,"delta":{"content":"half"}}]}"#);
    let first = std::sync::atomic::AtomicBool::new(true);
    ModelServer::answering(move |request| {
        if request.mentions("SLEEP") {
            return match request.turn() {
                1 => Reply::calls([("shell", sleep)]),
                _ => Reply::text("Slept."),
            };
        }
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Reply::bytes().send(&half).stall();
        }
        Reply::text("Talked.")
    })
}

fn environment(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    environment
}

/// Starts the run and waits until both tasks are under way. The folder of the sleeper besides.
fn start_busy(environment: &TestEnvironment, server: &ModelServer) -> (Run, String) {
    let napping = environment.clone().with("NAP", "90");
    let mut run = Run::start(&napping, &["fleet", "run", "../roster.toml"]);
    let ready = run.until(|r| r["type"] == "workspace.ready" && r["task"] == "sleeper");
    run.until(|r| r["type"] == "tool.started");
    server.wait_until(|seen| seen.in_flight == 1);
    let folder = ready["path"].as_str().expect("a path").to_owned();
    (run, folder)
}

/// The process of the sleeper's command, once it sleeps.
fn sleeper_in(folder: &str) -> String {
    let file = Path::new(folder).join("pid");
    eventually("the command sleeps", || {
        let text = std::fs::read_to_string(&file).ok()?;
        let pid = text.trim().to_owned();
        is_sleeping(&pid).then_some(pid)
    })
}

fn is_sleeping(pid: &str) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim() == "sleep")
}

fn ends_of(records: &[Value]) -> Vec<(&str, &str)> {
    let ended = records.iter().filter(|r| r["type"] == "attempt.finished");
    ended
        .filter_map(|r| Some((r["task"].as_str()?, r["end"]["how"].as_str()?)))
        .collect()
}

/// Where each record stands, and its type.
fn places(records: &[Value]) -> Vec<String> {
    let place = |r: &Value| format!("{} {}", r["seq"], r["type"]);
    records.iter().map(place).collect()
}

#[test]
fn a_signal_stops_a_run_so_that_it_can_be_resumed() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
        let server = busy_server();
        let environment = environment(&server);
        let (run, folder) = start_busy(&environment, &server);
        let sleep = sleeper_in(&folder);
        run.signal(signal);
        let (exit, records) = run.end();

        assert_eq!(exit, Some(code), "{signal:?}");
        let last = records.last().expect("a record");
        assert_eq!(
            (&last["type"], &last["outcome"], &last["exit"]),
            (&"run.ended".into(), &"stopped".into(), &code.into())
        );
        let mut ends = ends_of(&records);
        ends.sort_unstable();
        assert_eq!(
            ends,
            [("sleeper", "interrupted"), ("talker", "interrupted")]
        );
        assert!(!is_sleeping(&sleep), "{signal:?} left a command behind");
        server.wait_until(|seen| seen.in_flight == 0);

        let status = environment.run(&["fleet", "status", "--json"]).exits(0);
        assert_eq!(status.json()[0]["state"], "stopped");
        let resumed = environment.run(&["fleet", "resume", "--json"]).exits(0);
        let records = resumed.json();
        assert_eq!(records.last().expect("a record")["outcome"], "done");
        let started = records.iter().filter(|r| r["type"] == "attempt.started");
        assert_eq!(started.count(), 0, "the interrupted attempts go on");
        environment.run(&["fleet", "resume"]).exits(2);
    }
}

#[test]
fn a_second_interrupt_waits_for_nothing() {
    let server = busy_server();
    let environment = environment(&server);
    let (mut run, folder) = start_busy(&environment, &server);
    let sleep = sleeper_in(&folder);
    run.signal(Signal::INT);
    run.until_said("once more to kill");
    run.signal(Signal::INT);
    let (exit, _) = run.end();
    assert_eq!(exit, Some(130));
    server.wait_until(|seen| seen.in_flight == 0);
    eventually("the command ends", || (!is_sleeping(&sleep)).then_some(()));
    environment.run(&["fleet", "resume"]).exits(0);
}

#[test]
fn a_run_can_be_stopped_from_another_terminal() {
    let server = busy_server();
    let environment = environment(&server);
    let (run, _) = start_busy(&environment, &server);
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    let status = &status.json()[0];
    assert_eq!(status["state"], "running");
    assert_eq!(status["manager"], run.child.id());

    environment
        .run(&["fleet", "clean", status["run"].as_str().expect("an id")])
        .exits(8);
    let refused = environment.run(&["fleet", "resume", status["run"].as_str().expect("an id")]);
    let refused = refused.exits(8);
    let pid = run.child.id().to_string();
    assert!(refused.stderr.contains(&pid), "{}", refused.stderr);

    let stopped = environment.run(&["fleet", "stop"]).exits(0);
    assert!(stopped.stdout.contains("stopped"), "{}", stopped.stdout);
    let (exit, _) = run.end();
    assert_eq!(exit, Some(143));
    let idle = environment.run(&["fleet", "stop"]).exits(2);
    assert!(idle.stderr.contains("at work"), "{}", idle.stderr);
}

#[test]
fn of_several_unfinished_runs_one_must_be_named() {
    let gate = Gate::closed();
    let write = r#"{"path":"made.txt","content":"made\n"}"#;
    let script = Script::new()
        .turn("SLEEP", 1, Reply::calls([("write", write)]).after(&gate))
        .turn("SLEEP", 2, Reply::text("ok"))
        .turn("TALK", 1, Reply::text("ok").after(&gate));
    let server = ModelServer::scripted(script);
    let environment = environment(&server);
    for name in ["first", "second"] {
        let mut run = Run::start(
            &environment,
            &["fleet", "run", "../roster.toml", "--name", name],
        );
        run.until(|r| r["type"] == "model.requested");
        run.signal(Signal::INT);
        run.end();
    }
    gate.open();
    let ran = environment.run(&["fleet", "resume"]).exits(2);
    assert!(
        ran.stderr.contains("first-") && ran.stderr.contains("second-"),
        "{}",
        ran.stderr
    );
    environment.run(&["fleet", "resume", "first"]).exits(0);
    environment.run(&["fleet", "resume"]).exits(0);
    let list = environment.run(&["fleet", "list", "--json"]).exits(0);
    let states: Vec<Value> = list.json()[0]["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| run["state"].clone())
        .collect();
    assert_eq!(states, ["done", "done"]);
}

#[test]
fn a_run_whose_provider_is_gone_stays_one_to_go_on_with() {
    let server = busy_server();
    let environment = environment(&server);
    let (run, _) = start_busy(&environment, &server);
    run.signal(Signal::INT);
    run.end();
    drop(server);
    environment.run(&["fleet", "resume"]).exits(6);
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    assert_eq!(status.json()[0]["state"], "provider");
}

#[test]
fn a_killed_run_is_shown_as_interrupted_and_goes_on() {
    let server = busy_server();
    let environment = environment(&server);
    let (mut run, folder) = start_busy(&environment, &server);
    let sleep = sleeper_in(&folder);
    run.child.kill().expect("a process of ours");
    run.end();
    let state = |task: usize| {
        let status = environment.run(&["fleet", "status", "--json"]).exits(0);
        let status = &status.json()[0];
        assert_eq!(status["state"], "stopped");
        status["tasks"][task].clone()
    };
    let (sleeper, talker) = (state(0), state(1));
    assert_eq!(sleeper["state"], "interrupted");
    assert_eq!(talker["state"], "interrupted");
    assert_eq!(sleeper, state(0), "nothing grows while nobody works");

    let resumed = environment.run(&["fleet", "resume"]).exits(0);
    assert!(resumed.stderr.contains("took over"), "{}", resumed.stderr);
    assert!(!is_sleeping(&sleep));
}

#[test]
fn a_follower_sees_every_record_and_ends_with_the_run() {
    let server = busy_server();
    let environment = environment(&server);
    let (run, _) = start_busy(&environment, &server);
    let mut follower = Run::start(&environment, &["fleet", "logs", "--follow"]);
    follower.until(|record| record["type"] == "run.opened");
    run.signal(Signal::INT);
    let (_, records) = run.end();
    let (code, followed) = follower.end();
    assert_eq!(code, Some(0));
    assert_eq!(places(&followed), places(&records));

    let resumed = environment
        .run(&["fleet", "resume", "--json"])
        .exits(0)
        .json();
    let all = environment.run(&["fleet", "logs", "-f", "--json"]).exits(0);
    assert_eq!(places(&all.json()), places(&[records, resumed].concat()));
}
