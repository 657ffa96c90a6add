//! The processes below this one, on systems that do not tell who they are: only the command's own
//! group is known. Who leaves the group is not found.

use crate::shell::wire::Descendant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process_group, test_kill_process_group, wait,
};
use std::io;
use std::time::Duration;

/// How often the command is looked at: nothing tells of its end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Nobody is known by name.
pub(super) fn descendants() -> Vec<Descendant> {
    Vec::new()
}

/// True when nobody is left in the command's group.
pub(super) fn is_empty(group: Pid) -> bool {
    test_kill_process_group(group).is_err()
}

/// Orphans go to the first process of the system.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// The group has its signals already, and nobody else is known.
pub(super) fn signal_all(_signal: Signal) {}

/// Asks the group to end. It may be gone already: then there is nobody in it to tell.
pub(super) fn ask_to_end(group: Pid) {
    let _ = kill_process_group(group, Signal::TERM);
}

/// Collects every child that has ended; returns how `wanted` ended when it was among them.
pub(super) fn collect(wanted: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((pid, ended))) = wait(WaitOptions::NOHANG) {
        if pid == wanted {
            status = Some(ended);
        }
    }
    status
}

/// What ended a wait.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A child may have ended, or the time is over.
    Child,
    /// Standard input has closed.
    Closed,
}

/// Whether standard input is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Watched,
    Ignored,
}

/// Waits until standard input closes, or for a moment.
pub(super) fn wait_for_change(at_most: Option<Duration>, input: Input) -> Change {
    let stdin = rustix::stdio::stdin();
    let mut watched = Vec::new();
    if input == Input::Watched {
        watched.push(PollFd::new(&stdin, PollFlags::IN));
    }
    let wait = at_most.map_or(LOOK_EVERY, |time| time.min(LOOK_EVERY));
    let wait = Timespec::try_from(wait).ok();
    if poll(&mut watched, wait.as_ref()).is_err() {
        return Change::Child;
    }
    let closed = watched.iter().any(|fd| !fd.revents().is_empty());
    if closed {
        Change::Closed
    } else {
        Change::Child
    }
}
