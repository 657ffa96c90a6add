//! `codewhale ledger export`: the records of a ledger for other programs. Never changes what a record says.

use super::{Records, Which, deliver};
use crate::app::App;
use crate::arguments::Format;
use crate::exit::Exit;
use crate::report::Report;
use ledger_inspect::Style;
use std::path::PathBuf;

/// Write the records of a ledger for other programs, past damage too
///
/// JSON lines: each record as it is in the file, with its place before it. CSV: one row a record with its
/// place, its task and attempt, and last the record itself as JSON. A damaged place is a row or line of the
/// type `ledger.damaged`; the exit code is 7 then.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale ledger export --output run.jsonl\n  codewhale ledger export --csv --type model > requests.csv\n  codewhale ledger export --csv --agent tests/2 my-run"
)]
pub(crate) struct Export {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    records: Records,
    /// Comma-separated values instead of JSON lines
    #[arg(long)]
    csv: bool,
    /// JSON lines, as without any option
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Write to this file, which must not exist, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    /// Writes what was asked for.
    ///
    /// # Errors
    /// When there is no such ledger, it is of a newer format, or something cannot be read or written.
    pub(super) fn run(&self, app: &App) -> Result<Exit, Report> {
        let path = self.which.path(app)?;
        let filter = self.records.filter();
        deliver(app, self.output.as_deref(), Format::Json, |out| {
            let shown = if self.csv {
                ledger_inspect::export_csv(&path, &filter, out)?
            } else {
                ledger_inspect::show(&path, &filter, Style::Json, out)?
            };
            Ok(shown.report.is_sound())
        })
    }
}
