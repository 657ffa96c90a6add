//! What agents had said when the manager before ended, gathered while the ledger is replayed, so that
//! each goes on from its last durable step. Never kept for attempts that are over.

use engine_core::ids::{AgentId, TaskId};
use engine_core::record::AgentRecord;
use fleet_core::record::{AttemptEnd, Record};
use std::collections::HashMap;

/// Records of the attempts that may go on.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    by_task: HashMap<TaskId, Vec<AgentRecord>>,
}

impl Histories {
    pub(crate) fn note(&mut self, record: &Record) {
        match record {
            Record::AttemptStarted(r) => {
                self.by_task.remove(&r.task);
            }
            Record::TaskEnded(r) => {
                self.by_task.remove(&r.task);
            }
            Record::AttemptFinished(r) => match r.end {
                AttemptEnd::Interrupted | AttemptEnd::Provider { .. } => {}
                _ => {
                    self.by_task.remove(&r.task);
                }
            },
            other => {
                if let Some(record) = other.clone().into_agent() {
                    let task = record.agent().task;
                    self.by_task.entry(task).or_default().push(record);
                }
            }
        }
    }

    /// Hands the history of an attempt over; it is not kept any longer.
    pub(crate) fn take(&mut self, agent: &AgentId) -> Vec<AgentRecord> {
        self.by_task.remove(&agent.task).unwrap_or_default()
    }
}
