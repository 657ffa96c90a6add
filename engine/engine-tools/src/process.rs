//! Who a process is, in a form that outlives it: a pid alone may belong to another by tomorrow.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A process of this boot of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its process id.
    pub pid: i32,
    /// When it started, in clock ticks since boot (field 22 of `/proc/PID/stat`); 0 where there is
    /// no `/proc`.
    pub started: u64,
    /// Which boot (`/proc/sys/kernel/random/boot_id`); empty where there is no `/proc`.
    pub boot: String,
}

impl ProcessId {
    /// Identity of a live process; `None` when there is none with this pid.
    #[must_use]
    pub fn of(pid: i32) -> Option<Self> {
        if cfg!(not(target_os = "linux")) {
            test_kill_process(Pid::from_raw(pid)?).ok()?;
            return Some(Self {
                pid,
                started: 0,
                boot: String::new(),
            });
        }
        let stat = Stat::read(pid)?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Some(Self {
            pid,
            started: stat.started,
            boot: boot.trim().to_owned(),
        })
    }

    /// True while this very process lives, and not another one that was given its pid.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
            && !Stat::read(self.pid).is_some_and(|stat| stat.is_over())
    }
}

/// How often a process that is to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Whether a process that was to end has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is gone, and so is its session.
    Gone,
    /// It, or a member of its session, is still there.
    Survives,
}

impl ProcessId {
    /// Waits for a helper of a manager that died to end by itself, which it does as soon as it finds
    /// its manager gone; after `patience`, sends the hard signal to it and to all of its session, and
    /// waits as long again. Blocks: not for async threads.
    ///
    /// A process that left the session of a helper which was itself killed is not found.
    #[must_use]
    pub fn end(&self, patience: Duration) -> Ending {
        let is_gone = || !self.is_alive() && session(self).is_empty();
        if wait_until(patience, is_gone) {
            return Ending::Gone;
        }
        for pid in session(self).into_iter().chain([self.pid]) {
            // The pid may be another's by now when the process itself is gone.
            let mine = pid != self.pid || self.is_alive();
            if let Some(pid) = Pid::from_raw(pid).filter(|_| mine) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        match wait_until(patience, is_gone) {
            true => Ending::Gone,
            false => Ending::Survives,
        }
    }
}

/// Members of the session that a process of this boot leads, without itself.
fn session(leader: &ProcessId) -> Vec<i32> {
    if ProcessId::of(1).is_none_or(|first| first.boot != leader.boot) {
        return Vec::new();
    }
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != leader.pid)
        .filter(|pid| {
            Stat::read(*pid).is_some_and(|stat| {
                let later = stat.started >= leader.started;
                stat.session == leader.pid && later && !stat.is_over()
            })
        })
        .collect()
}

fn wait_until(patience: Duration, fact: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if fact() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The fields of `/proc/PID/stat` that matter here. Format: proc_pid_stat(5).
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    session: i32,
    pub(crate) started: u64,
}

impl Stat {
    /// Reads it; `None` when the process is gone.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The name is in brackets and may itself hold brackets and blanks.
        let (before, after) = text.rsplit_once(')')?;
        let name = before.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = after.split_ascii_whitespace().collect();
        Some(Self {
            name,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// True for a process that has ended and only waits to be collected.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let text = "42 (a) b) (c) S 7 42 43 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.name.as_str(), stat.state), ("a) b) (c", 'S'));
        assert_eq!((stat.parent, stat.group, stat.session), (7, 42, 43));
        assert_eq!(stat.started, 9876);
    }

    #[test]
    fn this_process_is_alive_and_one_with_another_start_is_not() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let me = ProcessId::of(pid).unwrap();
        assert!(me.is_alive());
        let other = ProcessId {
            started: me.started + 1,
            ..me
        };
        assert!(!other.is_alive());
        assert_eq!(ProcessId::of(4_194_305), None);
    }
}
