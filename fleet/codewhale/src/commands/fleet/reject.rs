//! `codewhale fleet reject`: records that a person does not want a run's work, so that it is not offered
//! any more. Never takes anything away: the work stays on its branch.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::launch;
use crate::report::Report;
use crate::runs::{self, Runs};
use fleet_core::record::{Record, RunRejected};
use fleet_core::state::{FleetState, Run};
use fleet_runtime::clock::SystemClock;
use fleet_runtime::unmanaged;
use serde::Serialize;

/// Say no to a run's work
///
/// It is not offered any more, and `fleet land` refuses it. Nothing is deleted: the work stays on the
/// branch `codewhale/<run>/integration`, and `git merge` still takes it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet reject docs-26\n  codewhale fleet reject docs-26 --reason \"the old API stays\"\n\nExit codes:\n  0 it is rejected   5 its work is on a branch of yours, or the run is not finished\n  8 the run is held by another process"
)]
pub(crate) struct Reject {
    /// Id of the run, or the beginning of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Why, for whoever reads the ledger
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    json: JsonOption,
}

/// What became of it.
#[derive(Debug, Serialize)]
struct Outcome<'a> {
    run: &'a str,
    rejected: bool,
    integration: Option<&'a str>,
}

impl Reject {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When the run is not finished, its work was taken, or another process holds it.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let folder = Runs::of(app)?.find(Some(&self.run))?;
        let store = launch::take(&folder.path)?;
        let state = store.state();
        let Some(run) = state.run().cloned() else {
            return Err(runs::not_opened(&folder.id));
        };
        let failed = || Report::storage("It could not be recorded");
        let refused = may_reject(state, &run);
        if refused.is_ok() && run.rejected.is_none() {
            let reason = self.reason.clone();
            unmanaged::add(store, Record::from(RunRejected { reason }), &SystemClock)
                .map_err(|error| failed().because(&error))?;
        } else {
            store.let_go().map_err(|error| failed().because(&error))?;
        }
        refused?;
        let branch = run.integration.as_ref().map(|branch| branch.as_str());
        match self.format() {
            Format::Json => app.output.object(
                "reject",
                &Outcome {
                    run: run.id.as_str(),
                    rejected: true,
                    integration: branch,
                },
            )?,
            Format::Text => {
                app.output.line(format!("{} is rejected", run.id));
                if let Some(branch) = branch.filter(|_| run.head != run.base) {
                    app.output.say(format!("its work stays on {branch}"));
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn may_reject(state: &FleetState, run: &Run) -> Result<(), Report> {
    let id = &run.id;
    if state.is_unfinished() {
        return Err(
            Report::new(Exit::Person, format!("The run `{id}` is not finished"))
                .hint(format!("go on with it first: codewhale fleet resume {id}")),
        );
    }
    match &run.taken {
        Some(taken) if run.head.as_ref() == Some(&taken.head) => Err(Report::new(
            Exit::Person,
            format!("The work of `{id}` is on `{}` already", taken.branch),
        )
        .hint(format!(
            "`git revert` takes it back: it came with {:.12}",
            taken.commit
        ))),
        _ => Ok(()),
    }
}
