//! Facts of what a person asked of a run that had begun. A cancelled task is a `task.ended`. Never of
//! what came of it.

use engine_core::ids::TaskId;
use serde::{Deserialize, Serialize};

/// A task that had ended without success is to be tried again, with attempts anew; what was skipped
/// because of it waits for it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRetried {
    /// The task.
    pub task: TaskId,
    /// What the person adds to what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// The person says something to whoever works on a task. It counts as heard when a recorded request
/// holds it; until then it is said again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTold {
    /// The task.
    pub task: TaskId,
    /// What is said. Never blank.
    pub text: String,
}
