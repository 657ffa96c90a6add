//! The processes below this one, found through `/proc`. Never looks at anybody else's.

use crate::process::Stat;
use crate::shell::wire::Descendant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    pidfd_open, set_child_subreaper, wait,
};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// More rounds than processes can hide in: a tree is at most this deep.
const DEPTH_MAX: usize = 4096;

/// All living descendants of this process, parents before their children.
pub(super) fn descendants() -> Vec<Descendant> {
    let mut found = Vec::new();
    let mut level = children_of_this_process();
    for _ in 0..DEPTH_MAX {
        let mut next = Vec::new();
        for pid in level {
            next.extend(children_of(&pid.to_string()));
            if let Some(stat) = Stat::read(pid).filter(|stat| !stat.is_over()) {
                let name = stat.name;
                found.push(Descendant { pid, name });
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    found
}

/// True when no child is left. (The group is for systems that cannot tell.)
pub(super) fn is_empty(_group: Pid) -> bool {
    children_of_this_process().is_empty()
}

/// Makes this process the parent of every orphan among its descendants.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Direct children, those that have ended but were not collected included.
fn children_of_this_process() -> Vec<i32> {
    children_of("self")
}

fn children_of(process: &str) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let Ok(list) = fs::read_to_string(thread.path().join("children")) else {
            // A kernel built without these lists: ask every process for its parent instead.
            return children_by_parent(process);
        };
        children.extend(
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    children
}

fn children_by_parent(process: &str) -> Vec<i32> {
    let parent = match process {
        "self" => getpid().as_raw_nonzero().get(),
        pid => pid.parse().unwrap_or(-1),
    };
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| Stat::read(*pid).is_some_and(|stat| stat.parent == parent))
        .collect()
}

/// Asks everybody to end: the group, and each descendant that left it. Nobody is told twice, since a
/// handler that is run again while it runs says or does its things again.
///
/// The group may be gone already: then there is nobody in it to tell.
pub(super) fn ask_to_end(group: Pid) {
    let _ = kill_process_group(group, Signal::TERM);
    let inside = group.as_raw_nonzero().get();
    for descendant in descendants() {
        let left = Stat::read(descendant.pid).is_some_and(|stat| stat.group != inside);
        if let Some(pid) = Pid::from_raw(descendant.pid).filter(|_| left) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Sends a signal to each descendant. Those that are gone meanwhile are what is wanted.
pub(super) fn signal_all(signal: Signal) {
    for descendant in descendants() {
        if let Some(pid) = Pid::from_raw(descendant.pid) {
            let _ = kill_process(pid, signal);
        }
    }
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
    /// A child has ended, or the time is over.
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

/// Waits until a direct child ends, standard input closes, or the time is over.
pub(super) fn wait_for_change(at_most: Option<Duration>, input: Input) -> Change {
    let children: Vec<OwnedFd> = children_of_this_process()
        .into_iter()
        .filter_map(|pid| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok())
        .collect();
    let stdin = rustix::stdio::stdin();
    let mut watched: Vec<PollFd<'_>> = children
        .iter()
        .map(|child| PollFd::new(child, PollFlags::IN))
        .collect();
    if input == Input::Watched {
        watched.push(PollFd::new(&stdin, PollFlags::IN));
    }
    let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
    if poll(&mut watched, at_most.as_ref()).is_err() {
        return Change::Child;
    }
    let closed =
        input == Input::Watched && watched.last().is_some_and(|fd| !fd.revents().is_empty());
    if closed {
        Change::Closed
    } else {
        Change::Child
    }
}
