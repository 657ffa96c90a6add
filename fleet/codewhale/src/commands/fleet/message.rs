//! `codewhale fleet message`: says something to whoever works on a task. Never to one that is over.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use crate::runs::Runs;
use crate::wishes::{self, Recorded};
use engine_core::ids::TaskId;
use fleet_core::decide::Wish;

/// Say something to the agent of a task
///
/// An agent at work reads it before its next request; a task that waits has it in its prompt. It has
/// the weight of the prompt itself, and every later attempt reads it too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet message build \"The config moved to etc/\"\n  codewhale fleet message build \"Stop after the first test\" --run docs-26"
)]
pub(crate) struct Message {
    /// The task
    #[arg(value_name = "TASK")]
    task: TaskId,
    /// What to say
    #[arg(value_name = "TEXT")]
    text: String,
    /// Id of the run, or the beginning of it [default: the one at work, else the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

impl Message {
    /// Does what was asked.
    ///
    /// # Errors
    /// When the task is over, or nobody can be told.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let run = Runs::of(app)?.find_current(self.run.as_deref())?;
        let wish = Wish::Tell {
            task: self.task.clone(),
            text: self.text.clone(),
        };
        let recorded = wishes::make(app, &run, &wish)?;
        app.output
            .line(format!("{}  {} is told", run.id, self.task));
        if recorded == Recorded::Here {
            app.output.say(format!(
                "once it goes on: codewhale fleet resume {}",
                run.id
            ));
        }
        Ok(Exit::Done)
    }
}
