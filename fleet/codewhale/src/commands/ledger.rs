//! `codewhale ledger`: the file itself, looked at from outside. Never takes a run, never changes a byte.

mod export;
mod lines;
mod stats;

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::report::Report;
use crate::runs::Runs;
use export::Export;
use ledger_inspect::{Filter, InspectError, Style};
use lines::{Lines, NewFile};
use stats::Stats;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Look at the ledger of a run, the file itself
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  codewhale ledger show --task tests    what happened to one task\n  codewhale ledger verify               is every line as it was written?"
)]
pub(crate) enum Ledger {
    Show(Show),
    Verify(Verify),
    Stats(Stats),
    Export(Export),
}

/// Which ledger.
#[derive(Debug, clap::Args)]
struct Which {
    /// Id of the run or the beginning of it, or a path to a run's folder or file [default: the newest]
    #[arg(value_name = "RUN|PATH")]
    which: Option<String>,
}

/// Which of its records.
#[derive(Debug, clap::Args)]
struct Records {
    /// Only records that speak of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only records of the agent of this attempt
    #[arg(long, value_name = "TASK/ATTEMPT", conflicts_with = "task", value_parser = agent)]
    agent: Option<(String, u64)>,
    /// Only records of this type; `tool` stands for all `tool.…`; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
}

/// `tests/2`: the agent of the second attempt at the task `tests`.
fn agent(text: &str) -> Result<(String, u64), String> {
    let parted = text.split_once('/');
    let named = parted.and_then(|(task, attempt)| Some((task.to_owned(), attempt.parse().ok()?)));
    named.ok_or_else(|| "a task and the number of an attempt, as in `tests/2`".to_owned())
}

impl Records {
    fn filter(&self) -> Filter {
        let (task, attempt) = match &self.agent {
            Some((task, attempt)) => (Some(task.clone()), Some(*attempt)),
            None => (self.task.clone(), None),
        };
        Filter {
            task,
            attempt,
            types: self.types.clone(),
        }
    }
}

/// Print the records of a ledger, past damage too
///
/// Damaged places are marked where they are. With --json, one record a line, as it is in the file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale ledger show\n  codewhale ledger show --task tests --type tool\n  codewhale ledger show --agent tests/2\n  codewhale ledger show --json .git/codewhale/runs/my-run-261130-abcd | jq .type"
)]
pub(crate) struct Show {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    json: JsonOption,
}

/// Check every line of a ledger against its chain of sums, and every blob that it refers to
///
/// Lists every damaged place with its line and byte, and every blob that is missing or changed. Exit code 7 when there is one. An end that was
/// torn off before it counted is no damage.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale ledger verify\n  codewhale ledger verify --json my-run"
)]
pub(crate) struct Verify {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    json: JsonOption,
}

impl Ledger {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Show(command) => command.json.format(),
            Self::Verify(command) => command.json.format(),
            Self::Stats(command) => command.format(),
            // What it writes is for programs, whichever way.
            Self::Export(_) => Format::Text,
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is no such ledger, it is of a newer format, or it cannot be read.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        match self {
            Self::Show(command) => command.run(app),
            Self::Verify(command) => command.run(app),
            Self::Stats(command) => command.run(app),
            Self::Export(command) => command.run(app),
        }
    }
}

impl Which {
    fn path(&self, app: &App) -> Result<PathBuf, Report> {
        if let Some(given) = &self.which {
            let path = app.around.folder.join(given);
            if given.contains('/') || (!given.is_empty() && path.exists()) {
                return Ok(path);
            }
        }
        Ok(Runs::of(app)?.find(self.which.as_deref())?.path)
    }
}

impl Show {
    fn run(&self, app: &App) -> Result<Exit, Report> {
        let path = self.which.path(app)?;
        let filter = self.records.filter();
        let style = match self.json.format() {
            Format::Text => Style::Text,
            Format::Json => Style::Json,
        };
        let mut lines = Lines::new(app.output, self.json.format());
        let shown = ledger_inspect::show(&path, &filter, style, &mut lines);
        ended(app, shown.map(|shown| shown.report.is_sound()))
    }
}

impl Verify {
    fn run(&self, app: &App) -> Result<Exit, Report> {
        let path = self.which.path(app)?;
        let found = ledger_inspect::verify(&path).map_err(|error| report(&error))?;
        let mut lines = Lines::new(app.output, self.json.format());
        let written = match self.json.format() {
            Format::Text => found.write_text(&mut lines),
            Format::Json => found.write_json(&mut lines),
        };
        let sound = found.is_sound();
        ended(app, written.map(|()| sound).map_err(InspectError::Write))
    }
}

/// How a command ends that wrote what it found; `Ok` says whether the ledger is sound. A reader that has gone
/// away has seen enough.
fn ended(app: &App, written: Result<bool, InspectError>) -> Result<Exit, Report> {
    match written {
        Ok(is_sound) => Ok(exit_of(is_sound)),
        Err(InspectError::Write(_)) if app.output.is_closed() => Ok(Exit::Done),
        Err(error) => Err(report(&error)),
    }
}

/// Where what is found goes: to the output, or into a new file.
fn deliver(
    app: &App,
    output: Option<&Path>,
    format: Format,
    write: impl FnOnce(&mut dyn Write) -> Result<bool, InspectError>,
) -> Result<Exit, Report> {
    let Some(output) = output else {
        let mut lines = Lines::new(app.output, format);
        return ended(app, write(&mut lines));
    };
    let mut file = NewFile::create(&app.around.folder.join(output))?;
    let exit = ended(app, write(&mut file))?;
    file.finish()?;
    Ok(exit)
}

fn exit_of(is_sound: bool) -> Exit {
    if is_sound { Exit::Done } else { Exit::Ledger }
}

fn report(error: &InspectError) -> Report {
    let exit = match error {
        InspectError::Missing(_) => Exit::Usage,
        InspectError::Newer { .. } => Exit::Ledger,
        InspectError::Read { .. } | InspectError::Write(_) => Exit::Storage,
    };
    let report = Report::new(exit, error.to_string());
    match error {
        InspectError::Missing(_) => {
            report.hint("`codewhale fleet list` lists the runs of this repository")
        }
        InspectError::Newer { .. } => report.hint("use the version that wrote it, or a newer one"),
        _ => report,
    }
}
