//! The loop of one agent against fakes: a scripted model that refuses invalid conversations, tools
//! that do as told, a journal in memory. Never a network, a process or real time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod answering;
mod failing;
mod fakes;
mod many;
mod resuming;
mod stopping;
