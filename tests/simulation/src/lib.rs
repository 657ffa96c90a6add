//! The manager's pure core under seeds, faults and kills. Everything here follows from one seed; no
//! clock, no disk, no thread, no real agent.
//!
//! [`play`] builds a random plan from a seed, runs it with effects that complete in random order and
//! a process that dies between appends, resumes it, and checks two kinds of property in pairs: that
//! nothing bad happens (safety) and that the run comes to its end (liveness).

mod agent;
mod disk;
mod effects;
mod manager;
mod plan;
mod properties;
mod random;
mod world;

pub use manager::{Faults, Report, Violation, play};
pub use random::Random;
