//! The table of commands: one file for each. Never does a command's work.

mod completions;
mod config;
mod doctor;
mod exec;
mod fleet;
mod ledger;
mod man;

pub(crate) use fleet::whereabouts;

use crate::app::App;
use crate::arguments::Format;
use crate::exit::Exit;
use crate::report::Report;

/// What can be asked for.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Fleet(fleet::Fleet),
    Exec(exec::Exec),
    #[command(subcommand)]
    Ledger(ledger::Ledger),
    Doctor(doctor::Doctor),
    #[command(subcommand)]
    Config(config::Config),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Fleet(command) => command.format(),
            Self::Exec(command) => command.format(),
            Self::Ledger(command) => command.format(),
            Self::Doctor(command) => command.format(),
            Self::Config(command) => command.format(),
            Self::Completions(_) | Self::Man(_) => Format::Text,
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When it could not be done.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        match self {
            Self::Fleet(command) => command.run(app),
            Self::Exec(command) => command.run(app),
            Self::Ledger(command) => command.run(app),
            Self::Doctor(command) => command.run(app),
            Self::Config(command) => command.run(app),
            Self::Completions(command) => command.run(app),
            Self::Man(command) => command.run(app),
        }
    }
}
