//! `codewhale fleet list`: the runs of this repository. Never takes one.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::json::instant;
use crate::output::Paint;
use crate::report::Report;
use crate::runs::{ReadRun, Runs, read_all};
use chrono::{DateTime, Local};
use fleet_core::time::Timestamp;
use fleet_core::view::RunView;
use fleet_tui::line::Tone;
use fleet_tui::table::{self, Column, Side};
use fleet_tui::words;
use serde::Serialize;

/// List the runs of this repository, the newest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet list\n  codewhale fleet list --json | jq -r '.runs[].run'"
)]
pub(crate) struct List {
    #[command(flatten)]
    json: JsonOption,
}

#[derive(Debug, Serialize)]
struct Listed {
    runs: Vec<Row>,
}

/// A run in a word.
#[derive(Debug, Serialize)]
struct Row {
    run: String,
    state: String,
    opened_at: Option<String>,
    tasks: usize,
    succeeded: usize,
    tokens: u64,
    /// The person's branch that its work was taken onto.
    landed_on: Option<String>,
    rejected: bool,
    #[serde(skip)]
    opened: Option<Timestamp>,
}

impl List {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When the runs cannot be looked for.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let all = Runs::of(app)?;
        let runs: Vec<Row> = read_all(all.all()?).into_iter().map(row).collect();
        if self.format() == Format::Json {
            app.output.object("list", &Listed { runs })?;
            return Ok(Exit::Done);
        }
        if runs.is_empty() {
            app.output
                .say_text(&all.whose().none().for_people(Paint::Plain));
        }
        for line in table::rows(columns(&runs), app.output.columns()) {
            app.output.line(line);
        }
        Ok(Exit::Done)
    }
}

/// A run in a word; a damaged one says so.
fn row(run: ReadRun) -> Row {
    let view = run.view();
    let state = match (&view, &run.damage) {
        (_, Some(_)) => "damaged",
        (None, None) => "empty",
        (Some(view), None) => view.state,
    };
    Row {
        state: state.to_owned(),
        opened_at: view.as_ref().map(|view| instant(view.opened_at)),
        opened: view.as_ref().map(|view| view.opened_at),
        tasks: view.as_ref().map_or(0, |view| view.tasks.len()),
        succeeded: view.as_ref().map_or(0, succeeded),
        landed_on: view
            .as_ref()
            .and_then(|view| Some(view.taken.as_ref()?.branch.to_string())),
        rejected: view.as_ref().is_some_and(|view| view.rejected.is_some()),
        tokens: view.map_or(0, |view| view.account.spent.total().0),
        run: run.folder.id,
    }
}

fn succeeded(view: &RunView) -> usize {
    let is_good = |state| matches!(state, "settled" | "verified" | "landed");
    view.tasks.iter().filter(|task| is_good(task.state)).count()
}

fn columns(runs: &[Row]) -> Vec<Column> {
    let column = |side, rank, cell: &dyn Fn(&Row) -> (Tone, String)| Column {
        cells: runs.iter().map(cell).collect(),
        side,
        most: 80,
        rank,
    };
    vec![
        column(Side::Left, 9, &|row| (Tone::Strong, row.run.clone())),
        column(Side::Left, 8, &|row| {
            (words::tone(&row.state), row.state.clone())
        }),
        column(Side::Left, 3, &|row| (Tone::Faint, local(row.opened))),
        column(Side::Right, 5, &|row| {
            (
                Tone::Plain,
                format!("{} of {} tasks", row.succeeded, row.tasks),
            )
        }),
        column(Side::Left, 4, &|row| match &row.landed_on {
            _ if row.rejected => (Tone::Warn, "rejected".to_owned()),
            Some(branch) => (Tone::Good, format!("on {branch}")),
            None => (Tone::Faint, String::new()),
        }),
        column(Side::Right, 2, &|row| {
            (Tone::Faint, format!("{} tokens", words::count(row.tokens)))
        }),
    ]
}

fn local(at: Option<Timestamp>) -> String {
    at.and_then(|at| DateTime::from_timestamp_millis(at.0))
        .map(|at| {
            at.with_timezone(&Local)
                .format("%Y-%m-%d %H:%M")
                .to_string()
        })
        .unwrap_or_default()
}
