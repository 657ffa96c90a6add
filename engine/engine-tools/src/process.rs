//! Who a process is, in a form that outlives it: a pid alone may belong to another by tomorrow.

use serde::{Deserialize, Serialize};

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
    }
}

/// The fields of `/proc/PID/stat` that matter here. Format: proc_pid_stat(5).
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) parent: i32,
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
        let text = "42 (a) b) (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.name.as_str(), stat.state), ("a) b) (c", 'S'));
        assert_eq!((stat.parent, stat.started), (7, 9876));
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
