//! What runner and helper say to each other: one order down the helper's standard input, JSON lines
//! of reports back on its standard output. Never leaves the machine, never recorded.
//!
//! The order is also the "go": until it has arrived whole, the helper does nothing. Its standard
//! input stays open for as long as the command may live; when it closes, the helper ends everything.

use super::confinement::Confinement;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// What the helper is to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Programs to try in turn: the first that exists is run.
    pub(crate) programs: Vec<OsString>,
    /// Its arguments.
    pub(crate) args: Vec<OsString>,
    /// Where it starts.
    pub(crate) folder: OsString,
    /// How it is confined; `None`: not at all.
    pub(crate) fence: Option<FenceOrder>,
    /// Time between the polite signal and the hard one, in milliseconds.
    pub(crate) grace_ms: u64,
}

/// How a command is confined.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FenceOrder {
    /// Folders and files it may change.
    pub(crate) writable: Vec<OsString>,
    /// Whether sockets are open to it.
    pub(crate) network: Network,
    /// Whether it may start when the kernel holds less than was asked.
    pub(crate) shortfall: Shortfall,
}

/// Whether commands may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No sockets but local ones.
    Denied,
    /// As on the machine.
    Granted,
}

/// Whether a command may start when the kernel cannot hold all that was asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    /// It starts; the result says what is not held.
    Accepted,
    /// It does not start.
    Refused,
}

/// What the helper reports, in this order: `Started` or `Refused`, then `Exited` unless it was told
/// to end everything first, then `Ended` if it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command runs.
    Started {
        /// Its process id, which is also its group's.
        pid: i32,
        /// What the kernel holds it to.
        confinement: Confinement,
    },
    /// The command could not be started.
    Refused {
        /// One sentence.
        reason: String,
    },
    /// The command itself has ended.
    Exited {
        /// How.
        exit: Exit,
        /// Its descendants that are still alive.
        left: Vec<Descendant>,
    },
    /// Everything was ended.
    Ended {
        /// Pids that could not be ended, with luck none.
        survivors: Vec<i32>,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A process that a command left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descendant {
    /// Its process id.
    pub pid: i32,
    /// Name of its program, at most 15 bytes, as the kernel gives it.
    pub name: String,
}
