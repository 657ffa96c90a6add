//! `codewhale ledger`: the file itself, verified and shown from outside, past damage too.

use crate::crew::Crew;
use rustix::process::Signal;

/// A run that was stopped in the middle.
fn stopped() -> Crew {
    let crew = Crew::new();
    crew.hold_answer("alpha/1.2");
    let manager = crew.start();
    crew.wait_until_asked("alpha/1.2", 0);
    manager.signal(Signal::INT);
    manager.ended();
    crew.give_answer();
    crew
}

#[test]
fn a_sound_ledger_is_verified_by_run_by_folder_and_by_file() {
    let crew = stopped();
    let folder = crew.run_folder().expect("a run").display().to_string();
    let file = crew.ledger().display().to_string();
    let id = crew.run_id();
    for which in [
        vec![],
        vec![id.as_str()],
        vec![folder.as_str()],
        vec![file.as_str()],
    ] {
        let ran = crew
            .environment
            .run(&[&["ledger", "verify"], which.as_slice()].concat())
            .exits(0);
        assert!(
            ran.stdout.contains("no damage"),
            "{which:?}: {}",
            ran.stdout
        );
    }
    let found = crew
        .environment
        .run(&["ledger", "verify", "--json"])
        .exits(0);
    assert_eq!(found.json()[0]["sound"], true);
}

#[test]
fn records_are_shown_by_task_and_type_for_people_and_for_programs() {
    let crew = stopped();
    let all = crew.environment.run(&["ledger", "show", "--json"]).exits(0);
    let records = all.json();
    assert_eq!(records[0]["type"], "run.opened");
    let some = crew
        .environment
        .run(&[
            "ledger", "show", "--json", "--task", "alpha", "--type", "tool",
        ])
        .exits(0);
    let expected: Vec<_> = records
        .iter()
        .filter(|r| {
            r["task"] == "alpha" && r["type"].as_str().is_some_and(|t| t.starts_with("tool."))
        })
        .cloned()
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(some.json(), expected);
    let text = crew.environment.run(&["ledger", "show"]).exits(0);
    for record in &records {
        let kind = record["type"].as_str().expect("a type");
        assert!(text.stdout.contains(kind), "{kind} in {}", text.stdout);
    }
}

#[test]
fn damage_is_named_by_its_place_and_what_follows_is_shown() {
    let crew = stopped();
    let mut bytes = std::fs::read(crew.ledger()).expect("a ledger");
    let third = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(1)
        .expect("more than two lines")
        .0
        + 1;
    bytes[third + 60] ^= 1;
    std::fs::write(crew.ledger(), &bytes).expect("a ledger");
    let found = crew.environment.run(&["ledger", "verify"]).exits(7);
    assert!(found.stdout.contains("line 3"), "{}", found.stdout);
    assert!(
        found.stdout.contains(&format!("byte {third}")),
        "{}",
        found.stdout
    );
    let shown = crew.environment.run(&["ledger", "show"]).exits(7);
    assert!(shown.stdout.contains("run.ended"), "{}", shown.stdout);
    assert_eq!(std::fs::read(crew.ledger()).expect("a ledger"), bytes);
}

#[test]
fn what_is_no_ledger_is_said_so() {
    let crew = Crew::new();
    let nowhere = crew.environment.path("nowhere").display().to_string();
    let ran = crew
        .environment
        .run(&["ledger", "verify", &nowhere])
        .exits(2);
    assert!(ran.stderr.contains("there is no ledger"), "{}", ran.stderr);
}
