//! Runs that outlive the terminal they were started in.

use crate::environment::TestEnvironment;
use crate::wait::eventually;
use testkit::model_server::{Gate, ModelServer, Reply, Script};

const ROSTER: &str = r#"name = "back"
[provider.here]
kind = "openai"
base_url = "@URL@"
[role.scout]
model = "here/m"
[[task]]
id = "look"
role = "scout"
prompt = "LOOK"
"#;

fn environment(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new()
        .with_repository()
        .with("TMPDIR", "$T");
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    environment
}

#[test]
fn a_detached_run_tells_its_id_and_goes_on_by_itself() {
    let gate = Gate::closed();
    let script = Script::new().turn("", 1, Reply::text("Seen.").after(&gate));
    let server = ModelServer::scripted(script);
    let environment = environment(&server);
    // Returns although the run goes on: nothing of it holds the streams of this process.
    let ran = environment
        .run(&["fleet", "run", "../roster.toml", "--detach"])
        .exits(0);
    let id = ran.stdout.trim().to_owned();
    assert!(id.starts_with("back-"), "{}", ran.stdout);
    server.wait_until(|seen| seen.in_flight == 1);
    let status = || {
        environment
            .run(&["fleet", "status", "--json"])
            .exits(0)
            .json()
            .remove(0)
    };
    assert_eq!(
        (&status()["run"], &status()["state"]),
        (&id.as_str().into(), &"running".into())
    );
    // The lock names the process in the back, which leads a session of its own.
    let manager = status()["manager"].to_string();
    let stat = std::fs::read_to_string(format!("/proc/{manager}/stat")).expect("it lives");
    let session = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(3));
    assert_eq!(session, Some(manager.as_str()));
    gate.open();
    eventually("the run ends", || {
        (status()["state"] == "done").then_some(())
    });
    environment.run(&["fleet", "logs", "-f"]).exits(0);
    let log = environment.path(&format!("desk/.git/codewhale/runs/{id}/run.log"));
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(
        log.contains("look  settled") && !log.contains('\u{1b}'),
        "{log}"
    );
    environment.is_left_by_all();
}

#[test]
fn a_detached_run_is_stopped_and_gone_on_with_like_any_other() {
    let gate = Gate::closed();
    let script = Script::new().turn("", 1, Reply::text("Seen.").after(&gate));
    let server = ModelServer::scripted(script);
    let environment = environment(&server);
    environment
        .run(&["fleet", "run", "../roster.toml", "--detach"])
        .exits(0);
    server.wait_until(|seen| seen.in_flight == 1);
    environment.run(&["fleet", "stop"]).exits(0);
    environment.is_left_by_all();
    gate.open();
    environment.run(&["fleet", "resume"]).exits(0);
}

#[test]
fn what_is_wrong_before_a_detached_run_opens_is_told_in_front() {
    let server = ModelServer::scripted(Script::new());
    let environment = environment(&server);
    environment.write("roster.toml", "name = 3\n");
    let ran = environment.run(&["fleet", "run", "../roster.toml", "--detach"]);
    let ran = ran.exits(2);
    assert!(ran.stderr.contains("name"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    environment.is_left_by_all();
}
