//! The loop of one agent: against fakes (a scripted model that refuses invalid conversations, tools
//! that do as told, a journal in memory), over the wire to a model server on loopback, and with the
//! real toolbox. Never a process or a sleep.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod answering;
mod failing;
mod fakes;
mod many;
mod resuming;
mod stopping;
mod toolbox;
mod wire;
mod wires;
