//! `codewhale fleet retry`: has a task tried again that ended without success. Never starts a manager:
//! where none is at work, `fleet resume` does what was recorded.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use crate::runs::Runs;
use crate::wishes::{self, Recorded};
use engine_core::ids::TaskId;
use fleet_core::decide::Wish;

/// Try a task again that failed, was in conflict, ran into its budget, was cancelled or skipped
///
/// It gets a new set of attempts, which begin with what the last one left, except after a
/// cancellation. What was skipped because of it waits for it again; what it was skipped because of is
/// tried again too. A run that is not at work is gone on with by `fleet resume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet retry build\n  codewhale fleet retry build --instructions \"Leave the lock file alone\"\n  codewhale fleet retry build tests --run docs-26"
)]
pub(crate) struct Retry {
    /// The tasks
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<TaskId>,
    /// Something to add to what was asked for
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// Id of the run, or the beginning of it [default: the one at work, else the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

impl Retry {
    /// Does what was asked.
    ///
    /// # Errors
    /// When a task cannot be tried again; those before it are.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let run = Runs::of(app)?.find_current(self.run.as_deref())?;
        let mut recorded = Recorded::ByManager;
        for task in &self.tasks {
            let wish = Wish::Retry {
                task: task.clone(),
                instructions: self.instructions.clone(),
            };
            recorded = wishes::make(app, &run, &wish)?;
            app.output.line(format!("{}  {task} is retried", run.id));
        }
        if recorded == Recorded::Here {
            app.output
                .say(format!("go on with: codewhale fleet resume {}", run.id));
        }
        Ok(Exit::Done)
    }
}
