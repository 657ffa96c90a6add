//! Runs at their edges: cut off before they began, without a provider in the middle, before a reader
//! that does not read.

use crate::crew::{Crew, ends_as};
use crate::environment::TestEnvironment;
use crate::wait::eventually;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{PipeReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::model_server::{ModelServer, Reply};

#[test]
fn a_run_that_was_cut_off_before_it_began_stands_in_nobodys_way() {
    let crew = Crew::new();
    let environment = &crew.environment;
    let runs = "desk/.git/codewhale/runs";
    environment.write(&format!("{runs}/empty-261130-aaaa/ledger.jsonl"), "");
    environment.write(&format!("{runs}/empty-261130-aaaa/lock"), "");
    environment.write(
        &format!("{runs}/torn-261130-aaaa/ledger.jsonl"),
        "{\"v\":1,\"se",
    );
    std::fs::create_dir(environment.path(&format!("{runs}/bare-261130-aaaa"))).expect("a folder");
    for id in ["empty", "torn", "bare"] {
        let status = environment.run(&["fleet", "status", id]);
        assert_ne!(status.code, Some(0), "{id}");
        assert!(status.stderr.contains(id), "{}", status.stderr);
        let resumed = environment.run(&["fleet", "resume", id]);
        assert_ne!(resumed.code, Some(0), "{id}");
        assert!(!resumed.stderr.contains("panicked"), "{}", resumed.stderr);
    }
    environment.run(&["fleet", "list"]).exits(0);
    environment.run(&["fleet", "resume"]).exits(2);
    ends_as(crew.start().ended(), "done", 0);
    let newest = environment.run(&["fleet", "status", "--json"]).exits(0);
    assert_eq!(newest.json()[0]["state"], "done");
    environment.run(&["fleet", "resume"]).exits(2);
}

const ONE: &str = r#"name = "one"
model = "wire/m"
[provider.wire]
kind = "openai"
base_url = "$URL"
[[task]]
id = "make"
role = "builder"
prompt = "Make it."
check = ["test -s made.txt"]
"#;

#[test]
fn a_provider_that_turns_the_key_down_in_the_middle_leaves_a_run_to_go_on_with() {
    let valid = Arc::new(AtomicBool::new(true));
    let known = Arc::clone(&valid);
    let server = ModelServer::answering(move |request| {
        match (request.turn(), known.load(Ordering::SeqCst)) {
            (1, _) => Reply::calls([("write", r#"{"path":"made.txt","content":"made\n"}"#)]),
            (_, false) => Reply::refusal(401, "the key has expired"),
            (_, true) => Reply::text("Made."),
        }
    });
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", &ONE.replace("$URL", &server.base_url()));
    valid.store(false, Ordering::SeqCst);
    let ran = environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(6);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("the key has expired"), "{said}");
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    assert_eq!(status.json()[0]["state"], "provider");
    valid.store(true, Ordering::SeqCst);
    ends_as(environment.run(&["fleet", "resume", "--json"]), "done", 0);
    let turns: Vec<usize> = server.requests().iter().map(|r| r.turn()).collect();
    assert_eq!(turns, [1, 2, 2], "only what was refused is asked again");
}

#[test]
fn a_provider_that_is_gone_is_waited_for_by_the_run_not_by_the_person() {
    let crew = Crew::new();
    crew.hold_answer("alpha/1.2");
    let manager = crew.start();
    crew.wait_until_asked("alpha/1.2", 0);
    manager.signal(Signal::INT);
    manager.ended();
    let Crew {
        environment,
        server,
        ..
    } = crew;
    let runs = environment.path("desk/.git/codewhale/runs");
    let run = std::fs::read_dir(&runs)
        .expect("runs")
        .flatten()
        .next()
        .expect("a run");
    let ledger = run.path().join("ledger.jsonl");
    let before = std::fs::read(&ledger).expect("a ledger");
    let address = server.base_url();
    drop(server);
    let refused = environment.run(&["fleet", "resume"]).exits(6);
    assert!(
        refused.stderr.contains(&address[7..20]),
        "{}",
        refused.stderr
    );
    let after = std::fs::read(&ledger).expect("a ledger");
    assert!(
        after.starts_with(&before),
        "what was recorded is not what it was"
    );
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    let status = &status.json()[0];
    assert_eq!(status["state"], "provider");
    let tasks = status["tasks"].as_array().expect("tasks");
    let mut attempts = tasks.iter().map(|task| task["attempt"].as_u64());
    assert!(
        attempts.all(|no| no.is_some_and(|no| no <= 1)),
        "an outage is no attempt"
    );
}

#[test]
fn a_repository_moved_between_stop_and_resume_goes_on_where_it_is_now() {
    let crew = Crew::new();
    crew.hold_answer("alpha/1.2");
    let manager = crew.start();
    crew.wait_until_asked("alpha/1.2", 0);
    manager.signal(Signal::INT);
    manager.ended();
    crew.give_answer();
    let environment = &crew.environment;
    let moved = environment.path("moved");
    std::fs::rename(environment.path("desk"), &moved).expect("a new name");
    let resumed = environment
        .command(&["fleet", "resume"])
        .current_dir(&moved)
        .output()
        .expect("it runs");
    let resumed = environment.ran(&resumed).exits(0);
    let said = format!("{}{}", resumed.stdout, resumed.stderr);
    assert!(
        !said.contains("desk"),
        "it sends one where nothing is: {said}"
    );
    let took = environment
        .command(&["fleet", "land"])
        .current_dir(&moved)
        .output()
        .expect("it runs");
    environment.ran(&took).exits(0);
}

/// A run that waits for an answer, and whose records go into a pipe that is full and that nobody reads.
fn unread(crew: &Crew) -> (Child, PipeReader) {
    crew.hold_answer("alpha/2.1");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    fcntl_setpipe_size(&writer, 4096).expect("a small pipe");
    let mut command = crew
        .environment
        .command(&["fleet", "run", "../roster.toml", "--json"]);
    let manager = command
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    crew.wait_until_asked("alpha/2.1", 0);
    (manager, reader)
}

#[test]
fn a_reader_that_does_not_read_does_not_keep_a_run_from_being_stopped() {
    let crew = Crew::new();
    let (mut manager, mut reader) = unread(&crew);
    let pid = Pid::from_child(&manager);
    kill_process(pid, Signal::INT).expect("it is ours");
    eventually("the stop is recorded", || {
        let ended = crew.story().of_type("run.ended").len();
        (ended == 1).then_some(())
    });
    let mut printed = String::new();
    reader.read_to_string(&mut printed).expect("text");
    assert_eq!(manager.wait().expect("it ends").code(), Some(130));
    let last = printed.lines().last().expect("a line");
    assert!(last.contains("\"run.ended\""), "{last}");
    crew.environment.is_left_by_all();
}

#[test]
fn a_reader_that_does_not_read_does_not_keep_a_run_from_being_killed() {
    let crew = Crew::new();
    let (mut manager, _reader) = unread(&crew);
    let pid = Pid::from_child(&manager);
    kill_process(pid, Signal::INT).expect("it is ours");
    eventually("the stop is recorded", || {
        let ended = crew.story().of_type("run.ended").len();
        (ended == 1).then_some(())
    });
    kill_process(pid, Signal::INT).expect("it is ours");
    assert_eq!(manager.wait().expect("it ends").code(), None);
    crew.give_answer();
    ends_as(crew.resume().ended(), "done", 0);
}
