//! The manager process of a run: takes inputs from one queue, lets `fleet-core` decide, appends to the
//! ledger, and performs what is owed once its intent is durable. Never decides by itself, never
//! prints, and never knows how a roster or a command line is written.

pub mod blobs;
pub mod clock;
pub mod codec;
pub mod control;
pub mod hands;
mod history;
mod journal;
mod mailbox;
mod manager;
pub mod socket;
pub mod store;
pub mod unmanaged;

pub use control::{Control, StopRequest};
pub use mailbox::{Mailbox, ManagerGone};
pub use manager::{Beginning, Line, Managed, RunError, Running, start};
