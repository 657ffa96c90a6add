//! `codewhale fleet logs`: what happened in a run, record by record. Reads beside a living manager;
//! never takes the run.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::launch::read_report;
use crate::record_line;
use crate::report::Report;
use crate::runs::{RunFolder, Runs};
use chrono::{DateTime, Local, Utc};
use engine_core::ids::TaskId;
use fleet_core::record::Record;
use fleet_runtime::codec::FleetCodec;
use fleet_runtime::store::stamp_of;
use fleet_tui::line::{Line, Tone};
use ledger::Entry;

/// Print what happened in a run
///
/// With --json, one record a line: type, seq, at, run, task, attempt and the record's own fields.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet logs\n  codewhale fleet logs --task tests\n  codewhale fleet logs --json | jq 'select(.type == \"tool.started\")'"
)]
pub(crate) struct Logs {
    /// Id of the run, or the beginning of it [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only what concerns this task
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,
    #[command(flatten)]
    json: JsonOption,
}

impl Logs {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is no such run, or its ledger is damaged; what stands before is printed.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let run = Runs::of(app)?.find(self.run.as_deref())?;
        ledger::replay(&run.path, &FleetCodec, &mut |entry| {
            self.print(app, &run, &entry);
            Ok(())
        })
        .map_err(|error| read_report(&error))?;
        Ok(Exit::Done)
    }

    fn print(&self, app: &App, run: &RunFolder, entry: &Entry<Record>) {
        let stamp = stamp_of(entry.seq.0, u64::from(entry.epoch.0), entry.at);
        let meant = |record: &&Record| self.task.is_none() || record.task() == self.task.as_ref();
        for record in entry.records.iter().filter(meant) {
            match self.format() {
                Format::Json => {
                    let line = record_line::json(&run.id, stamp, record);
                    app.output.ready_made(&line);
                }
                Format::Text => app
                    .output
                    .line(timed(entry.at, &record_line::sentence(record))),
            }
        }
        if self.format() == Format::Json && self.task.is_none() {
            for record in &entry.ignored {
                let line = record_line::placed(&run.id, stamp, record);
                app.output.ready_made(&line);
            }
        }
    }
}

/// A line with the time of day of the person in front.
fn timed(at: DateTime<Utc>, line: &Line) -> Line {
    let time = at.with_timezone(&Local).format("%H:%M:%S  ").to_string();
    line.pieces()
        .iter()
        .fold(Line::new().and(Tone::Faint, &time), |line, piece| {
            line.and(piece.tone(), piece.text())
        })
}
