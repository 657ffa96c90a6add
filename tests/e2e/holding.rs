//! Who may write a run: one living manager, whatever a file says about dead ones.

use crate::crew::{Crew, ends_as};
use crate::environment::TestEnvironment;
use crate::started::Started;
use crate::wait::eventually;
use rustix::process::Signal;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest time that a second process may take to be refused.
const REFUSAL: Duration = Duration::from_secs(2);

/// Starts or resumes the run, until the server is asked for this answer.
fn held_at<'a>(crew: &'a Crew, manager: impl FnOnce() -> Started<'a>, answer: &str) -> Started<'a> {
    crew.hold_answer(answer);
    let before = crew.asked().len();
    let manager = manager();
    crew.wait_until_asked(answer, before);
    manager
}

/// Everything in the run's folder that a second process must leave alone.
fn bytes(crew: &Crew) -> Vec<Vec<u8>> {
    let folder = crew.run_folder().expect("there is a run");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file of a run");
    ["ledger.jsonl", "lock"].map(read).to_vec()
}

#[test]
fn a_second_manager_is_refused_at_once_and_changes_nothing() {
    let crew = Crew::new();
    let manager = held_at(&crew, || crew.start(), "survey/1.1");
    crew.wait_until_quiet();
    let before = bytes(&crew);
    let run = crew.run_id();
    let pid = crew.status()["manager"].to_string();
    // A manager that stands still holds its run as one that works.
    for signal in [Signal::CONT, Signal::STOP] {
        manager.signal(signal);
        let began = Instant::now();
        // Unnamed, it is not denied: it is unfinished, and there is nothing to go on with.
        let unnamed = crew.environment.run(&["fleet", "resume"]).exits(2);
        assert!(
            unnamed.stderr.contains("is at work already") && unnamed.stderr.contains(&run),
            "{}",
            unnamed.stderr
        );
        let refused = crew.environment.run(&["fleet", "resume", &run]).exits(8);
        assert!(began.elapsed() < REFUSAL, "{:?}", began.elapsed());
        assert!(refused.stderr.contains(&pid), "{}", refused.stderr);
        assert!(bytes(&crew) == before, "a refused process wrote");
    }
    manager.signal(Signal::CONT);
    crew.give_answer();
    ends_as(manager.ended(), "done", 0);
}

/// A process that has nothing to do with the run, ended when dropped.
struct Bystander(std::process::Child);

impl Bystander {
    fn new() -> Self {
        let sleep = Command::new("sleep").arg("600").spawn();
        Self(sleep.expect("a process"))
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("it is ours").is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_lock_of_a_dead_process_is_taken_over_and_said_so() {
    let crew = Crew::new();
    let mut bystander = Bystander::new();
    let lock = || crew.run_folder().expect("there is a run").join("lock");
    let mut manager = held_at(&crew, || crew.start(), "survey/1.1");
    let own = std::fs::read_to_string(lock()).expect("a lock");
    let by = |pid: u32| {
        let mut holder: serde_json::Value = serde_json::from_str(&own).expect("JSON");
        holder["pid"] = pid.into();
        holder["start"] = 1.into();
        holder.to_string()
    };
    for (left, next) in [
        (by(4_194_305), "survey/1.2"),
        (by(bystander.0.id()), "alpha/1.1"),
        (String::new(), "alpha/1.2"),
        ("12 monkeys\n".to_owned(), "alpha/2.1"),
    ] {
        manager.signal(Signal::KILL);
        assert_eq!(manager.ended().code, None);
        std::fs::write(lock(), &left).expect("a lock");
        assert_eq!(crew.status()["state"], "stopped", "{left:?}");
        manager = held_at(&crew, || crew.resume(), next);
    }
    crew.give_answer();
    let ran = ends_as(manager.ended(), "done", 0);
    assert!(ran.stderr.contains("took over"), "{}", ran.stderr);
    assert!(
        bystander.lives(),
        "a process was signalled that has no part"
    );
}

#[test]
fn nothing_counts_as_running_once_its_manager_is_dead() {
    let crew = Crew::new();
    let manager = held_at(&crew, || crew.start(), "beta/1.2");
    assert_eq!(crew.status()["state"], "running");
    manager.signal(Signal::KILL);
    manager.ended();
    let (first, second) = (crew.status(), crew.status());
    assert_eq!(first, second, "a clock grows though nobody works");
    let shown = |environment: &TestEnvironment| environment.run(&["fleet", "status"]).stdout;
    assert_eq!(shown(&crew.environment), shown(&crew.environment));
    let of_beta = |status: &serde_json::Value| {
        let tasks = status["tasks"].as_array().expect("tasks");
        let beta = tasks.iter().find(|task| task["task"] == "beta");
        beta.expect("it is there")["state"].clone()
    };
    assert_eq!(
        (&first["state"], of_beta(&first)),
        (&"stopped".into(), "interrupted".into())
    );
    let asked = crew.asked().len();
    crew.give_answer();
    ends_as(crew.resume().ended(), "done", 0);
    let again = &crew.asked()[asked..];
    assert!(
        again.iter().all(|name| !name.starts_with("survey/")),
        "{again:?}"
    );
    // A finished run is not run again.
    let ended = crew
        .environment
        .run(&["fleet", "resume", &crew.run_id()])
        .exits(2);
    assert!(ended.stderr.contains("finished"), "{}", ended.stderr);
}

/// Only the fleet moves the integration branch, and it never moves what somebody stands on.
#[test]
fn a_branch_that_is_checked_out_waits_for_its_reader() {
    let crew = Crew::new();
    let manager = held_at(&crew, || crew.start(), "alpha-review-2/1.2");
    eventually("beta lands", || {
        let ends = crew.story().ends();
        ends.contains_key("beta").then_some(())
    });
    let branch = format!("codewhale/{}/integration", crew.run_id());
    crew.environment.git(&["checkout", "-q", &branch]);
    let head = crew.environment.git(&["rev-parse", "HEAD"]);
    crew.give_answer();
    let stopped = manager.ended();
    assert_eq!(crew.environment.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(crew.environment.git(&["status", "--porcelain"]), "");
    let stopped = ends_as(stopped, "stopped", 8);
    assert!(
        stopped.stdout.contains("is checked out"),
        "{}",
        stopped.stdout
    );
    crew.environment.git(&["checkout", "-q", "main"]);
    let asked = crew.asked().len();
    ends_as(crew.resume().ended(), "done", 0);
    assert_eq!(crew.asked().len(), asked, "landing asks nobody");
}

#[test]
fn a_stop_in_the_middle_of_a_check_leaves_the_check_to_the_resume() {
    for signal in [Signal::INT, Signal::TERM] {
        let crew = Crew::new();
        crew.hold("check");
        let manager = crew.start();
        crew.wait_for_process("sleep 0.02");
        manager.signal(signal);
        let exit = if signal == Signal::INT { 130 } else { 143 };
        ends_as(manager.ended(), "stopped", exit);
        crew.environment.is_left_by_all();
        crew.let_go("check");
        ends_as(crew.resume().ended(), "done", 0);
        crew.story().done_once();
    }
}
