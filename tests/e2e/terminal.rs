//! The binary in a terminal: a real one, with its other end in the hands of the test.

use crate::environment::TestEnvironment;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use testkit::model_server::{ModelServer, Reply};

/// Runs a command with its standard streams in a terminal. Returns all that it showed.
fn shown_in_terminal(command: &mut Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("a terminal of ours");
    unlockpt(&master).expect("a terminal that can be opened");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let open = || {
        let name = name.to_str().expect("a name of text");
        OpenOptions::new().read(true).write(true).open(name)
    };
    let mut child = command
        .stdin(open().expect("a stream"))
        .stdout(open().expect("a stream"))
        .stderr(open().expect("a stream"))
        .spawn()
        .expect("the binary starts");
    // The command keeps copies of the streams: as long as it lives, reading does not end.
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null());
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    let mut master = File::from(master);
    // Reading fails once nobody has the other end open any more.
    while let Ok(count) = master.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    child.wait().expect("the binary ends");
    String::from_utf8(shown).expect("output is text")
}

fn shown(environment: &TestEnvironment, arguments: &[&str]) -> String {
    shown_in_terminal(&mut environment.command(arguments))
}

#[test]
fn a_terminal_gets_colours() {
    let environment = TestEnvironment::new();
    for arguments in [&["doctor"][..], &["--help"], &["-C", "not-there", "doctor"]] {
        let text = shown(&environment, arguments);
        assert!(text.contains('\u{1b}'), "{arguments:?}: {text}");
    }
}

#[test]
fn no_color_is_obeyed_in_a_terminal() {
    let environment = TestEnvironment::new().with("NO_COLOR", "1");
    for arguments in [
        &["doctor"][..],
        &["--help"],
        &["doktor"],
        &["-C", "x", "doctor"],
    ] {
        let text = shown(&environment, arguments);
        assert!(!text.is_empty());
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text}");
    }
}

#[test]
fn color_never_is_obeyed_in_a_terminal() {
    let environment = TestEnvironment::new();
    for arguments in [
        &["doctor", "--color=never"][..],
        &["--color", "never", "--help"],
    ] {
        let text = shown(&environment, arguments);
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text}");
    }
}

#[test]
fn control_characters_of_arguments_never_reach_the_terminal() {
    let environment = TestEnvironment::new().with("NO_COLOR", "1");
    let text = shown(&environment, &["-C", "\u{1b}[2Jx", "doctor"]);
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains("␛[2Jx"), "{text:?}");
}

/// A repository beside a roster of two tasks that answer at once.
fn with_fleet(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    let task =
        |id: &str| format!("[[task]]\nid = \"{id}\"\nrole = \"scout\"\nprompt = \"Look.\"\n");
    let roster = format!(
        "model = \"here/m\"\n[provider.here]\nkind = \"openai\"\nbase_url = \"{}\"\n{}{}",
        server.base_url(),
        task("one"),
        task("two"),
    );
    environment.write("roster.toml", &roster);
    environment
}

/// The escape sequences of a text, each from its `[` to its letter.
fn sequences(text: &str) -> Vec<&str> {
    let starts = text.match_indices('\u{1b}').map(|(at, _)| &text[at + 1..]);
    starts
        .map(|rest| {
            let end = rest.find(|c: char| c.is_ascii_alphabetic());
            &rest[..=end.expect("a sequence ends")]
        })
        .collect()
}

#[test]
fn a_run_is_drawn_in_place_and_leaves_nothing_to_restore() {
    let server = ModelServer::answering(|_| Reply::text("Seen \u{1b}[2J that."));
    let environment = with_fleet(&server);
    let text = shown(&environment, &["fleet", "run", "../roster.toml"]);
    assert!(text.contains("running"), "{text}");
    let harmless = |sequence: &&str| {
        let body = sequence.strip_prefix('[').unwrap_or(sequence);
        matches!(body, "J" | "?2026h" | "?2026l") || body.ends_with('m') || body.ends_with('A')
    };
    let strange: Vec<&str> = sequences(&text)
        .into_iter()
        .filter(|s| !harmless(s))
        .collect();
    assert_eq!(strange, [""; 0], "{text}");
    let (_, after) = text.rsplit_once("\u{1b}[J").expect("the view goes");
    assert!(after.contains("done"), "{after}");
    assert!(after.contains("2 settled"), "{after}");
}

#[test]
fn a_run_with_no_color_is_told_in_plain_lines() {
    let server = ModelServer::answering(|_| Reply::text("Seen."));
    let environment = with_fleet(&server).with("NO_COLOR", "1");
    for arguments in [
        &["fleet", "run", "../roster.toml"][..],
        &["fleet", "status"],
    ] {
        let text = shown(&environment, arguments);
        assert!(text.contains("2 settled"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn views_fit_into_narrow_terminals() {
    let server = ModelServer::answering(|_| Reply::text("Seen. 检查 ✅"));
    let environment = with_fleet(&server).with("NO_COLOR", "1");
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    for columns in [1, 2, 10, 20, 40, 80] {
        for command in ["status", "list"] {
            let order = format!("stty cols {columns} rows 5; exec \"$0\" fleet {command}");
            let binary = env!("CARGO_BIN_EXE_codewhale");
            let mut shell = environment.program(Path::new("sh"), &["-c", &order, binary]);
            let text = shown_in_terminal(&mut shell);
            assert!(!text.contains("panicked") && !text.is_empty(), "{text}");
            for line in text.lines() {
                let wide = unicode_width::UnicodeWidthStr::width(line.trim_end());
                assert!(wide <= columns, "{command} in {columns}: {line:?}");
            }
        }
    }
}
