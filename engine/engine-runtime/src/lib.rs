//! Drives one agent: carries out what the turn machine of `engine-core` asks for, and reports to it
//! what came of it. Never decides, and never appends to a ledger: it reports to its [`Journal`].

mod agent;
mod ports;
mod spec;
mod toolbox;

pub use agent::{STOP_GRACE, run_agent};
pub use ports::{
    Admission, Journal, JournalClosed, Observer, Ports, ReadyCall, Refusal, RequestIntent,
    Snapshot, SnapshotError, Snapshots, Tools,
};
pub use spec::AgentSpec;
