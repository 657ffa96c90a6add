//! `codewhale fleet resume`: takes an unfinished run over and goes on from its last durable step.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::attend::{self, Show};
use crate::exit::Exit;
use crate::launch::{self, Ground, Models};
use crate::report::Report;
use crate::runs::{RunFolder, Runs};
use std::path::Path;

/// Go on with a run that was stopped or cut off
///
/// Nothing that was recorded is paid for or done twice. The run keeps the roster it started with.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet resume            the only unfinished run of this repository\n  codewhale fleet resume docs-26"
)]
pub(crate) struct Resume {
    /// Id of the run, or the beginning of it [default: the only unfinished one]
    #[arg(value_name = "RUN")]
    run: Option<String>,
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
        let folder = Runs::of(app)?.find_unfinished(self.run.as_deref())?;
        let store = launch::take(&folder.path)?;
        let Some(run) = store.state().run() else {
            return Err(crate::runs::not_opened(&folder.id));
        };
        if !store.state().is_unfinished() {
            return Err(finished(&folder));
        }
        let (plan, place) = (run.plan.clone(), run.repository.clone());
        if let Some(left) = store.left() {
            app.output.say(took_over(left));
        }
        let models = Models::of(&plan, &app.around)?;
        let runtime = attend::runtime()?;
        runtime.block_on(models.probe())?;
        let mut around = app.around.clone();
        around.folder = Path::new(&place).to_owned();
        let ground = Ground::of_folder(&around)?;
        let launched = {
            let _inside = runtime.enter();
            launch::resume(&ground, &folder.path, store, models, None)?
        };
        let show = Show::for_format(self.format(), Show::Progress);
        attend::attend(app, runtime, launched, show)
    }
}

fn finished(run: &RunFolder) -> Report {
    Report::usage(format!("The run `{}` is finished", run.id)).hint(format!(
        "see how it ended: codewhale fleet status {}",
        run.id
    ))
}

fn took_over(left: &ledger::Left) -> String {
    match left {
        ledger::Left::By(holder) => format!("took over from {holder}, which ended without a word"),
        ledger::Left::Unknown => "took over from a manager that ended without a word".to_owned(),
    }
}
