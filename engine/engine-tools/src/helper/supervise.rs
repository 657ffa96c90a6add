//! Starts the command, waits for its end, and ends whatever is left of it. Never looks at its output.

use super::tree::{Change, Input, wait_for_change};
use super::{report, tree};
use crate::shell::confinement::Confinement;
use crate::shell::wire::{Exit, Order, Report};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the hard signal is repeated before a process counts as one that cannot be ended.
const KILL_FOR: Duration = Duration::from_secs(5);

/// While the hard signal is repeated: the time between two rounds.
const KILL_EVERY: Duration = Duration::from_millis(20);

/// A command that runs.
#[derive(Clone, Copy)]
pub(super) struct Running {
    pid: Pid,
    confinement: Confinement,
}

/// Starts the command of an order.
pub(super) fn start(order: &Order) -> Result<Running, String> {
    let folder = Path::new(&order.folder);
    if !folder.is_dir() {
        return Err(format!("`{}` is not a folder", folder.display()));
    }
    // Confinement holds for a thread and what it starts, and cannot be taken off again.
    let running = std::thread::scope(|scope| scope.spawn(|| start_here(order)).join())
        .map_err(|_| "the thread that starts it broke".to_owned())??;
    // From here on only the command holds the output pipe: its end is the end of the command.
    quiet_stderr().map_err(|error| error.to_string())?;
    Ok(running)
}

fn start_here(order: &Order) -> Result<Running, String> {
    let confinement = match &order.fence {
        None => Confinement::OPEN,
        #[cfg(target_os = "linux")]
        Some(fence) => super::confine::confine_this_thread(fence)?,
        #[cfg(not(target_os = "linux"))]
        Some(fence) => super::probe::accept_nothing(fence)?,
    };
    for program in &order.programs {
        match spawn(program, order) {
            Ok(pid) => return Ok(Running { pid, confinement }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("`{}`: {error}", program.display())),
        }
    }
    let names: Vec<_> = order
        .programs
        .iter()
        .map(|p| p.display().to_string())
        .collect();
    Err(format!("there is no `{}`", names.join("`, no `")))
}

/// The command gets a process group of its own in the helper's session: signals to the group reach
/// it and not the helper, and there is no terminal to ask anything on.
fn spawn(program: &OsString, order: &Order) -> io::Result<Pid> {
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
    let child = Command::new(program)
        .args(&order.args)
        .current_dir(&order.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::from(output))
        .stderr(Stdio::inherit())
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the system gave no process id"))
}

fn quiet_stderr() -> io::Result<()> {
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stderr(null)?)
}

/// Reports what becomes of the command, and ends everything when standard input closes.
pub(super) fn follow(command: Running, grace_ms: u64) -> io::Result<()> {
    let pid = command.pid;
    let started = report(&Report::Started {
        pid: pid.as_raw_nonzero().get(),
        confinement: command.confinement,
    });
    let mut exited = false;
    // A report that cannot be sent means that nobody waits any more.
    let mut wanted = started.is_ok();
    while wanted {
        if let Some(status) = tree::collect(pid) {
            exited = true;
            let left = tree::descendants();
            let over = left.is_empty();
            let exit = exit_of(status);
            wanted = report(&Report::Exited { exit, left }).is_ok();
            if over {
                return Ok(());
            }
        } else if exited && tree::is_empty(command.pid) {
            return Ok(());
        }
        wanted = wanted && wait_for_change(None, Input::Watched) == Change::Child;
    }
    let survivors = end_all(pid, Duration::from_millis(grace_ms));
    report(&Report::Ended { survivors })
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

/// The polite signal to the group and to whoever left it, the grace, then the hard one until nobody
/// is left. Returns who could not be ended.
fn end_all(group: Pid, grace: Duration) -> Vec<i32> {
    tree::ask_to_end(group);
    // A stopped process cannot heed the polite signal.
    tree::signal_all(Signal::CONT);
    let mut deadline = Instant::now() + grace;
    let mut polite = true;
    loop {
        tree::collect(group);
        if tree::is_empty(group) {
            return Vec::new();
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            if !polite {
                return tree::descendants().iter().map(|d| d.pid).collect();
            }
            polite = false;
            deadline = Instant::now() + KILL_FOR;
            let _ = kill_process_group(group, Signal::KILL);
        }
        if !polite {
            tree::signal_all(Signal::KILL);
        }
        let wait = if polite { left } else { KILL_EVERY };
        wait_for_change(Some(wait), Input::Ignored);
    }
}
