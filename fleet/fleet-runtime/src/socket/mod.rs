//! The control socket: how another process of the same person asks something of a run at work. One
//! request a line, one answer a line, as JSON with a version. Never lets a client wait on the manager's
//! loop or the loop on a client; described in `docs/control.md`.

mod client;
mod place;
mod protocol;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Unreachable, ask};
pub use place::Folders;
pub use protocol::{Code, LINE_MAX_BYTES, Refusal, Request, VERSION};
pub(crate) use server::Server;
