//! The pure cores of the manager and of its agents under seeds, faults and kills. Everything here
//! follows from one seed; no clock, no disk, no thread, no model.
//!
//! [`play`] builds a random plan from a seed, runs it with effects that complete in random order and
//! a process that dies between appends, resumes it, and checks two kinds of property in pairs: that
//! nothing bad happens (safety) and that the run comes to its end, the same as without faults
//! (liveness). [`play_with`] plants a [`Bug`] first: a property that notices none of them is worth nothing.

mod agent;
mod agent_world;
mod bugs;
mod disk;
mod effects;
mod faults;
mod manager;
mod model;
mod plan;
mod play;
mod properties;
mod random;
mod wishes;
mod world;

pub use faults::{Bug, Faults};
pub use play::{Report, Violation, play, play_with};
pub use random::Random;
