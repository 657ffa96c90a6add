//! How far a script may go. Never measures: [`crate::meter`] does.
//!
//! | limit | default | ceiling | unit |
//! | --- | --- | --- | --- |
//! | heap | 16777216 | 268435456 | bytes |
//! | stack | 524288 | 4194304 | bytes |
//! | cpu | 1000 | 10000 | milliseconds between two awaits |
//! | tasks | 1000 | 10000 | tasks in a run of a script |
//! | items | 1000 | 10000 | items in one call of `parallel` or `pipeline` |
//! | nesting | 3 | 8 | scripts within scripts |
//! | result | 8388608 | 67108864 | bytes of the value a script returns |
//! | log-lines | 1000 | 10000 | calls of `log` and `phase` |
//! | log-line | 16384 | 65536 | bytes of one of them |
//!
//! The heap is small because a built-in of the language cannot be interrupted: what it may touch
//! bounds how long it can run.

use std::fmt;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Memory of the script's values.
    Heap,
    /// Depth of its calls, in memory.
    Stack,
    /// Time it computes between two awaits. Waiting for a task is not its time.
    Cpu,
    /// Tasks it orders.
    Tasks,
    /// Items it hands to one call of `parallel` or `pipeline`.
    Items,
    /// Scripts that start scripts.
    Nesting,
    /// Size of what it returns.
    Result,
    /// How often it logs.
    LogLines,
    /// How much it logs at once.
    LogLine,
}

/// A limit's row in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What is limited.
    pub limit: Limit,
    /// Its name for people.
    pub name: &'static str,
    /// What holds when nothing is said.
    pub default: u64,
    /// The most that can be said.
    pub ceiling: u64,
    /// What the numbers count.
    pub unit: &'static str,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// All limits, in the order of [`Limit`].
pub const ROWS: [Row; 9] = [
    Row {
        limit: Limit::Heap,
        name: "heap",
        default: 16 * MIB,
        ceiling: 256 * MIB,
        unit: "bytes",
    },
    Row {
        limit: Limit::Stack,
        name: "stack",
        default: 512 * KIB,
        ceiling: 4 * MIB,
        unit: "bytes",
    },
    Row {
        limit: Limit::Cpu,
        name: "cpu",
        default: 1_000,
        ceiling: 10_000,
        unit: "milliseconds between two awaits",
    },
    Row {
        limit: Limit::Tasks,
        name: "tasks",
        default: 1_000,
        ceiling: 10_000,
        unit: "tasks in a run of a script",
    },
    Row {
        limit: Limit::Items,
        name: "items",
        default: 1_000,
        ceiling: 10_000,
        unit: "items in one call of `parallel` or `pipeline`",
    },
    Row {
        limit: Limit::Nesting,
        name: "nesting",
        default: 3,
        ceiling: 8,
        unit: "scripts within scripts",
    },
    Row {
        limit: Limit::Result,
        name: "result",
        default: 8 * MIB,
        ceiling: 64 * MIB,
        unit: "bytes of the value a script returns",
    },
    Row {
        limit: Limit::LogLines,
        name: "log-lines",
        default: 1_000,
        ceiling: 10_000,
        unit: "calls of `log` and `phase`",
    },
    Row {
        limit: Limit::LogLine,
        name: "log-line",
        default: 16 * KIB,
        ceiling: 64 * KIB,
        unit: "bytes of one of them",
    },
];

impl Limit {
    /// Its row in the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

/// The limits of one script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits([u64; ROWS.len()]);

/// Why a limit cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadLimit {
    /// Nothing could run under it.
    #[error("the limit `{0}` must be at least 1")]
    Zero(Limit),
    /// The host does not promise so much.
    #[error("the limit `{limit}` may be at most {} ({}), not {value}", limit.row().ceiling, limit.row().unit)]
    AboveCeiling {
        /// Which limit.
        limit: Limit,
        /// What it should have been.
        value: u64,
    },
}

impl Default for Limits {
    fn default() -> Self {
        Self(ROWS.map(|row| row.default))
    }
}

impl Limits {
    /// These limits with one of them changed.
    ///
    /// # Errors
    /// When the value is zero or above the limit's ceiling.
    pub fn with(mut self, limit: Limit, value: u64) -> Result<Self, BadLimit> {
        match value {
            0 => return Err(BadLimit::Zero(limit)),
            _ if value > limit.row().ceiling => {
                return Err(BadLimit::AboveCeiling { limit, value });
            }
            _ => self.0[limit as usize] = value,
        }
        Ok(self)
    }

    /// The value in force, in the unit of the limit's row.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Limits, ROWS};

    #[test]
    fn the_documented_table_is_the_one_enforced() {
        let documented: Vec<&str> = include_str!("limits.rs")
            .lines()
            .filter(|line| {
                line.starts_with("//! | ") && line.contains(|c: char| c.is_ascii_digit())
            })
            .collect();
        let enforced = ROWS.map(|row| {
            let (default, ceiling) = (Limits::default().get(row.limit), row.ceiling);
            format!(
                "//! | {} | {default} | {ceiling} | {} |",
                row.limit, row.unit
            )
        });
        assert_eq!(documented, enforced);
    }

    #[test]
    fn every_limit_finds_its_own_row() {
        for row in &ROWS {
            assert_eq!(row.limit.row(), row);
            assert!(
                0 < row.default && row.default <= row.ceiling,
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn a_limit_lies_between_one_and_its_ceiling() {
        let set = |value| Limits::default().with(Limit::Nesting, value);
        assert_eq!(set(8).unwrap().get(Limit::Nesting), 8);
        assert_eq!(set(8).unwrap().get(Limit::Tasks), 1_000);
        let message = |value| set(value).unwrap_err().to_string();
        assert_eq!(message(0), "the limit `nesting` must be at least 1");
        assert_eq!(
            message(9),
            "the limit `nesting` may be at most 8 (scripts within scripts), not 9"
        );
    }
}
