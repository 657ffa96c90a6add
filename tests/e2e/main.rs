//! The binary from outside: real processes, real git, an environment of its own. Never calls into the
//! product's crates and never leaves the loopback address.

mod environment;
mod first_steps;
mod rosters;
mod streams;
mod terminal;
