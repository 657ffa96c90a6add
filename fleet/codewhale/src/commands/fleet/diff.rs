//! `codewhale fleet diff`: what a task changed, as a patch. Never touches a checkout.

use super::inspect;
use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use crate::repository;
use crate::runs::{ReadRun, Runs};
use fleet_core::ids::CommitId;
use fleet_core::state::Task;
use fleet_git::{Repo, RepoError};
use std::path::Path;

/// Print what a task changed, as a patch
///
/// While it is at work, what its last snapshot holds. Piped, the patch is exact: `git apply` takes it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet diff tests\n  codewhale fleet diff tests | git apply\n  codewhale fleet diff tests --run docs-26"
)]
pub(crate) struct Diff {
    /// The task
    #[arg(value_name = "TASK")]
    task: String,
    /// Id of the run, or the beginning of it [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

impl Diff {
    /// Does what was asked.
    ///
    /// # Errors
    /// When there is no such run or task, or git cannot read it.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let run = ReadRun::of(Runs::of(app)?.find(self.run.as_deref())?);
        let task = inspect::find(&run, &self.task)?;
        let Some((from, to)) = ends(task) else {
            let id = &self.task;
            app.output.say(format!(
                "task `{id}` has changed nothing; see what it did: codewhale fleet inspect {id}"
            ));
            return run.end();
        };
        let repo = repository_of(app, &run)?;
        let diff = repo
            .diff(from, to, usize::MAX)
            .map_err(|error| unreadable(&error))?;
        app.output.patch(&diff.patch);
        run.end()
    }
}

/// The commits between which its work lies.
fn ends(task: &Task) -> Option<(&CommitId, &CommitId)> {
    let attempt = task.attempt.as_ref()?;
    let work = attempt.commit.as_ref().or(attempt.snapshot.as_ref())?;
    let base = attempt.base.as_ref()?;
    (base != &work.0).then_some((base, &work.0))
}

/// The repository that the run works on: the one of the current folder, but for demonstrations.
fn repository_of(app: &App, run: &ReadRun) -> Result<Repo, Report> {
    match run.state.run() {
        Some(opened) => Ok(repository::find_at(
            &app.around,
            Path::new(&opened.repository),
        )?),
        None => Ok(repository::find(&app.around)?),
    }
}

fn unreadable(error: &RepoError) -> Report {
    Report::storage("The change cannot be read").because(error)
}
