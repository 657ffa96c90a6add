//! The tools of an agent from outside: what a call does, what is shown of it, and what stays hidden.

use crate::environment::TestEnvironment;
use crate::wait::eventually;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::model_server::{ModelServer, Reply};

/// A repository with a roster of one builder whose model is asked at this server.
fn with_builder(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new()
        .with("MY_LLM_KEY", "sk-test-0001")
        .with("AWS_SECRET_ACCESS_KEY", "zzzzzz")
        .with("DB_PASSWORD", "pppppp")
        .with("SSH_AUTH_SOCK", "$T/a.sock")
        .with("FOO", "1")
        .with("HOLD", "$T/hold")
        .with_repository();
    let url = server.base_url();
    environment.write(
        "roster.toml",
        &format!(
            "name = \"crafts\"\nmodel = \"wire/m\"\n\
             [workspace]\npass_env = [\"FOO\", \"HOLD\"]\n\
             [provider.wire]\nkind = \"openai\"\nbase_url = \"{url}\"\nkey_env = \"MY_LLM_KEY\"\n\
             [[task]]\nid = \"craft\"\nrole = \"builder\"\nprompt = \"Make it.\"\n"
        ),
    );
    environment
}

/// Calls of tools, one answer with all of them.
fn calls(all: &[(&str, Value)]) -> Reply {
    let written: Vec<String> = all.iter().map(|(_, value)| value.to_string()).collect();
    Reply::calls(
        all.iter()
            .map(|(name, _)| *name)
            .zip(written.iter().map(String::as_str)),
    )
}

#[test]
fn what_a_patch_and_a_list_did_is_seen_in_the_logs_and_in_the_branch() {
    let patch = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-A sample.\n+A good sample.\n\
                 --- /dev/null\n+++ b/src/new.rs\n@@ -0,0 +1 @@\n+fn new() {}\n";
    let items = json!({"items": [
        {"text": "Write it", "state": "doing"},
        {"text": "Try it", "state": "open"},
    ]});
    let server = ModelServer::playing([
        calls(&[("todo", items), ("patch", json!({ "patch": patch }))]),
        Reply::text("Made."),
    ]);
    let environment = with_builder(&server);
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    let results = server.requests();
    let results = results.last().expect("a request").last_results();
    assert_eq!(
        results,
        [
            "[>] Write it\n[ ] Try it\n",
            "changed README.md: +1 -1\nmade src/new.rs: +1 -0\n"
        ]
    );
    let logs = environment.run(&["fleet", "logs"]).exits(0).stdout;
    for line in [
        "todo 0 of 2 done; now: Write it",
        "patch README.md, new src/new.rs",
    ] {
        assert!(logs.contains(line), "{line}: {logs}");
    }
    let branches = environment.git(&[
        "branch",
        "--list",
        "codewhale/*/integration",
        "--format=%(refname:short)",
    ]);
    let shown = environment.git(&["show", &format!("{branches}:src/new.rs")]);
    assert_eq!(shown, "fn new() {}");
}

#[test]
fn a_stopped_call_and_one_that_never_began_are_told_apart_after_a_resume() {
    let server = ModelServer::answering(|request| match request.turn() {
        1 => calls(&[
            (
                "shell",
                json!({"command": "echo started > mark; exec sleep 301"}),
            ),
            ("read", json!({"path": "README.md"})),
        ]),
        _ => Reply::text("Done."),
    });
    let environment = with_builder(&server);
    let run = environment.start(&["fleet", "run", "../roster.toml"]);
    let sleeps = || {
        let all = environment.processes();
        all.iter()
            .any(|p| p.line.starts_with("sleep 301"))
            .then_some(())
    };
    eventually("the command runs", sleeps);
    run.signal(Signal::INT);
    run.ended().exits(130);
    environment.is_left_by_all();
    environment.run(&["fleet", "resume"]).exits(0);
    let requests = server.requests();
    let last = requests.last().expect("a request");
    let results = last.last_results();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(
        results[0].starts_with("Stopped after it had started: it may have had effects."),
        "{results:?}"
    );
    assert!(results[1].starts_with("Not run: "), "{results:?}");
    let roles: Vec<_> = last
        .messages()
        .iter()
        .map(|m| m["role"].as_str().expect("a role"))
        .collect();
    assert!(roles.ends_with(&["assistant", "tool", "tool"]), "{roles:?}");
}

/// Every file below a folder, without following links.
fn files(below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(below).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path()),
            Ok(kind) if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn secrets_reach_no_command_no_file_and_no_request() {
    let server = ModelServer::playing([
        calls(&[("shell", json!({"command": "env | sort"}))]),
        calls(&[
            (
                "shell",
                json!({"command": "cat note.txt; : > made.txt; { printf sk-test; echo -0001; } >&2"}),
            ),
            ("read", json!({"path": "note.txt"})),
            ("grep", json!({"pattern": "key"})),
            // Work that leaves no file changed would be asked for again.
            ("write", json!({"path": "made", "content": "x\n"})),
        ]),
        Reply::text("Seen."),
    ]);
    let environment = with_builder(&server);
    environment.write("desk/note.txt", "key is sk-test-0001\n");
    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-q", "-m", "Note"]);
    let run = [
        "--log",
        "../trace.log",
        "-v",
        "fleet",
        "run",
        "../roster.toml",
        "--json",
    ];
    let ran = environment.run(&run).exits(0);
    assert!(!ran.stdout.contains("sk-test-0001") && !ran.stderr.contains("sk-test-0001"));

    let requests: Vec<_> = server
        .requests()
        .into_iter()
        .filter(|r| r.method == "POST")
        .collect();
    let shown = requests[1].last_results()[0].to_owned();
    let names: Vec<&str> = shown
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    for name in ["PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "FOO"] {
        assert!(names.contains(&name), "{name}: {shown}");
    }
    for hidden in [
        "MY_LLM_KEY",
        "AWS_SECRET",
        "DB_PASSWORD",
        "zzzzzz",
        "pppppp",
    ] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    let masked = "key is [masked MY_LLM_KEY]";
    for result in &requests[2].last_results()[..3] {
        assert!(result.contains(masked), "{result}");
    }
    for request in &requests {
        assert_eq!(request.header("authorization"), Some("Bearer sk-test-0001"));
        assert!(!String::from_utf8_lossy(&request.body).contains("sk-test-0001"));
    }
    let holders: Vec<PathBuf> = files(Path::new(environment.root()))
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name != "note.txt"))
        .filter(|path| {
            let bytes = fs::read(path).unwrap_or_default();
            bytes.windows(12).any(|part| part == b"sk-test-0001")
        })
        .collect();
    assert_eq!(holders, Vec::<PathBuf>::new());
    assert!(environment.path("trace.log").exists());
}

/// A terminal: our end of it, and the name of the other.
fn terminal() -> (OwnedFd, PathBuf) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("a terminal of ours");
    unlockpt(&ours).expect("a terminal that can be opened");
    let name = ptsname(&ours, Vec::new()).expect("a name");
    (
        ours,
        PathBuf::from(name.into_string().expect("a name of text")),
    )
}

/// All that was written to a terminal so far.
fn written_to(ours: &OwnedFd) -> String {
    rustix::io::ioctl_fionbio(ours, true).expect("a terminal can be read without waiting");
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(bytes @ 1..) = rustix::io::read(ours, &mut piece) {
        all.extend_from_slice(&piece[..bytes]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Runs `exec` with a controlling terminal that nothing is told to write to. What it printed, and what
/// the terminal showed.
fn exec_with_terminal(environment: &TestEnvironment) -> (String, String) {
    let (ours, name) = terminal();
    let theirs = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .expect("a terminal");
    let (stdout, stderr) = (environment.path("stdout"), environment.path("stderr"));
    let exec = environment.command(&["exec", "--auto", "Try it."]);
    // Makes its standard input the terminal of the session that it begins.
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait"])
        .arg(exec.get_program())
        .args(exec.get_args())
        .current_dir(exec.get_current_dir().expect("a folder"))
        .env_clear()
        .envs(
            exec.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(theirs)
        .stdout(File::create(&stdout).expect("a file"))
        .stderr(File::create(&stderr).expect("a file"));
    let status = command.status().expect("setsid starts");
    let told = fs::read_to_string(&stderr).expect("text");
    assert!(status.success(), "{told}");
    let printed = fs::read_to_string(&stdout).expect("text");
    (printed, written_to(&ours))
}

#[test]
fn commands_that_ask_find_nobody_and_show_nothing() {
    let lines = [
        "cat",
        "read x; echo \"got:$x\"",
        "cat </dev/tty",
        "git commit --allow-empty",
        "git -c credential.helper= ls-remote http://127.0.0.1:9/x.git",
        "git -c credential.helper= credential fill <<< $'protocol=http\\nhost=127.0.0.1\\n'",
        "ssh-keygen -y -f key </dev/tty",
    ];
    let shell = lines.map(|line| ("shell", json!({"command": line, "timeout_secs": 60})));
    let server = ModelServer::playing([calls(&shell), Reply::text("Tried.")]);
    let config = format!(
        "model = \"here/m\"\n[provider.here]\nkind = \"openai\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    let environment = TestEnvironment::new().with_repository();
    environment.write("home/.config/codewhale/config.toml", &config);
    for (name, value) in [
        ("user.name", "n"),
        ("user.email", "e@e"),
        ("core.editor", "cat </dev/tty"),
    ] {
        environment.git(&["config", name, value]);
    }
    let (printed, shown) = exec_with_terminal(&environment);
    assert_eq!((printed.as_str(), shown.as_str()), ("Tried.\n", ""));
    let requests = server.requests();
    let results = requests.last().expect("a request").last_results();
    let check = |index: usize, expected: &str| {
        let result: &str = results[index];
        assert!(result.contains(expected), "{}: {result}", lines[index]);
        assert!(
            !result.contains("its time limit"),
            "{}: {result}",
            lines[index]
        );
    };
    check(0, "(no output)");
    check(1, "got:\n");
    check(2, "[exit code 1]");
    check(2, "/dev/tty");
    check(3, "[exit code 1]");
    check(4, "[exit code 128]");
    check(5, "terminal prompts disabled");
    check(5, "[exit code 128]");
    check(6, "/dev/tty");
}
