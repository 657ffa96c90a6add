//! Ledgers that are damaged, torn, newer, or that no longer fit on the disk: what precedes is shown,
//! nothing is guessed, and no byte of what was acknowledged is passed over or changed.

use crate::crew::{Crew, ends_as};
use crate::environment::Ran;
use rustix::process::Signal;
use sha2::{Digest as _, Sha256};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A run that was stopped in the middle of `alpha`.
fn stopped(how: Signal) -> Crew {
    let crew = Crew::new();
    crew.hold_answer("alpha/1.2");
    let manager = crew.start();
    crew.wait_until_asked("alpha/1.2", 0);
    manager.signal(how);
    manager.ended();
    crew.environment.is_left_by_all();
    crew.give_answer();
    crew
}

fn bytes(crew: &Crew) -> Vec<u8> {
    std::fs::read(crew.ledger()).expect("a ledger")
}

/// Appends a line that follows from the last one, as another version might have written it.
fn forge(crew: &Crew, version: u32, records: &str) {
    let mut text = String::from_utf8(bytes(crew)).expect("a ledger is text");
    let last = text.lines().last().expect("a line");
    let parsed: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let seq = parsed["seq"].as_u64().expect("a number");
    let body = format!(
        "{{\"v\":{version},\"seq\":{},\"epoch\":{},\"dw\":{seq},\"at\":{},\"records\":[{records}]",
        seq + 1,
        parsed["epoch"],
        parsed["at"]
    );
    let before = parsed["sum"].as_str().expect("a sum");
    let digest = Sha256::digest(format!("{before}{body}"));
    let sum: String = digest[..16].iter().map(|b| format!("{b:02x}")).collect();
    text.push_str(&format!("{body},\"sum\":\"{sum}\"}}\n"));
    std::fs::write(crew.ledger(), text).expect("a ledger");
}

/// Reading and resuming both end with 7 and these words, and change no byte.
#[track_caller]
fn is_refused(crew: &Crew, words: &[&str]) -> Ran {
    let before = bytes(crew);
    let shown = crew.environment.run(&["fleet", "status"]).exits(7);
    let resumed = crew
        .environment
        .run(&["fleet", "resume", "--json"])
        .exits(7);
    for said in [&shown.stderr, &resumed.stderr] {
        for words in words {
            assert!(said.contains(words), "`{words}` in {said}");
        }
    }
    let error = resumed.json().pop().expect("a record for programs");
    assert_eq!(
        (&error["type"], &error["kind"]),
        (&"error".into(), &"ledger".into())
    );
    assert!(bytes(crew) == before, "a refused ledger was changed");
    shown
}

#[test]
fn a_flipped_byte_is_named_by_its_place_and_stops_a_resume() {
    let crew = stopped(Signal::INT);
    let good = bytes(&crew);
    let starts: Vec<usize> = std::iter::once(0)
        .chain(
            good.iter()
                .enumerate()
                .filter(|(_, b)| **b == b'\n')
                .map(|(at, _)| at + 1),
        )
        .collect();
    let lines = starts.len() - 1;
    for line in [2, lines / 2, lines] {
        let mut bad = good.clone();
        bad[starts[line - 1] + 60] ^= 1;
        std::fs::write(crew.ledger(), &bad).expect("a ledger");
        let byte = format!("byte {}", starts[line - 1]);
        let shown = is_refused(&crew, &["ledger.jsonl", &format!("line {line}"), &byte]);
        assert!(shown.stdout.contains(&crew.run_id()), "{}", shown.stdout);
    }
    std::fs::write(crew.ledger(), &good).expect("a ledger");
    ends_as(crew.resume().ended(), "done", 0);
}

/// What is whole before and after the damage is shown; nobody goes on.
#[test]
fn whatever_stands_in_place_of_a_line_is_marked_and_the_rest_is_shown() {
    let crew = stopped(Signal::INT);
    let good = bytes(&crew);
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    // A line without records only vouches for those before it: there is nothing to be shown.
    let tells =
        |number: &usize| !String::from_utf8_lossy(lines[number - 1]).contains("\"records\":[],");
    let numbers = |lost: &[usize]| -> Vec<usize> {
        let whole = (1..=lines.len()).filter(|number| !lost.contains(number));
        whole.filter(tells).collect()
    };
    let nuls = [&[0; 300][..], b"\n"].concat();
    let glued = [&lines[2][..50], lines[3]].concat();
    let empty = [b"\n", lines[2]].concat();
    let long = [&vec![b'x'; 20_000_000][..], b"\n"].concat();
    for (instead, lost, next) in [
        (nuls, &[3][..], 3),
        (glued, &[3, 4], 4),
        (empty, &[], 3),
        (long, &[3], 3),
        (Vec::new(), &[3], 3),
    ] {
        let (before, after) = (lines[..2].concat(), lines[next..].concat());
        let bad = [&before[..], &instead, &after].concat();
        std::fs::write(crew.ledger(), &bad).expect("a ledger");
        let shown = crew.environment.run(&["ledger", "show", "--json"]).exits(7);
        let records = shown.json();
        let mut seen: Vec<usize> = records
            .iter()
            .filter_map(|record| usize::try_from(record["seq"].as_u64()?).ok())
            .collect();
        seen.dedup();
        assert_eq!(seen, numbers(lost));
        let marks = records.iter().filter(|r| r["type"] == "ledger.damaged");
        assert_eq!(marks.count(), 1);
        is_refused(&crew, &["line 3", &format!("byte {}", before.len())]);
    }
}

#[test]
fn what_is_no_ledger_of_this_format_is_refused_and_never_taken_for_an_empty_one() {
    let crew = stopped(Signal::INT);
    for (text, words) in [
        ("{\"v\":99}\nsome lines\n", "format 99"),
        (
            "{\"v\":0,\"seq\":1,\"type\":\"old\"}\n",
            "does not begin like a ledger",
        ),
        (
            "{\"type\":\"old\",\"seq\":1}\n",
            "does not begin like a ledger",
        ),
        ("", "cut off before it began"),
    ] {
        std::fs::write(crew.ledger(), text).expect("a ledger");
        let _ = std::fs::remove_file(crew.ledger().with_file_name("durable"));
        for command in [&["fleet", "status"][..], &["fleet", "resume"]] {
            let run = crew.run_id();
            let ran = crew.environment.run(&[command, &[&run]].concat()).exits(7);
            assert!(ran.stderr.contains(words), "{}", ran.stderr);
        }
        assert_eq!(bytes(&crew), text.as_bytes());
    }
}

#[test]
fn a_line_cut_by_a_crash_is_kept_aside_and_the_run_goes_on() {
    let crew = stopped(Signal::KILL);
    let good = bytes(&crew);
    let torn = b"{\"v\":1,\"seq\":4711,\"epoch\":1,\"at\":\"na\xC3";
    std::fs::write(crew.ledger(), [&good[..], torn].concat()).expect("a ledger");
    crew.environment.run(&["fleet", "status"]).exits(0);
    assert!(bytes(&crew).ends_with(torn), "a reader changed the ledger");

    let ran = ends_as(crew.resume().ended(), "done", 0);
    assert!(bytes(&crew).starts_with(&good));
    let folder = crew.run_folder().expect("a run");
    let kept = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .find_map(|entry| {
            let torn = entry.file_name().display().to_string().starts_with("torn-");
            torn.then(|| std::fs::read(entry.path()).expect("a file"))
        });
    assert_eq!(kept.as_deref(), Some(&torn[..]));
    assert!(
        ran.stderr.contains("torn-"),
        "nobody was told: {}",
        ran.stderr
    );
    crew.story();
}

#[test]
fn what_a_newer_version_wrote_is_refused_by_both_versions() {
    let crew = stopped(Signal::INT);
    forge(&crew, 99, "");
    is_refused(&crew, &["99", "1"]);
}

#[test]
fn an_unknown_record_is_refused_unless_it_may_be_ignored() {
    let crew = stopped(Signal::INT);
    let good = bytes(&crew);
    forge(&crew, 1, r#"{"type":"future"}"#);
    is_refused(&crew, &["future"]);
    std::fs::write(crew.ledger(), good).expect("a ledger");

    forge(&crew, 1, r#"{"type":"future","ignorable":true,"z":1}"#);
    let before = bytes(&crew);
    crew.environment.run(&["fleet", "status"]).exits(0);
    ends_as(crew.resume().ended(), "done", 0);
    assert!(
        bytes(&crew).starts_with(&before),
        "the line was not kept as it is"
    );
    let logs = crew.environment.run(&["fleet", "logs", "--json"]).exits(0);
    assert!(logs.json().iter().any(|record| record["z"] == 1));
}

#[test]
fn a_field_that_is_not_known_is_no_reason_to_refuse() {
    let crew = stopped(Signal::INT);
    let resumed = r#"{"type":"run.resumed","version":"9.9.9","pid":1,"zz":"kept"}"#;
    forge(&crew, 1, resumed);
    let before = bytes(&crew);
    crew.environment.run(&["fleet", "status"]).exits(0);
    ends_as(crew.resume().ended(), "done", 0);
    assert!(bytes(&crew).starts_with(&before));
}

/// Files that may not grow beyond a limit stand for a disk that is full: writing fails for good.
#[test]
fn a_full_disk_ends_with_8_and_the_run_goes_on_when_there_is_room() {
    let crew = Crew::new();
    let limited = |arguments: &str| {
        let mut command = crew.environment.command(&[]);
        let binary = PathBuf::from(command.get_program());
        let mut shell = Command::new("bash");
        let script = format!(
            "trap '' XFSZ; ulimit -f 16; exec '{}' {arguments}",
            binary.display()
        );
        shell
            .args(["-c", &script])
            .current_dir(crew.environment.path("desk"))
            .stdin(Stdio::null())
            .env_clear()
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        command = shell;
        crew.environment.start_command(command).ended()
    };
    let ran = limited("fleet run ../roster.toml --json").exits(8);
    let error = ran.json().pop().expect("a record for programs");
    assert_eq!(
        (&error["type"], &error["exit"]),
        (&"error".into(), &8.into())
    );
    assert!(ran.stderr.contains("ledger.jsonl"), "{}", ran.stderr);
    assert!(ran.stderr.contains("fleet resume"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches('×').count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    crew.environment.is_left_by_all();
    // Without room it fails again, and still nothing is lost.
    limited("fleet resume --json").exits(8);
    let answered = crew.story().answered();
    let asked = crew.asked().len();
    ends_as(crew.resume().ended(), "done", 0);
    let again = crew.asked().split_off(asked);
    let twice: Vec<_> = again
        .iter()
        .filter(|name| answered.contains(name))
        .collect();
    assert!(twice.is_empty(), "paid for twice: {twice:?}");
    crew.story().done_once();
}

/// Nothing happens in the run, so nothing is written that could fail.
#[test]
fn a_reader_that_leaves_ends_the_following_of_a_quiet_run() {
    let crew = Crew::new();
    crew.hold_answer("survey/1.1");
    let manager = crew.start();
    crew.wait_until_asked("survey/1.1", 0);
    crew.wait_until_quiet();
    let mut follower = crew
        .environment
        .command(&["fleet", "logs", "-f", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut out = BufReader::new(follower.stdout.take().expect("a pipe"));
    let mut first = String::new();
    out.read_line(&mut first).expect("a line");
    assert!(first.contains("run.opened"), "{first}");
    drop(out);
    let ended = follower.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    crew.give_answer();
    ends_as(manager.ended(), "done", 0);
}

#[test]
fn a_reader_that_leaves_early_is_no_failure_of_a_long_ledger() {
    let crew = stopped(Signal::INT);
    for _ in 0..10 {
        let records = vec![r#"{"type":"future","ignorable":true,"z":1}"#; 500].join(",");
        forge(&crew, 1, &records);
    }
    let commands: [&[&str]; 5] = [
        &["fleet", "logs", "--json"],
        &["fleet", "logs"],
        &["fleet", "status", "--json"],
        &["fleet", "status"],
        &["fleet", "list"],
    ];
    for command in commands {
        let mut child = crew
            .environment
            .command(command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut first = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut first)
            .expect("a line");
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{command:?}: {ended:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
        assert!(!first.is_empty() && !first.contains('\u{1b}'));
    }
}
