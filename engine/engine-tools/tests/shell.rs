//! Commands as real processes: their end, their limits, what they leave behind.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_tools::shell::{End, Exit, Finished, Job, JobLimits, Leftovers, ShellError};
use std::path::Path;
use std::time::Duration;
use support::{is_alive, job, runner, until};
use tokio_util::sync::CancellationToken;

async fn run(job: &Job) -> Finished {
    runner().run(job, &CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn exit_code_output_and_signal_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |line: &str, end: End, output: &str| {
        let finished = run(&job(folder.path(), line)).await;
        assert_eq!(
            (finished.end, finished.output.text.as_str()),
            (end, output),
            "{line}"
        );
    };
    let code = |code| End::Exited(Exit::Code(code));
    check(
        "echo out; echo err >&2; echo out",
        code(0),
        "out\nerr\nout\n",
    )
    .await;
    check("exit 3", code(3), "").await;
    check("kill -9 $$", End::Exited(Exit::Signal(9)), "").await;
    check("no-such-program-here 2>/dev/null", code(127), "").await;
    check("pwd", code(0), &format!("{}\n", folder.path().display())).await;
    check("printf 'a\\xffb'", code(0), "a\u{FFFD}b").await;
}

#[tokio::test]
async fn a_background_process_that_holds_the_pipe_does_not_hold_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |line: &str| {
        let job = Job {
            leftovers: Leftovers::Keep,
            ..job(folder.path(), line)
        };
        let finished = run(&job).await;
        // What holds the pipe never ends by itself: a call that waited for it would be timed out.
        assert_eq!(finished.end, End::Exited(Exit::Code(0)), "{line}");
        assert_eq!(finished.output.text, "up\n", "{line}");
        let background = finished.background.expect(line);
        let pids: Vec<i32> = background.processes().iter().map(|p| p.pid).collect();
        assert_eq!(pids.len(), 1, "{line}: {:?}", background.processes());
        assert!(is_alive(pids[0]), "{line}");
        assert!(background.is_running(), "{line}");
        background.end().await;
        assert!(!is_alive(pids[0]), "{line}");
    };
    check("tail -f /dev/null & echo up").await;
    check("setsid tail -f /dev/null & echo up").await;
    check("tail -f /dev/null >/dev/null & echo up").await;
    check("tail -f /dev/null >/dev/null 2>&1 & echo up").await;
}

#[tokio::test]
async fn leftovers_of_a_check_are_gone_with_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let line = "(trap '' TERM; tail -f /dev/null & echo $! > pid; wait) & \
                until [ -s pid ]; do :; done; cat pid";
    let job = with_limits(job(folder.path(), line), 10_000, 100);
    let finished = run(&job).await;
    assert_eq!(finished.end, End::Exited(Exit::Code(0)));
    assert!(!is_alive(finished.output.text.trim().parse().unwrap()));
    assert!(finished.survivors.is_empty());
}

fn with_limits(job: Job, time_ms: u64, grace_ms: u64) -> Job {
    let limits = JobLimits {
        time: Duration::from_millis(time_ms),
        grace: Duration::from_millis(grace_ms),
        ..job.limits
    };
    Job { limits, ..job }
}

/// Ignores the polite signal, as does what it starts; tells its group and begins to wait.
const STUBBORN: &str = "exec sh -c 'trap \"\" TERM; echo begin; echo $$ > group.new; \
     mv group.new group; sleep 60 & sleep 60'";

fn group(folder: &Path) -> rustix::process::Pid {
    let text = std::fs::read_to_string(folder.join("group")).unwrap();
    rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

fn assert_gone(group: rustix::process::Pid) {
    assert_eq!(
        rustix::process::test_kill_process_group(group),
        Err(rustix::io::Errno::SRCH)
    );
}

#[tokio::test]
async fn the_time_limit_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let job = with_limits(job(folder.path(), STUBBORN), 2_000, 300);
    let finished = run(&job).await;
    assert_eq!(finished.end, End::TimedOut);
    assert_eq!(finished.output.text, "begin\n");
    assert!(
        finished.took >= Duration::from_millis(2_300),
        "{:?}",
        finished.took
    );
    assert_gone(group(folder.path()));
}

#[tokio::test]
async fn cancelling_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let job = with_limits(job(folder.path(), STUBBORN), 60_000, 300);
    let cancel = CancellationToken::new();
    let mark = folder.path().join("group");
    let runner = runner();
    let (finished, ()) = tokio::join!(runner.run(&job, &cancel), async {
        until("the command has started", || mark.exists()).await;
        cancel.cancel();
    });
    let finished = finished.unwrap();
    assert_eq!(finished.end, End::Cancelled);
    assert_eq!(finished.output.text, "begin\n");
    assert_gone(group(folder.path()));
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let job = with_limits(job(folder.path(), STUBBORN), 60_000, 50);
    let mark = folder.path().join("group");
    let (runner, never) = (runner(), CancellationToken::new());
    tokio::select! {
        _ = runner.run(&job, &never) => panic!("it runs for a minute"),
        () = until("the command has started", || mark.exists()) => {}
    }
    let group = group(folder.path());
    until("the group is gone", || {
        rustix::process::test_kill_process_group(group).is_err()
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_starts_never_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = runner()
        .run(&job(folder.path(), "touch ran"), &cancel)
        .await;
    assert!(matches!(result, Err(ShellError::NotStarted)));
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn polite_programs_get_to_say_goodbye() {
    let folder = tempfile::tempdir().unwrap();
    // The trap is set behind the fork: a child that has not become `sleep` yet would say it too.
    let line = "sleep 60 & trap 'echo bye; exit 0' TERM; echo up; wait";
    let job = with_limits(job(folder.path(), line), 2_000, 60_000);
    let finished = run(&job).await;
    assert_eq!(finished.end, End::TimedOut);
    assert_eq!(finished.output.text, "up\nbye\n");
    // It went when it was asked to: nobody waited for the end of the grace.
    assert!(
        finished.took < Duration::from_secs(60),
        "{:?}",
        finished.took
    );
}

#[tokio::test]
async fn a_command_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let result = runner()
        .run(&job(&missing, "true"), &CancellationToken::new())
        .await;
    let Err(ShellError::Refused(reason)) = result else {
        panic!("{result:?}")
    };
    assert!(reason.contains("is not a folder"), "{reason}");
}

#[tokio::test]
async fn many_commands_at_once_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let runner = runner();
    let mut all = tokio::task::JoinSet::new();
    for n in 0..40 {
        let (runner, job) = (
            runner.clone(),
            job(folder.path(), &format!("echo {n}; exit {n}")),
        );
        all.spawn(async move { (n, runner.run(&job, &CancellationToken::new()).await) });
    }
    while let Some(done) = all.join_next().await {
        let (n, finished) = done.unwrap();
        let finished = finished.unwrap();
        assert_eq!(finished.end, End::Exited(Exit::Code(n)));
        assert_eq!(finished.output.text, format!("{n}\n"));
    }
}
