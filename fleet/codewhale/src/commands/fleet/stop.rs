//! `codewhale fleet stop`: asks the manager of a run to stop, so that it can be resumed, and waits
//! until it has. Never kills it.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use crate::runs::{RunFolder, Runs};
use ledger::Holder;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// How often it is looked whether the manager is gone, and for how long.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: u32 = 200;

/// Stop a run so that it can be resumed
///
/// What is under way ends as interrupted and does not count as an attempt. `fleet resume` goes on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet stop            the run that is at work\n  codewhale fleet stop docs-26"
)]
pub(crate) struct Stop {
    /// Id of the run, or the beginning of it [default: the only one at work]
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl Stop {
    /// Does what was asked.
    ///
    /// # Errors
    /// When no run is at work, several are and none was named, or its manager does not stop.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let runs = Runs::of(app)?;
        let run = match &self.run {
            Some(given) => runs.find(Some(given))?,
            None => runs.find_managed()?,
        };
        let Some(holder) = ledger::holder(&run.path) else {
            app.output.say(format!("{} is not at work", run.id));
            return Ok(Exit::Done);
        };
        ask(&holder)?;
        wait(&run, &holder)?;
        app.output.line(format!("{} stopped", run.id));
        app.output
            .say(format!("go on with: codewhale fleet resume {}", run.id));
        Ok(Exit::Done)
    }
}

/// Sends the polite signal to the process that holds the run.
fn ask(holder: &Holder) -> Result<(), Report> {
    let failed = || Report::storage(format!("The manager, {holder}, cannot be signalled"));
    let pid = i32::try_from(holder.pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(failed)?;
    kill_process(pid, Signal::TERM).map_err(|error| failed().because(&error))
}

fn wait(run: &RunFolder, holder: &Holder) -> Result<(), Report> {
    for _ in 0..LOOKS {
        if ledger::holder(&run.path).as_ref() != Some(holder) {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Err(Report::storage(format!(
        "The manager of {}, {holder}, does not stop",
        run.id
    ))
    .hint("what it recorded is safe; end the process, then resume the run"))
}
