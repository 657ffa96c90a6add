//! `codewhale fleet`: the table of its commands. Never does a command's work.

mod check;
mod init;
mod schema;

use crate::app::App;
use crate::arguments::Format;
use crate::exit::Exit;
use crate::report::Report;

/// Plan, run and look at fleets of agents
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Fleet {
    Init(init::Init),
    Check(check::Check),
    Schema(schema::Schema),
}

impl Fleet {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Check(command) => command.format(),
            Self::Init(_) | Self::Schema(_) => Format::Text,
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When it could not be done.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        match self {
            Self::Init(command) => command.run(app),
            Self::Check(command) => command.run(app),
            Self::Schema(command) => command.run(app),
        }
    }
}
