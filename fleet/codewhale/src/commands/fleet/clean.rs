//! `codewhale fleet clean`: takes the work folders of runs away that nobody needs any more, and on request
//! their snapshots and branches. Never takes a folder that holds work which is nowhere else, never a branch
//! without being told to, and never touches a ledger or an integration branch.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::launch::Ground;
use crate::report::Report;
use crate::runs::{ReadRun, Runs, held};
use fleet_core::ids::{BranchName, RunId};
use fleet_core::record::Record;
use fleet_core::spec::Site;
use fleet_git::{Leaving, Removal, Repo, RepoError, Workspaces, Worth};
use fleet_runtime::codec::FleetCodec;
use fleet_tui::line::{Line, Tone};
use fleet_tui::words;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Take away the work folders of finished runs
///
/// A folder that holds work which is on no other branch stays, and is named with the reason. Files that
/// git ignores go with their folder. Ledgers and the branches that work was landed on stay in any case.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet clean                 of all finished runs of this repository\n  codewhale fleet clean docs-26\n  codewhale fleet clean --refs landed   also snapshots and branches that nobody needs"
)]
pub(crate) struct Clean {
    /// Id of a run that is not at work, or the beginning of it [default: all finished runs]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Also take away snapshots and branches of attempts; what is lost is named
    #[arg(long, value_name = "WHICH", value_enum)]
    refs: Option<Refs>,
    #[command(flatten)]
    json: JsonOption,
}

/// Which refs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Refs {
    /// Those whose work is on a branch that stays
    Landed,
    /// Every one that no checkout stands on
    All,
}

/// What became of the folders and refs.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    removed: Vec<String>,
    kept: Vec<Kept>,
    removed_refs: Vec<String>,
    /// Refs that are gone and whose work nothing else holds. Git still finds it by the commit for a while.
    lost_refs: Vec<Lost>,
    kept_refs: Vec<Kept>,
}

/// Work that no ref leads to any more.
#[derive(Debug, Serialize)]
struct Lost {
    name: String,
    commit: String,
}

/// A folder or ref that stays.
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
                _ => self.clean(app, &run, &mut outcome)?,
            }
        }
        match self.format() {
            Format::Json => app.output.object("clean", &outcome)?,
            Format::Text => show(app, &outcome),
        }
        Ok(Exit::Done)
    }

    fn clean(&self, app: &App, run: &ReadRun, outcome: &mut Outcome) -> Result<(), Report> {
        let Some(opened) = run.state.run() else {
            return Ok(());
        };
        if opened.plan.workspace.site == Site::Here {
            // Its folder is the person's own.
            return Ok(());
        }
        // The run was found in this repository, wherever that was when the run began.
        let ground = Ground::of_folder(&app.around)?;
        let Some(repo) = ground.repo() else {
            return Ok(());
        };
        let id = RunId(run.folder.id.clone());
        let workspaces = Workspaces::new(repo.clone(), ground.worktrees(), &id, &[]);
        let given = given_to(&run.folder.path);
        for path in given.folders.iter().filter(|folder| folder.exists()) {
            match remove(&workspaces, path) {
                Ok(()) => outcome.removed.push(path.display().to_string()),
                Err(reason) => outcome.kept.push(Kept {
                    path: path.display().to_string(),
                    reason,
                }),
            }
        }
        if let Err(error) = workspaces.discard_checkouts() {
            tracing::warn!(%error, run = id.as_str(), "checkouts stay");
        }
        match self.refs {
            Some(which) => drop_refs(repo, &id, &given.branches, which, outcome),
            None => Ok(()),
        }
    }
}

/// Takes the refs of a run away, or says why one stays.
fn drop_refs(
    repo: &Repo,
    run: &RunId,
    branches: &[BranchName],
    which: Refs,
    outcome: &mut Outcome,
) -> Result<(), Report> {
    let failed = |error: &RepoError| Report::storage("The refs cannot be changed").because(error);
    let found = repo.leavings(run, branches).map_err(|e| failed(&e))?;
    let (going, staying): (Vec<&Leaving>, Vec<&Leaving>) =
        found.iter().partition(|left| match left.worth {
            Worth::Nothing => true,
            Worth::Work => which == Refs::All,
            Worth::CheckedOut(_) => false,
        });
    repo.drop_leavings(&going).map_err(|e| failed(&e))?;
    for left in going {
        match left.worth {
            Worth::Work => outcome.lost_refs.push(Lost {
                name: left.name.clone(),
                commit: left.tip.to_string(),
            }),
            _ => outcome.removed_refs.push(left.name.clone()),
        }
    }
    outcome.kept_refs.extend(staying.iter().map(|left| Kept {
        path: left.name.clone(),
        reason: left.worth.to_string(),
    }));
    Ok(())
}

/// The work folders and branches that a run was given.
#[derive(Default)]
struct Given {
    folders: BTreeSet<PathBuf>,
    branches: Vec<BranchName>,
}

fn given_to(run: &Path) -> Given {
    let mut given = Given::default();
    // A damaged ledger names less: what it does not name stays.
    let _ = ledger::replay(run, &FleetCodec, &mut |entry| {
        for record in &entry.records {
            if let Record::WorkspaceReady(ready) = record {
                given.folders.insert(PathBuf::from(&ready.path));
                given.branches.extend(ready.branch.clone());
            }
        }
        Ok(())
    });
    given.branches.sort();
    given.branches.dedup();
    given
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
    let refs = outcome.removed_refs.len() + outcome.lost_refs.len();
    if refs > 0 {
        let refs = u64::try_from(refs).unwrap_or(u64::MAX);
        app.output
            .line(format!("{} removed", words::counted(refs, "ref")));
    }
    for lost in &outcome.lost_refs {
        let line = Line::new()
            .and(Tone::Bad, "lost  ")
            .and(Tone::Plain, &lost.name)
            .and(Tone::Faint, &format!("  git branch NAME {}", lost.commit));
        app.output.line(line);
    }
    for kept in outcome.kept.iter().chain(&outcome.kept_refs) {
        let line = Line::new()
            .and(Tone::Warn, "kept  ")
            .and(Tone::Plain, &kept.path)
            .and(Tone::Faint, &format!("  {}", kept.reason));
        app.output.line(line);
    }
}
