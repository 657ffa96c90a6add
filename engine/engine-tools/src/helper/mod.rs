//! The helper: this product's own binary run again to supervise one command. It has its own session,
//! collects every orphan of the command, waits for its order before it does anything, and ends all
//! descendants when its standard input closes, which is also what happens when its parent dies.
//!
//! It never prints for people, never reads a configuration, and is never confined itself: only the
//! thread that starts the command is, so that the command can neither signal nor outlive it.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod privileges;
mod supervise;
#[cfg_attr(not(target_os = "linux"), path = "tree_elsewhere.rs")]
mod tree;

pub(crate) mod probe;

use crate::shell::wire::{Order, Report};
use rustix::process::setsid;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

/// The hidden first argument that makes a binary the helper.
pub const FIRST_ARGUMENT: &str = "__supervise-command";

/// Runs as the helper when the arguments (the program's name included) ask for it; `None` otherwise.
/// A binary that is given as [`crate::shell::HelperProgram`] calls this before anything else.
pub fn run_if_asked<I: IntoIterator<Item = OsString>>(arguments: I) -> Option<ExitCode> {
    let asked = arguments.into_iter().nth(1)? == FIRST_ARGUMENT;
    asked.then(|| match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn serve() -> io::Result<()> {
    // Fails only for the leader of a group, who needs no session of its own.
    let _ = setsid();
    tree::adopt_orphans()?;
    let Some(order) = read_order()? else {
        return Ok(());
    };
    match supervise::start(&order) {
        Ok(command) => supervise::follow(command, order.grace_ms),
        Err(reason) => report(&Report::Refused { reason }),
    }
}

/// The order, or `None` when the parent went away before it gave one.
fn read_order() -> io::Result<Option<Order>> {
    let mut line = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

/// Sends one report.
fn report(report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
