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
use ledger::{Entry, FollowError, Follower, ReplayError, Seq};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Print what happened in a run
///
/// With --json, one record a line: type, seq, at, run, task, attempt and the record's own fields.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet logs\n  codewhale fleet logs -f\n  codewhale fleet logs --task tests\n  codewhale fleet logs --json | jq 'select(.type == \"tool.started\")'"
)]
pub(crate) struct Logs {
    /// Id of the run, or the beginning of it [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Go on as the run does, until it ends
    #[arg(short, long)]
    follow: bool,
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
        if self.follow {
            return self.follow(app, &run);
        }
        ledger::replay(&run.path, &FleetCodec, &mut |entry| {
            self.print(app, &run, &entry);
            Ok(())
        })
        .map_err(|error| read_report(&error))?;
        Ok(Exit::Done)
    }

    /// Prints until the end of the run: the last one, when it was resumed after an earlier end.
    fn follow(&self, app: &App, run: &RunFolder) -> Result<Exit, Report> {
        let mut recorded = Seq(0);
        let replayed = ledger::replay(&run.path, &FleetCodec, &mut |entry: Entry<Record>| {
            recorded = entry.seq;
            Ok(())
        });
        match replayed {
            // A manager that has just taken the run makes its ledger next.
            Err(ReplayError::Missing(_)) if ledger::holder(&run.path).is_some() => {}
            read => read.map(|_| ()).map_err(|error| read_report(&error))?,
        }
        let (follower, stop) = Follower::start(&run.path, FleetCodec, Seq(0))
            .map_err(|error| follow_report(&error))?;
        std::thread::spawn(move || {
            wait_for_reader_to_leave();
            stop.stop();
        });
        for entry in follower {
            let entry = entry.map_err(|error| follow_report(&error))?;
            self.print(app, run, &entry);
            app.output.flush();
            let is_end = |record| matches!(record, &Record::RunEnded(_));
            let ends = entry.records.iter().any(is_end);
            let is_last = entry.seq.next() >= recorded;
            if (ends && is_last) || app.output.is_closed() {
                break;
            }
        }
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

/// Returns once nobody can read standard output any more: a pipe whose other end was closed. A run in which
/// nothing happens would otherwise be followed for nobody. Of files and terminals nothing is ever told.
fn wait_for_reader_to_leave() {
    let stdout = std::io::stdout();
    loop {
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

fn follow_report(error: &FollowError) -> Report {
    match error {
        FollowError::Replay(error) => read_report(error),
        FollowError::Watch { .. } => {
            Report::storage(error.to_string()).hint("leave --follow out to print what there is")
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
