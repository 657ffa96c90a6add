//! The built-in tools of an agent, its shell and the operating-system sandbox around it.
//! Never asks a model, never decides what is allowed, never knows of tasks or runs.

mod call;
pub mod catalog;
pub mod helper;
pub mod instructions;
pub mod mask;
pub mod patch;
mod pool;
pub mod process;
pub mod shell;
mod toolbox;
mod tools;
mod workspace;

pub use call::{CallEnd, PreparedCall, Refusal, SUMMARY_MAX_BYTES, ToolOutput};
pub use toolbox::{Toolbox, ToolboxError, ToolboxSpec};
pub use tools::git_rules::GitRefusal;
