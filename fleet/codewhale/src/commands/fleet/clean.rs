//! `codewhale fleet clean`: takes the work folders of runs away that nobody needs any more. Never takes
//! one that holds work which is nowhere else, and never touches a ledger or a landed branch.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::launch::Ground;
use crate::report::Report;
use crate::runs::{ReadRun, Runs, held};
use fleet_core::ids::RunId;
use fleet_core::record::Record;
use fleet_core::spec::Site;
use fleet_git::{Removal, Workspaces};
use fleet_runtime::codec::FleetCodec;
use fleet_tui::line::{Line, Tone};
use fleet_tui::words;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Take away the work folders of finished runs
///
/// A folder that holds work which is on no other branch stays, and is named with the reason. Ledgers
/// and the branches that work was landed on stay too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet clean            of all finished runs of this repository\n  codewhale fleet clean docs-26"
)]
pub(crate) struct Clean {
    /// Id of a run that is not at work, or the beginning of it [default: all finished runs]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    json: JsonOption,
}

/// What became of the folders.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    removed: Vec<String>,
    kept: Vec<Kept>,
}

/// A folder that stays.
#[derive(Debug, Serialize)]
struct Kept {
    path: String,
    reason: String,
}

impl Clean {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is no such run, or it is at work.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let runs = Runs::of(app)?;
        let chosen = match &self.run {
            Some(given) => vec![runs.find(Some(given))?],
            None => runs.all()?,
        };
        let mut outcome = Outcome::default();
        for folder in chosen {
            let run = ReadRun::of(folder);
            match (&self.run, &run.manager) {
                (Some(_), Some(holder)) => return Err(held(&run.folder, holder)),
                (None, _) if run.manager.is_some() || run.state.is_unfinished() => {}
                _ => clean(app, &run, &mut outcome)?,
            }
        }
        match self.format() {
            Format::Json => app.output.object("clean", &outcome)?,
            Format::Text => show(app, &outcome),
        }
        Ok(Exit::Done)
    }
}

fn clean(app: &App, run: &ReadRun, outcome: &mut Outcome) -> Result<(), Report> {
    let Some(opened) = run.state.run() else {
        return Ok(());
    };
    if opened.plan.workspace.site == Site::Here {
        // Its folder is the person's own.
        return Ok(());
    }
    let mut around = app.around.clone();
    around.folder = PathBuf::from(&opened.repository);
    let ground = Ground::of_folder(&around)?;
    let Some(repo) = ground.repo() else {
        return Ok(());
    };
    let id = RunId(run.folder.id.clone());
    let workspaces = Workspaces::new(repo.clone(), ground.worktrees(), &id, &[]);
    for path in folders_of(&run.folder.path) {
        match remove(&workspaces, &path) {
            Ok(()) => outcome.removed.push(path.display().to_string()),
            Err(reason) => outcome.kept.push(Kept {
                path: path.display().to_string(),
                reason,
            }),
        }
    }
    Ok(())
}

/// The work folders that a run was given and that are still there.
fn folders_of(run: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    // A damaged ledger names fewer folders: those it does not name stay.
    let _ = ledger::replay(run, &FleetCodec, &mut |entry| {
        for record in &entry.records {
            if let Record::WorkspaceReady(ready) = record {
                folders.insert(PathBuf::from(&ready.path));
            }
        }
        Ok(())
    });
    folders.retain(|folder| folder.exists());
    folders
}

fn remove(workspaces: &Workspaces, path: &Path) -> Result<(), String> {
    let removed = workspaces
        .reopen(path)
        .and_then(|workspace| workspaces.remove(&workspace));
    match removed {
        Ok(Removal::Removed { .. }) => Ok(()),
        Ok(Removal::Kept { reason, .. }) => Err(reason.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn show(app: &App, outcome: &Outcome) {
    let removed = u64::try_from(outcome.removed.len()).unwrap_or(u64::MAX);
    app.output
        .line(format!("{} removed", words::counted(removed, "folder")));
    for kept in &outcome.kept {
        let line = Line::new()
            .and(Tone::Warn, "kept  ")
            .and(Tone::Plain, &kept.path)
            .and(Tone::Faint, &format!("  {}", kept.reason));
        app.output.line(line);
    }
}
