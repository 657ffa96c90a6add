//! Runs one child process to its end: feeds its input, collects its output, keeps a time limit and
//! ends the whole process group when the limit is over. Never waits for a pipe that a descendant
//! holds open after the child itself has ended, and never asks a terminal.

use crate::patience::Patience;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Most bytes kept of the standard output; more is a failure, because half a listing is a lie.
const OUTPUT_MAX_BYTES: usize = 256 << 20;
/// Most bytes kept of the standard error; the rest is read and dropped.
const TALK_MAX_BYTES: usize = 64 << 10;
/// How often a child with silent pipes is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(50);
/// First and longest time between two looks at a child whose pipes are closed: nearly always it is
/// about to end, so the first looks follow close upon each other.
const NAP_MIN: Duration = Duration::from_micros(100);
const NAP_MAX: Duration = Duration::from_millis(20);
/// Time between the polite signal and the hard one.
const GRACE: Duration = Duration::from_secs(2);

/// What an ended child left.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no ended child.
pub(crate) enum NotEnded {
    /// It could not be started, fed or read.
    Io(io::Error),
    /// The limit was over; its process group was ended. Holds what it had said on standard error.
    TimedOut(Vec<u8>),
    /// It wrote more than is ever needed; its process group was ended.
    TooMuchOutput,
}

/// Runs `command` with `input` on its standard input, as long as `patience` lasts.
pub(crate) fn run(
    command: &mut Command,
    input: &[u8],
    patience: Patience,
) -> Result<Ended, NotEnded> {
    let mut child = command
        .stdin(if input.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(NotEnded::Io)?;
    let outcome = pump(&mut child, input, patience);
    if outcome.is_err() {
        end_group(&mut child);
    }
    outcome
}

/// One pipe out of the child and what came through it.
struct Source<R> {
    pipe: Option<R>,
    bytes: Vec<u8>,
    keep: usize,
}

impl<R: Read + AsFd> Source<R> {
    fn new(pipe: Option<R>, keep: usize) -> Self {
        Self {
            pipe,
            bytes: Vec::new(),
            keep,
        }
    }

    /// Reads once, or notes the end.
    fn read_once(&mut self) -> io::Result<()> {
        let Some(pipe) = self.pipe.as_mut() else {
            return Ok(());
        };
        let mut chunk = [0_u8; 64 << 10];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(n) => {
                let room = self.keep.saturating_sub(self.bytes.len());
                self.bytes.extend_from_slice(&chunk[..n.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn pump(child: &mut Child, input: &[u8], patience: Patience) -> Result<Ended, NotEnded> {
    let mut feed = Feed::new(child.stdin.take(), input).map_err(NotEnded::Io)?;
    let mut out = Source::new(child.stdout.take(), OUTPUT_MAX_BYTES + 1);
    let mut err = Source::new(child.stderr.take(), TALK_MAX_BYTES);
    let mut status = None;
    loop {
        if out.pipe.is_none() && err.pipe.is_none() {
            break;
        }
        if patience.is_over() {
            return Err(NotEnded::TimedOut(err.bytes));
        }
        let wait = if status.is_some() {
            Duration::ZERO
        } else {
            LOOK.min(patience.rest())
        };
        let ready = ready(&feed, &out, &err, wait).map_err(NotEnded::Io)?;
        if ready.none() {
            // Silent pipes of an ended child belong to a descendant that nobody waits for.
            if status.is_some() {
                break;
            }
            status = child.try_wait().map_err(NotEnded::Io)?;
            continue;
        }
        if ready.feed {
            feed.write_once().map_err(NotEnded::Io)?;
        }
        if ready.out {
            out.read_once().map_err(NotEnded::Io)?;
        }
        if ready.err {
            err.read_once().map_err(NotEnded::Io)?;
        }
        if out.bytes.len() > OUTPUT_MAX_BYTES {
            return Err(NotEnded::TooMuchOutput);
        }
    }
    drop(feed);
    let status = match status {
        Some(status) => status,
        None => wait_until(child, patience)
            .map_err(NotEnded::Io)?
            .ok_or(NotEnded::TimedOut(Vec::new()))?,
    };
    Ok(Ended {
        status,
        stdout: out.bytes,
        stderr: err.bytes,
    })
}

/// The bytes still to be written to the child.
struct Feed<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    fn new(pipe: Option<ChildStdin>, rest: &'a [u8]) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            let flags = rustix::fs::fcntl_getfl(pipe)?;
            rustix::fs::fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, rest })
    }

    fn write_once(&mut self) -> io::Result<()> {
        let Some(pipe) = self.pipe.as_mut() else {
            return Ok(());
        };
        match pipe.write(self.rest) {
            Ok(n) => self.rest = &self.rest[n..],
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            // A child that has seen enough says in its exit code whether that was right.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.rest = &[],
            Err(error) => return Err(error),
        }
        if self.rest.is_empty() {
            self.pipe = None;
        }
        Ok(())
    }
}

/// Which pipes can be served without waiting.
#[derive(Default)]
struct Ready {
    feed: bool,
    out: bool,
    err: bool,
}

impl Ready {
    fn none(&self) -> bool {
        !(self.feed || self.out || self.err)
    }
}

fn ready<A: AsFd, B: AsFd>(
    feed: &Feed<'_>,
    out: &Source<A>,
    err: &Source<B>,
    wait: Duration,
) -> io::Result<Ready> {
    let mut fds = Vec::with_capacity(3);
    let mut whose = Vec::with_capacity(3);
    if let Some(pipe) = &feed.pipe {
        fds.push(PollFd::new(pipe, PollFlags::OUT));
        whose.push(0);
    }
    if let Some(pipe) = &out.pipe {
        fds.push(PollFd::new(pipe, PollFlags::IN));
        whose.push(1);
    }
    if let Some(pipe) = &err.pipe {
        fds.push(PollFd::new(pipe, PollFlags::IN));
        whose.push(2);
    }
    let timeout = Timespec::try_from(wait).map_err(|_| io::ErrorKind::InvalidInput)?;
    match rustix::event::poll(&mut fds, Some(&timeout)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
        Err(error) => return Err(error.into()),
    }
    let mut ready = Ready::default();
    for (fd, who) in fds.iter().zip(whose) {
        let hit = !fd.revents().is_empty();
        match who {
            0 => ready.feed = hit,
            1 => ready.out = hit,
            _ => ready.err = hit,
        }
    }
    Ok(ready)
}

/// Waits for the end of the child; `None` when patience ends first.
fn wait_until(child: &mut Child, patience: Patience) -> io::Result<Option<ExitStatus>> {
    let mut nap = NAP_MIN;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if patience.is_over() {
            return Ok(None);
        }
        patience.nap(nap);
        nap = (nap * 2).min(NAP_MAX);
    }
}

/// Ends the child and its group: politely first, because git takes its lock files away on a
/// polite signal, then for certain.
fn end_group(child: &mut Child) {
    let group = Pid::from_child(child);
    // A group that is already gone needs no signal.
    let _ = rustix::process::kill_process_group(group, Signal::TERM);
    let _ = wait_until(child, Patience::of(GRACE));
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::{NotEnded, run};
    use crate::patience::Patience;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn large_input_and_output_pass_without_a_deadlock() {
        let input = vec![b'x'; 3 << 20];
        let ended = run(
            &mut shell("cat; echo end >&2"),
            &input,
            Patience::of(Duration::from_secs(20)),
        )
        .unwrap_or_else(|_| panic!("cat failed"));
        assert!(ended.status.success());
        assert!(ended.stdout == input);
        assert_eq!(ended.stderr, b"end\n");
    }

    #[test]
    fn a_child_that_reads_nothing_is_no_error() {
        let ended = run(
            &mut shell("exit 3"),
            &vec![0; 1 << 20],
            Patience::of(Duration::from_secs(20)),
        )
        .unwrap_or_else(|_| panic!("must end"));
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn a_descendant_that_holds_the_pipe_is_not_waited_for() {
        let started = Instant::now();
        let ended = run(
            &mut shell("tail -f /dev/null & echo $!"),
            b"",
            Patience::of(Duration::from_secs(20)),
        )
        .unwrap_or_else(|_| panic!("must end"));
        assert!(started.elapsed() < Duration::from_secs(5));
        let pid: i32 = String::from_utf8(ended.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn the_limit_ends_the_whole_group_and_keeps_what_was_said() {
        let started = Instant::now();
        let outcome = run(
            &mut shell("echo begun >&2; sleep 60 & sleep 60"),
            b"",
            Patience::of(Duration::from_millis(300)),
        );
        let Err(NotEnded::TimedOut(talk)) = outcome else {
            panic!("must time out");
        };
        assert_eq!(talk, b"begun\n");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
