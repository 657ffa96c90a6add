//! The binary from outside: real processes, real git, an environment of its own. Never calls into the
//! product's crates and never leaves the loopback address.

mod bad_input;
mod budget;
mod cleaning;
mod command_line;
mod conflicts;
mod crash;
mod crew;
mod damage;
mod edges;
mod environment;
mod escaping;
mod exec;
mod first_steps;
mod fleets;
mod full_disk;
mod holding;
mod ledger_command;
mod messages;
mod outgrowing;
mod reading;
mod repositories;
mod rosters;
mod started;
mod stopping;
mod story;
mod streams;
mod surroundings;
mod taking;
mod terminal;
mod tokens;
mod tools;
mod wait;
mod wishes;
