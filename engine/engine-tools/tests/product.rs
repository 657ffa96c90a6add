//! What holds for the whole program around a command: its memory, its terminal, its death.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_tools::process::{Ending, ProcessId};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{is_alive, until};

/// What the program said of its command.
#[derive(Debug)]
struct Told {
    end: String,
    left_out: u64,
    kept: u64,
    growth_kilobytes: u64,
    output: String,
}

impl Told {
    fn parse(text: &str) -> Self {
        let mut lines = text.splitn(5, '\n');
        let mut next = || {
            lines
                .next()
                .unwrap_or_else(|| panic!("cut short: {text}"))
                .to_owned()
        };
        Self {
            end: next(),
            left_out: next().parse().unwrap(),
            kept: next().parse().unwrap(),
            growth_kilobytes: next().parse().unwrap(),
            output: next(),
        }
    }
}

fn program(folder: &Path, time_ms: u64, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engine-tools-helper"));
    command.arg(folder).arg(time_ms.to_string()).arg(line);
    // A program that is killed leaves its scratch folder behind: let it lie in the test's own.
    command.env("TMPDIR", folder);
    command
}

fn run(time_ms: u64, line: &str) -> Told {
    let folder = tempfile::tempdir().unwrap();
    let output = program(folder.path(), time_ms, line).output().unwrap();
    Told::parse(&String::from_utf8(output.stdout).unwrap())
}

/// The cap, a note, and nothing more.
const KEPT_MAX: u64 = 64 * 1024 + 100;

#[test]
fn output_without_end_is_bounded_in_memory_and_counted_exactly() {
    let check = |time_ms: u64, line: &str, end: &str, bytes: Option<u64>| {
        let told = run(time_ms, line);
        assert_eq!(told.end, end, "{line}");
        assert!(
            told.growth_kilobytes < 32 * 1024,
            "{line}: {} kB",
            told.growth_kilobytes
        );
        assert!(told.kept <= KEPT_MAX, "{line}: {}", told.kept);
        let note = format!("\n[… {} bytes left out …]\n", told.left_out);
        assert!(told.output.contains(&note), "{line}");
        if let Some(bytes) = bytes {
            assert_eq!(
                told.kept - note.len() as u64 + told.left_out,
                bytes,
                "{line}"
            );
        }
        told
    };
    check(1_000, "yes", "TimedOut", None);
    let exit = "Exited(Code(0))";
    let line = "head -c 50000000 /dev/zero | tr '\\0' x";
    check(60_000, line, exit, Some(50_000_000));
    let told = check(60_000, "seq 1 2000000", exit, Some(14_888_896));
    assert!(told.output.starts_with("1\n2\n3\n"));
    assert!(told.output.trim_end().ends_with("1999999\n2000000"));
}

/// A pseudo terminal and the name of its other side.
fn terminal() -> (OwnedFd, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    (master, name.into_string().unwrap())
}

/// Everything that was written to a terminal so far.
fn written_to(master: &OwnedFd) -> String {
    rustix::io::ioctl_fionbio(master, true).unwrap();
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(bytes @ 1..) = rustix::io::read(master, &mut piece) {
        all.extend_from_slice(&piece[..bytes]);
    }
    String::from_utf8(all).unwrap()
}

/// Answers every request on a loopback port with 401; returns the port.
fn server_that_wants_a_password() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while head.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                          Content-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn commands_that_ask_get_no_answer_and_show_no_question() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q"]);
    for setting in ["user.name=n", "user.email=e@e", "core.editor=cat </dev/tty"] {
        let (name, value) = setting.split_once('=').unwrap();
        git(&["config", name, value]);
    }
    let check = |line: &str, end: &str, output: &str| {
        let (master, name) = terminal();
        let report = tempfile::NamedTempFile::new().unwrap();
        let status = program(folder.path(), 10_000, line)
            .arg(name)
            .arg(report.path())
            .stdin(Stdio::null())
            .status();
        assert_eq!(written_to(&master), "", "{line}");
        assert!(status.unwrap().success(), "{line}");
        let told = Told::parse(&fs::read_to_string(report.path()).unwrap());
        assert_eq!(
            told.end,
            format!("Exited(Code({end}))"),
            "{line}: {}",
            told.output
        );
        assert!(told.output.contains(output), "{line}: {}", told.output);
        told
    };
    assert_eq!(check("cat", "0", "").output, "");
    assert_eq!(check("read x; echo \"got:$x\"", "0", "").output, "got:\n");
    check("cat </dev/tty", "1", "No such device or address");
    check("git commit --allow-empty", "1", "empty commit message");
    let port = server_that_wants_a_password();
    let line = format!("git -c credential.helper= ls-remote http://127.0.0.1:{port}/x.git");
    check(&line, "128", "terminal prompts disabled");
}

#[tokio::test]
async fn commands_die_with_the_program_that_started_them() {
    let folder = tempfile::tempdir().unwrap();
    let line = "sleep 60 & echo $! >> pids; setsid sleep 60 & echo $! >> pids; \
                echo $$ >> pids; mv pids all; wait";
    let mut program = program(folder.path(), 60_000, line)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mark = folder.path().join("all");
    until("the command has started", || mark.exists()).await;
    let pids: Vec<i32> = fs::read_to_string(&mark)
        .unwrap()
        .lines()
        .map(|pid| pid.parse().unwrap())
        .collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    program.kill().unwrap();
    program.wait().unwrap();
    until("all of them are gone", || {
        !pids.iter().any(|pid| is_alive(*pid))
    })
    .await;
}

#[tokio::test]
async fn what_a_lost_helper_leaves_is_ended_by_its_recorded_identity() {
    let folder = tempfile::tempdir().unwrap();
    let line = "sleep 60 & echo $! > new; mv new mark; trap '' TERM; wait";
    let mut program = program(folder.path(), 60_000, line)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mark = folder.path().join("mark");
    until("the command has started", || mark.exists()).await;
    let pid: i32 = fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    let helper = ProcessId::of(session.parse().unwrap()).unwrap();
    let as_pid = |pid| rustix::process::Pid::from_raw(pid).unwrap();
    // A helper that is stopped notices nothing.
    rustix::process::kill_process(as_pid(helper.pid), rustix::process::Signal::STOP).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(is_alive(pid));
    assert_eq!(helper.end(Duration::from_secs(2)), Ending::Gone);
    assert!(!is_alive(pid));
    assert_eq!(helper.end(Duration::ZERO), Ending::Gone);
}

#[test]
fn without_an_order_the_helper_does_nothing() {
    let mut helper = Command::new(env!("CARGO_BIN_EXE_engine-tools-helper"))
        .arg(engine_tools::helper::FIRST_ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(helper.stdin.take());
    let mut told = String::new();
    helper
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(told, "");
    assert!(helper.wait().unwrap().success());
}
