//! `codewhale fleet`: the table of its commands. Never does a command's work.

mod check;
mod clean;
mod diff;
mod init;
mod inspect;
mod land;
mod list;
mod logs;
mod message;
mod reject;
mod resume;
mod retry;
mod run;
mod schema;
mod status;
mod stop;

pub(crate) use status::whereabouts;

use crate::app::App;
use crate::arguments::Format;
use crate::exit::Exit;
use crate::report::Report;

/// Plan, run and look at fleets of agents
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  codewhale fleet init                  write a roster for this repository\n  codewhale fleet check roster.toml     see the plan; nothing is written\n  codewhale fleet run roster.toml       run it\n  codewhale fleet status                see how the newest run stands"
)]
pub(crate) enum Fleet {
    Init(init::Init),
    Check(check::Check),
    Schema(schema::Schema),
    Run(run::Run),
    Status(status::Status),
    List(list::List),
    Logs(logs::Logs),
    Inspect(inspect::Inspect),
    Diff(diff::Diff),
    Resume(resume::Resume),
    Stop(stop::Stop),
    Land(land::Land),
    Reject(reject::Reject),
    Retry(retry::Retry),
    Message(message::Message),
    Clean(clean::Clean),
}

impl Fleet {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Check(command) => command.format(),
            Self::Status(command) => command.format(),
            Self::List(command) => command.format(),
            Self::Logs(command) => command.format(),
            Self::Inspect(command) => command.format(),
            Self::Run(command) => command.format(),
            Self::Clean(command) => command.format(),
            Self::Land(command) => command.format(),
            Self::Reject(command) => command.format(),
            Self::Resume(command) => command.format(),
            Self::Diff(_)
            | Self::Stop(_)
            | Self::Retry(_)
            | Self::Message(_)
            | Self::Init(_)
            | Self::Schema(_) => Format::Text,
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
            Self::Run(command) => command.run(app),
            Self::Resume(command) => command.run(app),
            Self::Status(command) => command.run(app),
            Self::List(command) => command.run(app),
            Self::Logs(command) => command.run(app),
            Self::Inspect(command) => command.run(app),
            Self::Diff(command) => command.run(app),
            Self::Stop(command) => command.run(app),
            Self::Retry(command) => command.run(app),
            Self::Message(command) => command.run(app),
            Self::Clean(command) => command.run(app),
            Self::Land(command) => command.run(app),
            Self::Reject(command) => command.run(app),
        }
    }
}
