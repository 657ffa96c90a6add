//! One agent as pure values: what it says, what it may call, what is recorded of it, and the turn
//! machine that decides its next step. Never touches a file, a socket, a clock or a process.

mod answer;
pub mod content;
pub mod context;
pub mod conversation;
pub mod effects;
pub mod failure;
#[cfg(test)]
mod fixtures;
pub mod ids;
pub mod message;
pub mod outcome;
pub mod patience;
pub mod prompt;
pub mod provider;
pub mod record;
pub mod request;
pub mod tool;
pub mod transcript;
pub mod turn;
pub mod verdict;
