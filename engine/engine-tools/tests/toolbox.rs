//! The toolbox as an agent uses it: commands, cancelling, closing, secrets, git.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_core::message::ToolStatus;
use engine_core::tool::{Access, EffectClass};
use engine_tools::mask::Mask;
use engine_tools::process::ProcessId;
use engine_tools::shell::{CommandEnv, Network, ProcessWatcher, WatcherAnswer};
use engine_tools::{CallEnd, Toolbox, ToolboxError, ToolboxSpec};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use support::{call, env, is_alive, runner, toolbox, until, use_tool};
use tokio_util::sync::CancellationToken;

fn spec(root: &Path, access: Access) -> ToolboxSpec {
    ToolboxSpec {
        env: env(),
        ..ToolboxSpec::new(root.to_owned(), access, runner())
    }
}

#[tokio::test]
async fn a_command_tells_its_output_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let check = async |line: &str, expected: Result<&str, &str>| {
        let told = use_tool(&tools, "shell", json!({"command": line})).await;
        assert_eq!(told.as_deref().map_err(String::as_str), expected, "{line}");
    };
    check("echo hello", Ok("hello\n")).await;
    check("true", Ok("(no output)")).await;
    check("echo '  '", Ok("(no output)")).await;
    check("printf x; exit 3", Err("x\n[exit code 3]\n")).await;
    check("kill -9 $$", Err("[ended by signal 9]\n")).await;
    let timed = json!({"command": "echo up; sleep 60", "timeout_secs": 1});
    let told = use_tool(&tools, "shell", timed).await;
    let expected = "up\n[stopped: its time limit of 1 s was over; it may have had effects]\n";
    assert_eq!(told.unwrap_err(), expected);
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_the_task() {
    let folder = tempfile::tempdir().unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let line =
        json!({"command": "tail -f /dev/null & echo $!; setsid tail -f /dev/null & echo $!"});
    let told = use_tool(&tools, "shell", line).await.unwrap();
    let pids: Vec<i32> = told
        .lines()
        .take(2)
        .map(|pid| pid.parse().unwrap())
        .collect();
    let note = told.lines().nth(2).unwrap();
    assert!(
        note.starts_with("[left running until the task ends: "),
        "{note}"
    );
    assert!(
        pids.iter().all(|pid| note.contains(&format!("{pid} ("))),
        "{note}"
    );
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    tools.close().await;
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    let told = use_tool(&tools, "shell", json!({"command": "true"})).await;
    assert_eq!(
        told.unwrap_err(),
        "cancelled before it started: it was not run"
    );
}

/// Starts a command that waits, and stops it in some way when it has begun.
async fn stop_running<S, F>(stop: S) -> String
where
    S: FnOnce(Arc<Toolbox>, CancellationToken) -> F,
    F: Future<Output = ()>,
{
    let folder = tempfile::tempdir().unwrap();
    let tools = Arc::new(toolbox(folder.path(), Access::Write));
    let line = json!({"command": "echo half; echo $$ > new; mv new mark; sleep 30"});
    let prepared = tools.prepare(&call("shell", &line)).unwrap();
    let cancel = CancellationToken::new();
    let mark = folder.path().join("mark");
    let (output, ()) = tokio::join!(tools.run(prepared, cancel.clone()), async {
        until("the command has started", || mark.exists()).await;
        stop(Arc::clone(&tools), cancel.clone()).await;
    });
    assert_eq!(output.end, CallEnd::Stopped);
    assert_eq!(output.status, ToolStatus::Error);
    let pid = fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
    assert!(!is_alive(pid));
    output.text
}

#[tokio::test]
async fn a_stopped_command_keeps_what_it_had_put_out() {
    let cancelled = stop_running(async |_, cancel| cancel.cancel()).await;
    assert_eq!(cancelled, "half\n");
    let closed = stop_running(async |tools, _| tools.close().await).await;
    assert_eq!(closed, "half\n");
}

#[tokio::test]
async fn a_call_that_waits_its_turn_when_it_is_cancelled_was_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let first = tools
        .prepare(&call("shell", &json!({"command": "touch mark; sleep 30"})))
        .unwrap();
    let second = tools
        .prepare(&call("write", &json!({"path": "f", "content": "x"})))
        .unwrap();
    let cancel = CancellationToken::new();
    let mark = folder.path().join("mark");
    let (first, second, ()) = tokio::join!(
        tools.run(first, cancel.clone()),
        async {
            until("the first has started", || mark.exists()).await;
            tools.run(second, cancel.clone()).await
        },
        async {
            until("the first has started", || mark.exists()).await;
            tokio::task::yield_now().await;
            cancel.cancel();
        }
    );
    assert_eq!(first.end, CallEnd::Stopped);
    assert_eq!(second.end, CallEnd::NotRun);
    assert!(second.text.contains("was not run"), "{}", second.text);
    assert!(!folder.path().join("f").exists());
}

/// A toolbox in the environment of a program that knows a few secrets.
fn toolbox_with_secrets(root: &Path) -> Toolbox {
    let variables = [
        ("MY_LLM_KEY", "sk-test-0001"),
        ("AWS_SECRET_ACCESS_KEY", "zz"),
        ("DB_PASSWORD", "pp"),
        ("PATH", &std::env::var("PATH").unwrap()),
        ("HOME", "/home/me"),
        ("LANG", "C.UTF-8"),
        ("SSH_AUTH_SOCK", "/run/a.sock"),
        ("FOO", "1"),
    ]
    .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let pass = ["FOO".to_owned(), "MY_LLM_KEY".to_owned()];
    let withheld = ["MY_LLM_KEY".to_owned()];
    Toolbox::new(ToolboxSpec {
        env: CommandEnv::inherit(variables, &pass, &withheld),
        mask: Mask::new([("MY_LLM_KEY".to_owned(), "sk-test-0001".to_owned())]),
        ..spec(root, Access::Write)
    })
    .unwrap()
}

#[tokio::test]
async fn secrets_are_not_in_the_environment_of_commands() {
    let folder = tempfile::tempdir().unwrap();
    let tools = toolbox_with_secrets(folder.path());
    let line = json!({"command": "env | sort"});
    let told = use_tool(&tools, "shell", line).await.unwrap();
    let shown = [
        "PATH=",
        "HOME=",
        "LANG=C.UTF-8",
        "SSH_AUTH_SOCK=/run/a.sock",
        "FOO=1",
        "TMPDIR=",
    ];
    for start in shown {
        assert!(
            told.lines().any(|line| line.starts_with(start)),
            "{start}: {told}"
        );
    }
    for hidden in [
        "MY_LLM_KEY",
        "AWS_SECRET",
        "DB_PASSWORD",
        "=zz",
        "=pp",
        "/home/me",
    ] {
        assert!(!told.contains(hidden), "{hidden}: {told}");
    }
}

#[tokio::test]
async fn secrets_are_masked_in_every_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("note.txt"), "key is sk-test-0001\n").unwrap();
    let tools = toolbox_with_secrets(folder.path());
    let check = async |tool: &str, arguments: serde_json::Value, expected: &str| {
        let told = use_tool(&tools, tool, arguments).await;
        assert_eq!(told.as_deref(), Ok(expected), "{tool}");
    };
    let masked = "key is [masked MY_LLM_KEY]\n";
    check("shell", json!({"command": "cat note.txt"}), masked).await;
    let line = json!({"command": "printf 'key is sk-test'; printf -- '-0001\\n'"});
    check("shell", line, masked).await;
    check("read", json!({"path": "note.txt"}), masked).await;
    let found = format!("note.txt:1:{masked}");
    check("grep", json!({"pattern": "key"}), &found).await;
    let edited = "edited note.txt: +1 -1\n@@ -1 +1 @@\n\
                  -key is [masked MY_LLM_KEY]\n+the key is [masked MY_LLM_KEY]\n";
    let edit = json!({"path": "note.txt", "old": "key is", "new": "the key is"});
    check("edit", edit, edited).await;
    // What stands for the secret would take its place.
    for (tool, arguments) in [
        ("write", json!({"path": "note.txt", "content": masked})),
        (
            "edit",
            json!({"path": "note.txt", "old": "the", "new": masked}),
        ),
        (
            "patch",
            json!({"patch": format!("--- a/note.txt\n+++ b/note.txt\n@@\n the {masked}+x\n")}),
        ),
    ] {
        let told = use_tool(&tools, tool, arguments).await.unwrap_err();
        let expected = "`[masked MY_LLM_KEY]` only stands for a secret";
        assert!(told.starts_with(expected), "{tool}: {told}");
    }
    let kept = fs::read_to_string(folder.path().join("note.txt")).unwrap();
    assert_eq!(kept, "the key is sk-test-0001\n");
    let line = json!({"command": "curl -H 'key: sk-test-0001'"});
    let prepared = tools.prepare(&call("shell", &line)).unwrap();
    assert_eq!(prepared.summary(), "curl -H 'key: [masked MY_LLM_KEY]'");
}

#[tokio::test]
async fn what_a_command_may_touch_follows_from_its_fence() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |access, network, expected| {
        let tools = Toolbox::new(ToolboxSpec {
            network,
            ..spec(folder.path(), access)
        })
        .unwrap();
        let shell = tools
            .catalog()
            .iter()
            .find(|tool| tool.name == "shell")
            .unwrap();
        assert_eq!(shell.effect, expected);
        let prepared = tools
            .prepare(&call("shell", &json!({"command": "true"})))
            .unwrap();
        assert_eq!(prepared.effect(), expected);
        let output = tools.run(prepared, CancellationToken::new()).await;
        let sealed = output.confinement.unwrap().is_sealed();
        assert_eq!(sealed, expected == EffectClass::Runs);
    };
    check(Access::Write, Network::Denied, EffectClass::Runs).await;
    check(Access::Write, Network::Granted, EffectClass::Reaches).await;
    check(Access::Full, Network::Denied, EffectClass::Reaches).await;
}

#[tokio::test]
async fn git_reads_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let setup = "git init -q -b main && git config user.name n && git config user.email e@e && \
                 echo 1 > f && git add f && git commit -qm first && echo 2 >> f && \
                 echo '* diff=evil' > .gitattributes && \
                 git config diff.external 'touch external' && \
                 git config diff.evil.textconv 'touch textconv; cat' && \
                 git config core.fsmonitor 'touch fsmonitor' && \
                 git config core.pager 'touch pager'";
    use_tool(&tools, "shell", json!({"command": setup}))
        .await
        .unwrap();
    let git = async |args: &[&str]| use_tool(&tools, "git", json!({"args": args})).await;
    let status = git(&["status", "--porcelain"]).await.unwrap();
    assert_eq!(status, " M f\n?? .gitattributes\n");
    assert!(
        git(&["diff"])
            .await
            .unwrap()
            .ends_with("@@ -1 +1,2 @@\n 1\n+2\n")
    );
    assert_eq!(git(&["log", "--format=%s"]).await.unwrap(), "first\n");
    let refused = git(&["commit", "-m", "x"]).await.unwrap_err();
    assert!(
        refused.starts_with("`git commit` is not allowed here"),
        "{refused}"
    );
    let missing = git(&["show", "nope"]).await.unwrap_err();
    assert!(missing.ends_with("[exit code 128]\n"), "{missing}");
    for file in ["external", "textconv", "fsmonitor", "pager"] {
        assert!(!folder.path().join(file).exists(), "{file}");
    }
}

/// Writes down what it is told, and lets nothing start when told so.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    refusal: Option<String>,
    marks: Option<std::path::PathBuf>,
}

impl ProcessWatcher for Notes {
    fn spawned(&self, process: ProcessId) -> WatcherAnswer<'_> {
        assert!(process.is_alive());
        assert!(self.marks.as_ref().is_none_or(|mark| !mark.exists()));
        self.lines
            .lock()
            .unwrap()
            .push(format!("spawned {}", process.pid));
        let answer = self.refusal.clone().map_or(Ok(()), Err);
        Box::pin(std::future::ready(answer))
    }

    fn ended(&self, process: &ProcessId) {
        self.lines
            .lock()
            .unwrap()
            .push(format!("ended {}", process.pid));
    }
}

#[tokio::test]
async fn a_watcher_knows_of_a_process_before_it_runs_anything() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |notes: Notes, ran: bool| {
        let notes = Arc::new(notes);
        let tools = Toolbox::new(ToolboxSpec {
            runner: runner().watched_by(notes.clone()),
            ..spec(folder.path(), Access::Write)
        })
        .unwrap();
        let told = use_tool(&tools, "shell", json!({"command": "touch ran"})).await;
        assert_eq!(told.is_ok(), ran, "{told:?}");
        assert_eq!(folder.path().join("ran").exists(), ran);
        let lines = notes.lines.lock().unwrap().clone();
        let pid = lines[0].strip_prefix("spawned ").unwrap().to_owned();
        let expected = [format!("spawned {pid}"), format!("ended {pid}")];
        assert_eq!(lines, expected);
    };
    let refusing = Notes {
        refusal: Some("the ledger is closed".to_owned()),
        ..Notes::default()
    };
    check(refusing, false).await;
    let marks = Some(folder.path().join("ran"));
    check(
        Notes {
            marks,
            ..Notes::default()
        },
        true,
    )
    .await;
}

#[tokio::test]
async fn a_toolbox_without_a_root_or_with_unknown_tools_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Toolbox::new(spec(&folder.path().join("missing"), Access::Read));
    assert!(matches!(missing, Err(ToolboxError::Root { .. })));
    let narrowed = Toolbox::new(ToolboxSpec {
        narrow: Some(vec!["shell".to_owned()]),
        ..spec(folder.path(), Access::Read)
    });
    assert!(matches!(narrowed, Err(ToolboxError::UnknownTool(_))));
}

#[test]
fn instructions_are_read_from_the_repository_only() {
    let top = tempfile::tempdir().unwrap();
    let read = || engine_tools::instructions::read(top.path());
    assert_eq!(read(), None);
    fs::write(top.path().join("AGENTS.md"), " \n").unwrap();
    assert_eq!(read(), None);
    fs::write(top.path().join("AGENTS.md"), "Use tabs.\n").unwrap();
    assert_eq!(read().as_deref(), Some("Use tabs.\n"));
    fs::write(top.path().join("AGENTS.md"), "界".repeat(20_000)).unwrap();
    let long = read().unwrap();
    let (kept, note) = long.split_once('\n').unwrap();
    assert_eq!(kept.chars().count(), 32 * 1024 / 3);
    assert_eq!(note, "[AGENTS.md is longer; the rest was left out]\n");
    fs::remove_file(top.path().join("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", top.path().join("AGENTS.md")).unwrap();
    assert_eq!(read(), None);
}

/// A toolbox that gives at most 8 KiB, over a file of one long line, one of many, and many files.
fn with_a_small_cap(root: &Path) -> Toolbox {
    let write = |name: &str, text: String| fs::write(root.join(name), text).unwrap();
    write("long", format!("{}\n", "x".repeat(1_000_000)));
    write("many", "needle\n".repeat(100_000));
    for number in 0..1500 {
        write(&format!("{number:0>60}"), String::new());
    }
    let output_bytes = 8 * 1024;
    let spec = spec(root, Access::Write);
    Toolbox::new(ToolboxSpec {
        output_bytes,
        ..spec
    })
    .unwrap()
}

/// Runs a call and looks for a note in its bounded answer.
async fn is_bounded(tools: &Toolbox, tool: &str, arguments: serde_json::Value, note: &str) {
    let told = use_tool(tools, tool, arguments).await;
    let text = told.unwrap_or_else(|error| error);
    assert!(text.len() <= 12 * 1024, "{tool}: {}", text.len());
    assert!(text.contains(note), "{tool}: {text}");
}

#[tokio::test]
async fn every_answer_is_bounded_and_says_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let tools = with_a_small_cap(folder.path());
    let check = |tool, arguments, note| is_bounded(&tools, tool, arguments, note);
    let rest = "[… 991808 more bytes in line 1 …]";
    check("read", json!({"path": "long"}), rest).await;
    let rest = "of 100000; go on with offset";
    check("read", json!({"path": "many"}), rest).await;
    let rest = "[… 999500 more bytes]";
    check("grep", json!({"pattern": "x+"}), rest).await;
    let rest = "[… 99800 more matching lines";
    check("grep", json!({"pattern": "needle"}), rest).await;
    check("list", json!({}), "more entries left out").await;
    check("glob", json!({"pattern": "*"}), "more files left out").await;
    check("shell", json!({"command": "cat many"}), "bytes left out").await;
    let edit = json!({"path": "many", "old": "needle", "new": "pin", "all": true});
    check("edit", edit, "more changed lines").await;
}

#[tokio::test]
async fn what_a_model_says_is_not_handed_back_without_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let tools = with_a_small_cap(folder.path());
    let check = |tool, arguments, note| is_bounded(&tools, tool, arguments, note);
    let huge = "y".repeat(100_000);
    let write = json!({"path": "w", "content": huge});
    check("write", write, "new, 1 lines").await;
    let patch = format!("--- a/{huge}\n+++ b/{huge}\n@@ -1 +1 @@\n-a\n+b\n");
    check("patch", json!({"patch": patch}), "bytes left out").await;
    check("read", json!({"path": huge}), "bytes left out").await;
    let glob = format!("[{huge}");
    check("glob", json!({"pattern": glob}), "bytes left out").await;
    let limit = json!({"path": "a", "limit": huge});
    check("read", limit, "bytes left out").await;
    check(&huge, json!({}), "there is no tool `yyy").await;
    let unknown = json!({huge.as_str(): 1});
    check("read", unknown, "`read` has no argument `yyy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_was_just_written_can_be_run() {
    let mut agents = tokio::task::JoinSet::new();
    for _ in 0..4 {
        agents.spawn(async {
            let folder = tempfile::tempdir().unwrap();
            let tools = toolbox(folder.path(), Access::Write);
            for round in 0..5 {
                let script = format!("#!/bin/sh\necho {round}\n");
                let path = format!("s{round}.sh");
                let patch = format!(
                    "diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n\
                     @@ -0,0 +1,2 @@\n+#!/bin/sh\n+echo {round}\n"
                );
                let (made, line) = if round % 2 == 0 {
                    let write = json!({"path": path, "content": script});
                    let made = use_tool(&tools, "write", write).await;
                    (made, format!("chmod +x {path} && ./{path}"))
                } else {
                    let made = use_tool(&tools, "patch", json!({ "patch": patch })).await;
                    (made, format!("./{path}"))
                };
                made.unwrap();
                let told = use_tool(&tools, "shell", json!({ "command": line })).await;
                assert_eq!(told, Ok(format!("{round}\n")));
            }
        });
    }
    agents.join_all().await;
}

/// Counts helpers that live at the same time. With a meeting, each waits for the others before its
/// command starts.
struct Overlap {
    meeting: Option<tokio::sync::Barrier>,
    now: Mutex<usize>,
    most: Mutex<usize>,
}

impl Overlap {
    fn of(meeting: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            meeting: meeting.map(tokio::sync::Barrier::new),
            now: Mutex::new(0),
            most: Mutex::new(0),
        })
    }
}

impl ProcessWatcher for Overlap {
    fn spawned(&self, _: ProcessId) -> WatcherAnswer<'_> {
        let mut now = self.now.lock().unwrap();
        *now += 1;
        let mut most = self.most.lock().unwrap();
        *most = (*most).max(*now);
        Box::pin(async {
            if let Some(meeting) = &self.meeting {
                meeting.wait().await;
            }
            Ok(())
        })
    }

    fn ended(&self, _: &ProcessId) {
        *self.now.lock().unwrap() -= 1;
    }
}

#[tokio::test]
async fn readers_overlap_and_what_changes_something_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |tool: &str, arguments: serde_json::Value, meeting, most| {
        let overlap = Overlap::of(meeting);
        let tools = Toolbox::new(ToolboxSpec {
            runner: runner().watched_by(overlap.clone()),
            ..spec(folder.path(), Access::Write)
        });
        let tools = tools.unwrap();
        let one = || use_tool(&tools, tool, arguments.clone());
        let all = async { tokio::join!(one(), one(), one()) };
        // Were the readers to wait for each other, they would never meet.
        let ended = tokio::time::timeout(support::PATIENCE, all).await;
        assert!(ended.is_ok(), "{tool}");
        assert_eq!(*overlap.most.lock().unwrap(), most, "{tool}");
    };
    let git = json!({"args": ["status"]});
    check("git", git, Some(3), 3).await;
    let line = json!({"command": "echo x >> f; cat f"});
    check("shell", line, None, 1).await;
    assert_eq!(
        fs::read_to_string(folder.path().join("f")).unwrap(),
        "x\nx\nx\n"
    );
}

#[tokio::test]
async fn what_is_dropped_before_its_turn_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let hold = json!({"command": "until [ -e go ]; do sleep 0.01; done"});
    let holding = use_tool(&tools, "shell", hold);
    tokio::pin!(holding);
    let write = json!({"path": "late", "content": "x"});
    let waiting = use_tool(&tools, "write", write);
    tokio::select! {
        biased;
        _ = &mut holding => panic!("nothing let it go"),
        _ = waiting => panic!("it is not its turn"),
        () = tokio::task::yield_now() => {}
    }
    fs::write(folder.path().join("go"), "").unwrap();
    holding.await.unwrap();
    let after = json!({"path": "after", "content": "x"});
    use_tool(&tools, "write", after).await.unwrap();
    assert!(!folder.path().join("late").exists());
}
