//! The fleet as pure values: its vocabulary, the fold over the ledger, what to record next and what
//! must be happening now. Never touches a file, a socket, a clock or a process.

pub mod budget;
pub mod decide;
pub mod ids;
pub mod owed;
pub mod record;
pub mod spec;
pub mod state;
#[cfg(test)]
mod testing;
pub mod time;
pub mod view;
