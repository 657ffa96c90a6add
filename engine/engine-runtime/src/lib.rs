//! Drives one agent: carries out what the turn machine of `engine-core` asks for, and reports to it
//! what came of it. Never decides, and never appends to a ledger: it reports to its [`Journal`].

mod ports;
mod spec;

pub use ports::{
    Admission, Journal, JournalClosed, RequestIntent, Snapshot, SnapshotError, Snapshots,
};
pub use spec::AgentSpec;
