//! `codewhale config`: which configuration is in force and where it comes from. Never writes one,
//! never shows a key.

mod show;

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::places::MANAGED_CONFIG;
use crate::report::Report;
use serde::Serialize;
use std::path::Path;

/// See which configuration is in force
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  codewhale config path    where it is read from\n  codewhale config show    what is in force, and what said so"
)]
pub(crate) enum Config {
    Path(PathCommand),
    Show(show::Show),
}

/// Print where configuration is read from
///
/// The first line is the user's file, whether it is there or not. An administrator's file follows
/// when there is one; it can only tighten.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale config path\n  $EDITOR \"$(codewhale config path | head -n 1)\"\n  codewhale config path --json | jq -r '.files[].path'"
)]
pub(crate) struct PathCommand {
    #[command(flatten)]
    json: JsonOption,
}

#[derive(Debug, Serialize)]
struct Paths {
    files: Vec<File>,
}

#[derive(Debug, Serialize)]
struct File {
    path: String,
    because: String,
    exists: bool,
}

impl Config {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Path(command) => command.json.format(),
            Self::Show(command) => command.format(),
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When it could not be done.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        match self {
            Self::Path(command) => command.run(app),
            Self::Show(command) => command.run(app),
        }
    }
}

impl PathCommand {
    fn run(&self, app: &App) -> Result<Exit, Report> {
        let user = app.config_file()?;
        let mut files = vec![File {
            exists: user.path.exists(),
            path: user.path.display().to_string(),
            because: user.because.to_string(),
        }];
        if Path::new(MANAGED_CONFIG).exists() {
            files.push(File {
                path: MANAGED_CONFIG.to_owned(),
                because: "managed".to_owned(),
                exists: true,
            });
        }
        if self.json.format() == Format::Json {
            app.output.object("config-path", &Paths { files })?;
            return Ok(Exit::Done);
        }
        for file in files {
            app.output.line(file.path);
        }
        Ok(Exit::Done)
    }
}
