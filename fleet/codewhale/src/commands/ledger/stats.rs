//! `codewhale ledger stats`: a ledger in numbers. Never judges them.

use super::{Records, Which, deliver, report};
use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::report::Report;
use ledger_inspect::InspectError;
use std::path::PathBuf;

/// Count what is in a ledger: lines, records, batches, time, and tokens by task, role and model
///
/// Of a damaged ledger it counts what is whole, and lists what is not; the exit code is 7 then. A choice of
/// records narrows records and tokens, not lines and batches.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale ledger stats\n  codewhale ledger stats --task tests\n  codewhale ledger stats --json --output stats.json my-run\n  codewhale ledger stats --json | jq '.tokens[] | {task, input, output}'"
)]
pub(crate) struct Stats {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    records: Records,
    /// Write to this file, which must not exist, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    json: JsonOption,
}

impl Stats {
    /// Whom it prints for.
    pub(super) fn format(&self) -> Format {
        self.json.format()
    }

    /// Counts and prints.
    ///
    /// # Errors
    /// When there is no such ledger, it is of a newer format, or something cannot be read or written.
    pub(super) fn run(&self, app: &App) -> Result<Exit, Report> {
        let path = self.which.path(app)?;
        let stats = ledger_inspect::stats(&path, &self.records.filter());
        let stats = stats.map_err(|error| report(&error))?;
        deliver(app, self.output.as_deref(), self.format(), |out| {
            let written = match self.format() {
                Format::Text => stats.write_text(out),
                Format::Json => stats.write_json(out),
            };
            written
                .map(|()| stats.is_sound())
                .map_err(InspectError::Write)
        })
    }
}
