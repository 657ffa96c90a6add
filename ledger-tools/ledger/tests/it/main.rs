//! The ledger seen from outside, on the real disk. Never reaches behind the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;
mod damage;
mod follow;
mod lifecycle;
mod lock;
mod processes;
mod threads;
mod versions;
