//! The smallest program that can serve as the helper of a spawner. Does nothing when not asked.

use std::process::ExitCode;

fn main() -> ExitCode {
    engine_tools::helper::run_if_asked(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
