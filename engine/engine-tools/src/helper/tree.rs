//! The processes below this one, found through `/proc`. Never looks at anybody else's.

use crate::process::Stat;
use crate::shell::wire::Descendant;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::fs;

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

/// Direct children, those that have ended but were not collected included.
pub(super) fn children_of_this_process() -> Vec<i32> {
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
        "self" => rustix::process::getpid().as_raw_nonzero().get(),
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
