//! How a tool presents itself to a model and to the recovery rules. Never runs one.

use serde::{Deserialize, Serialize};

/// A tool of an agent's catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name the model calls it by: `[a-z_]+`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, as text.
    pub parameters: String,
    /// What a call of it may touch.
    pub effect: EffectClass,
}

/// What a call may touch. It decides approval, parallelism and what happens after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Reads only. Run again after a crash; runs beside other readers.
    Reads,
    /// Changes files of the workspace only. After a crash the workspace is put back, then run again.
    Edits,
    /// A command confined to the workspace by the sandbox. Treated like [`Self::Edits`] after a crash.
    Runs,
    /// May have reached outside. Never repeated by itself.
    Reaches,
}

/// What a role may do to its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading tools.
    Read,
    /// Reading and editing tools, and a sandboxed shell.
    Write,
    /// Everything, unconfined.
    Full,
}
