//! `codewhale fleet stop`: asks the manager of a run to stop, so that it can be resumed, and waits
//! until it has; or ends one task, or all that is not over, for good. Never kills a manager.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use crate::runs::Runs;
use crate::wishes::{self, Asked, Recorded};
use engine_core::ids::TaskId;
use fleet_core::decide::Wish;
use fleet_runtime::socket::Request;
use ledger::Holder;
use rustix::process::{Pid, Signal, kill_process};

/// Stop a run so that it can be resumed, or end a task for good
///
/// Without an option what is under way ends as interrupted, does not count as an attempt, and `fleet
/// resume` goes on. `--task` cancels one task and `--for-good` all that are not over: they do not run
/// again unless `fleet retry` asks for it, and what needs them is skipped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet stop                 the run that is at work\n  codewhale fleet stop docs-26\n  codewhale fleet stop --task survey   the other tasks go on\n  codewhale fleet stop docs-26 --for-good"
)]
pub(crate) struct Stop {
    /// Id of the run, or the beginning of it [default: the only one at work]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// End only this task, for good
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,
    /// End every task that is not over, for good: the run will not be resumed
    #[arg(long, conflicts_with = "task")]
    for_good: bool,
}

impl Stop {
    /// Does what was asked.
    ///
    /// # Errors
    /// When no run is at work, several are and none was named, or its manager does not stop.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let runs = Runs::of(app)?;
        match (&self.task, self.for_good) {
            (Some(task), _) => {
                let wish = Wish::Cancel { task: task.clone() };
                self.cancel(app, &runs, &wish, task.as_str())
            }
            (None, true) => self.cancel(app, &runs, &Wish::CancelAll, "what was not over"),
            (None, false) => self.stop(app, &runs),
        }
    }

    fn stop(&self, app: &App, runs: &Runs) -> Result<Exit, Report> {
        let run = match &self.run {
            Some(given) => runs.find(Some(given))?,
            None => runs.find_managed()?,
        };
        let Some(holder) = ledger::holder(&run.path) else {
            app.output.say(format!("{} is not at work", run.id));
            return Ok(Exit::Done);
        };
        match wishes::ask(app, &run, &holder, &Request::Stop {})? {
            Asked::Done => {}
            // A manager that cannot be asked hears a signal all the same.
            Asked::Refused(_) | Asked::Unreachable(_) => signal(&holder)?,
        }
        if !wishes::is_gone(&run, &holder) {
            return Err(Report::storage(format!(
                "The manager of {}, {holder}, does not stop",
                run.id
            ))
            .hint("what it recorded is safe; end the process, then resume the run"));
        }
        app.output.line(format!("{} stopped", run.id));
        app.output
            .say(format!("go on with: codewhale fleet resume {}", run.id));
        Ok(Exit::Done)
    }

    fn cancel(&self, app: &App, runs: &Runs, wish: &Wish, what: &str) -> Result<Exit, Report> {
        // The run at work, else the one that is not finished.
        let run = match &self.run {
            Some(given) => runs.find(Some(given))?,
            None => runs.find_begun()?,
        };
        let recorded = wishes::make(app, &run, wish)?;
        app.output.line(format!("{}  {what} cancelled", run.id));
        if recorded == Recorded::Here {
            app.output.say("nobody is at work on the run");
        }
        Ok(Exit::Done)
    }
}

/// Sends the polite signal to the process that holds the run.
fn signal(holder: &Holder) -> Result<(), Report> {
    let failed = || Report::storage(format!("The manager, {holder}, cannot be signalled"));
    let pid = i32::try_from(holder.pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(failed)?;
    kill_process(pid, Signal::TERM).map_err(|error| failed().because(&error))
}
