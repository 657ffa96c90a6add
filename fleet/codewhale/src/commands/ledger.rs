//! `codewhale ledger`: the file itself, looked at from outside. Never takes a run, never changes a byte.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::output::Output;
use crate::report::Report;
use crate::runs::Runs;
use ledger_inspect::{Filter, InspectError, Style};
use std::io::{self, Write};
use std::path::PathBuf;

/// Look at the ledger of a run, the file itself
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  codewhale ledger show --task tests    what happened to one task\n  codewhale ledger verify               is every line as it was written?"
)]
pub(crate) enum Ledger {
    Show(Show),
    Verify(Verify),
}

/// Which ledger.
#[derive(Debug, clap::Args)]
struct Which {
    /// Id of the run or the beginning of it, or a path to a run's folder or file [default: the newest]
    #[arg(value_name = "RUN|PATH")]
    which: Option<String>,
}

/// Print the records of a ledger, past damage too
///
/// Damaged places are marked where they are. With --json, one record a line, as it is in the file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale ledger show\n  codewhale ledger show --task tests --type tool\n  codewhale ledger show --json .git/codewhale/runs/my-run-261130-abcd | jq .type"
)]
pub(crate) struct Show {
    #[command(flatten)]
    which: Which,
    /// Only records that speak of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only records of this type; `tool` stands for all `tool.…`; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
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
        }
    }
}

impl Which {
    fn path(&self, app: &App) -> Result<PathBuf, Report> {
        if let Some(given) = &self.which {
            let path = app.around.folder.join(given);
            if given.contains('/') || path.exists() {
                return Ok(path);
            }
        }
        Ok(Runs::of(app)?.find(self.which.as_deref())?.path)
    }
}

impl Show {
    fn run(&self, app: &App) -> Result<Exit, Report> {
        let path = self.which.path(app)?;
        let filter = Filter {
            task: self.task.clone(),
            types: self.types.clone(),
        };
        let style = match self.json.format() {
            Format::Text => Style::Text,
            Format::Json => Style::Json,
        };
        let mut lines = Lines::new(app.output, self.json.format());
        match ledger_inspect::show(&path, &filter, style, &mut lines) {
            Ok(shown) => Ok(exit_of(shown.report.is_sound())),
            Err(InspectError::Write(_)) if app.output.is_closed() => Ok(Exit::Done),
            Err(error) => Err(report(&error)),
        }
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
        match written {
            Err(error) if !app.output.is_closed() => Err(report(&InspectError::Write(error))),
            _ => Ok(exit_of(found.is_sound())),
        }
    }
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

/// Hands whole lines on to the output. Stops its writer once the reader of data has gone away.
struct Lines<'a> {
    output: &'a Output,
    format: Format,
    begun: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn new(output: &'a Output, format: Format) -> Self {
        Self {
            output,
            format,
            begun: Vec::new(),
        }
    }

    fn hand_on(&mut self) {
        let text = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun.clear();
        match self.format {
            Format::Text => self.output.text(&text),
            Format::Json => self.output.ready_made(&text),
        }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.output.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun
                .extend_from_slice(piece.strip_suffix(b"\n").unwrap_or(piece));
            if piece.ends_with(b"\n") {
                self.hand_on();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            self.hand_on();
        }
    }
}
