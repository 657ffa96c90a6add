//! `codewhale fleet schema`: what editors need to help with a roster. Never looks at one.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;

/// Print the JSON Schema of a roster, for editors
///
/// Save it beside the roster and name it in the roster's first line: #:schema ./roster.schema.json
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  codewhale fleet schema > roster.schema.json")]
pub(crate) struct Schema {}

impl Schema {
    /// Does what was asked.
    ///
    /// # Errors
    /// Never.
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        app.output.ready_made(&roster::schema());
        Ok(Exit::Done)
    }
}
