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

#[test]
fn what_is_exported_is_what_is_shown_and_no_file_is_written_over() {
    let crew = stopped();
    let shown = crew.environment.run(&["ledger", "show", "--json"]).exits(0);
    let printed = crew.environment.run(&["ledger", "export"]).exits(0);
    assert_eq!(printed.stdout, shown.stdout);
    let file = crew.environment.path("desk/out.jsonl");
    let export = ["ledger", "export", "--output", "out.jsonl"];
    assert_eq!(crew.environment.run(&export).exits(0).stdout, "");
    let written = std::fs::read_to_string(&file).expect("a file");
    assert_eq!(written.replace(crew.environment.root(), "$T"), shown.stdout);
    let refused = crew.environment.run(&export).exits(2);
    assert!(
        refused.stderr.contains("is there already"),
        "{}",
        refused.stderr
    );
    let ledger = crew.ledger().display().to_string();
    let before = std::fs::read(&ledger).expect("a ledger");
    for command in ["export", "stats"] {
        crew.environment
            .run(&["ledger", command, "--output", &ledger])
            .exits(2);
    }
    assert!(std::fs::read(&ledger).expect("a ledger") == before);
}

#[test]
fn a_table_has_a_row_for_each_record_of_an_agent() {
    let crew = stopped();
    let choice = ["--agent", "alpha/1", "--type", "model"];
    let json = [&["ledger", "show", "--json"][..], &choice].concat();
    let records = crew.environment.run(&json).exits(0).json();
    assert!(records.iter().all(|record| record["attempt"] == 1));
    let csv = [&["ledger", "export", "--csv"][..], &choice].concat();
    let table = crew.environment.run(&csv).exits(0).stdout;
    let mut rows = table.lines();
    assert_eq!(
        rows.next(),
        Some("seq,epoch,at,type,task,attempt,step,call,record")
    );
    assert_eq!(rows.count(), records.len());
    crew.environment
        .run(&["ledger", "show", "--agent", "alpha"])
        .exits(2);
}

#[test]
fn numbers_and_exports_of_a_damaged_ledger_say_so() {
    let crew = stopped();
    let mut bytes = std::fs::read(crew.ledger()).expect("a ledger");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(crew.ledger(), &bytes).expect("a ledger");
    let stats = crew.environment.run(&["ledger", "stats"]).exits(7);
    assert!(stats.stdout.contains("damaged: "), "{}", stats.stdout);
    let json = crew
        .environment
        .run(&["ledger", "stats", "--json"])
        .exits(7);
    assert_eq!(json.json()[0]["sound"], false);
    for format in ["--json", "--csv"] {
        let table = crew.environment.run(&["ledger", "export", format]).exits(7);
        assert!(table.stdout.contains("ledger.damaged"), "{}", table.stdout);
    }
}
