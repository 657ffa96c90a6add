//! Standard output and standard error as a contract: data here, talk there, and never a panic over a
//! reader that went away.

use crate::environment::TestEnvironment;
use std::fs::OpenOptions;
use std::process::Stdio;

/// Commands that print data, with what they end with when all is well.
const READING: [&[&str]; 5] = [
    &["--help"],
    &["config", "path"],
    &["config", "path", "--json"],
    &["doctor"],
    &["doctor", "--json"],
];

#[test]
fn a_reader_that_went_away_is_no_failure() {
    for arguments in READING {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let environment = TestEnvironment::new();
        let mut command = environment.command(arguments);
        let output = command.stdout(writer).output().expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        assert_eq!(stderr, "", "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    for arguments in READING {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let environment = TestEnvironment::new();
        let mut command = environment.command(arguments);
        let output = command
            .stdout(full.expect("the device"))
            .output()
            .expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(8), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(stderr.contains("Standard output"), "{stderr}");
    }
}

#[test]
fn nobody_to_talk_to_is_no_failure() {
    let environment = TestEnvironment::new();
    let mut command = environment.command(&["-C", "not-there", "doctor"]);
    let status = command.stderr(Stdio::null()).status();
    assert_eq!(status.expect("the binary starts").code(), Some(2));
}

#[test]
fn what_is_piped_holds_no_escape_sequences() {
    for arguments in READING
        .into_iter()
        .chain([&["doktor"][..], &["-C", "x", "doctor"]])
    {
        let ran = TestEnvironment::new().run(arguments);
        assert!(!ran.stdout.contains('\u{1b}'), "{arguments:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn colours_can_be_had_in_a_pipe() {
    for arguments in READING
        .into_iter()
        .filter(|a| a[0] == "doctor" && a.len() == 1)
    {
        let arguments = [arguments, &["--color", "always"]].concat();
        let ran = TestEnvironment::new().run(&arguments).exits(0);
        assert!(ran.stdout.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn an_error_is_an_object_for_programs() {
    let environment = TestEnvironment::new();
    let ran = environment
        .run(&["-C", "not-there", "doctor", "--json"])
        .exits(2);
    let lines = ran.json();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["type"], "error");
    assert_eq!(lines[0]["kind"], "usage");
    assert_eq!(lines[0]["exit"], 2);
    assert!(ran.stderr.contains("not-there"));
}

#[test]
fn a_trace_goes_to_its_file_and_nowhere_else() {
    let environment = TestEnvironment::new();
    let ran = environment
        .run(&["--log", "trace.log", "config", "path"])
        .exits(0);
    assert_eq!(ran.stderr, "");
    assert!(environment.path("desk/trace.log").exists());
    let ran = environment
        .run(&["--log", "no/such/folder", "config", "path"])
        .exits(2);
    assert!(ran.stderr.contains("no/such/folder"), "{}", ran.stderr);
}
