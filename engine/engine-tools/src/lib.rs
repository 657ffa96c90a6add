//! The built-in tools of an agent, its shell and the operating-system sandbox around it.
//! Never asks a model, never decides what is allowed, never knows of tasks or runs.

pub mod helper;
pub mod mask;
pub mod process;
pub mod shell;
