//! `codewhale fleet resume`: takes an unfinished run over and goes on from its last durable step.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::attend::{self, Show};
use crate::exit::Exit;
use crate::launch::{self, Ground, Models};
use crate::report::Report;
use crate::repository;
use crate::runs::{self, ReadRun, Runs};
use crate::wishes;
use fleet_core::decide::Wish;
use fleet_core::spec::{RunSpec, Site};
use std::path::Path;

/// Go on with a run that was stopped or cut off
///
/// Nothing that was recorded is paid for or done twice. The run keeps the roster it started with.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet resume            the only unfinished run of this repository\n  codewhale fleet resume docs-26\n  codewhale fleet resume --retry-failed"
)]
pub(crate) struct Resume {
    /// Id of the run, or the beginning of it [default: the only unfinished one]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Try everything again that failed, was in conflict, or ran into a cap
    ///
    /// Also of a run that has ended: the newest one when none is named.
    #[arg(long)]
    retry_failed: bool,
    #[command(flatten)]
    json: JsonOption,
}

impl Resume {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is nothing to go on with, another process holds it, its ledger is damaged, or the
    /// manager could not go on.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let runs = Runs::of(app)?;
        let found = if self.retry_failed {
            let run = runs.find(self.run.as_deref())?;
            if let Some(holder) = ledger::holder(&run.path) {
                return Err(runs::held(&run, &holder));
            }
            run
        } else {
            runs.find_unfinished(self.run.as_deref())?
        };
        let run = ReadRun::of(found.clone());
        let folder = run.folder.path.clone();
        let (plan, place) = self.unfinished(run)?;
        let models = Models::of(&plan, &app.around)?;
        let runtime = attend::runtime()?;
        let ground = match plan.workspace.site {
            // Its repository is the one that holds it, wherever that was moved to.
            Site::Worktrees => Ground::on(&app.around, repository::find(&app.around)?)?,
            Site::Here => ground_of(app, &place)?,
        };
        if self.retry_failed {
            wishes::make(app, &found, &Wish::RetryFailed)?;
        }
        // Taken last: a run that cannot go on yet is left as it is.
        let store = launch::take(&folder)?;
        if let Some(left) = store.left() {
            app.output.say(took_over(left));
        }
        if let Some(torn) = store.torn() {
            app.output.say(format!(
                "its last line was cut off and never counted; the bytes are kept in {}",
                torn.display()
            ));
        }
        let launched = {
            let _inside = runtime.enter();
            launch::resume(&ground, &folder, store, models, None)?
        };
        let for_people = match plan.workspace.site {
            Site::Worktrees => Show::Progress,
            Site::Here => Show::Result,
        };
        let show = Show::for_format(self.format(), for_people);
        attend::attend(app, runtime, launched, show)
    }

    /// The plan of a run that can be gone on with, and the folder that it works on.
    fn unfinished(&self, run: ReadRun) -> Result<(RunSpec, String), Report> {
        if let Some(damage) = run.damage {
            return Err(damage);
        }
        if let Some(holder) = &run.manager {
            return Err(runs::held(&run.folder, holder));
        }
        let opened = run.state.run();
        let opened = opened.ok_or_else(|| runs::not_opened(&run.folder.id))?;
        if !run.state.is_unfinished() && !self.retry_failed {
            let id = &run.folder.id;
            return Err(Report::usage(format!("The run `{id}` is finished"))
                .hint(format!("see how it ended: codewhale fleet status {id}")));
        }
        Ok((opened.plan.clone(), opened.repository.clone()))
    }
}

/// The folder that an agent without a worktree was at work in.
fn ground_of(app: &App, place: &str) -> Result<Ground, Report> {
    if !Path::new(place).is_dir() {
        return Err(Report::usage(format!(
            "The folder `{place}` that the run worked in is gone"
        ))
        .hint("put it back, or order the work anew"));
    }
    let mut around = app.around.clone();
    around.folder = Path::new(place).to_owned();
    Ground::of_folder(&around)
}

fn took_over(left: &ledger::Left) -> String {
    match left {
        ledger::Left::By(holder) => format!("took over from {holder}, which ended without a word"),
        ledger::Left::Unknown => "took over from a manager that ended without a word".to_owned(),
    }
}
