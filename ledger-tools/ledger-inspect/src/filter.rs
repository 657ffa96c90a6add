//! Which records a reading command takes: by task, by agent, by type. Never drops a mark of damage.

use crate::record::Record;

/// Which records are taken. Marks always are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those that speak of this task.
    pub task: Option<String>,
    /// Only those of the agent of this attempt, beside the task.
    pub attempt: Option<u64>,
    /// Only those of one of these types, when there are any. `tool` stands for all `tool.…`.
    pub types: Vec<String>,
}

impl Filter {
    pub(crate) fn takes(&self, record: &Record<'_>) -> bool {
        let kind = record.kind().unwrap_or_default();
        let is_of = |wanted: &String| {
            kind.strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        (self.types.is_empty() || self.types.iter().any(is_of))
            && (self.task.is_none() || self.task == record.task())
            && (self.attempt.is_none() || self.attempt == record.number("attempt"))
    }

    pub(crate) fn takes_all(&self) -> bool {
        *self == Self::default()
    }
}
