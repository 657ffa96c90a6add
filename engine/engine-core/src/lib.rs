//! One agent as pure values: what it says, what it may call, what is recorded of it, and the turn
//! machine that decides its next step. Never touches a file, a socket, a clock or a process.

pub mod content;
pub mod effects;
pub mod failure;
pub mod ids;
pub mod message;
pub mod outcome;
pub mod record;
pub mod request;
pub mod tool;
