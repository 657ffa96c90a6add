//! `codewhale fleet run`: starts a run of a roster and stays with it until its end.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::attend::{self, Show, detached};
use crate::cap::Cap;
use crate::exit::Exit;
use crate::launch::{self, Ground, Models};
use crate::report::Report;
use crate::repository;
use crate::roster_file;
use engine_core::ids::TaskId;
use std::path::{Path, PathBuf};

/// Run a roster
///
/// Each writing task works in a worktree of its own; your checkout is never touched. What passed its
/// checks and review is on the branch `codewhale/<run>/integration`; `fleet land` takes it onto yours.
/// Ctrl-C stops the run so that `fleet resume` can go on; a second one kills it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet run roster.toml\n  codewhale fleet run roster.toml --detach\n  codewhale fleet run roster.toml --budget tokens=500000\n  codewhale fleet run roster.toml --json | jq -c 'select(.type == \"task.ended\")'\n\nExit codes:\n  0 done   1 nothing succeeded   2 usage or configuration   3 some tasks succeeded   4 budget\n  6 provider unavailable or key refused   7 ledger damaged   8 storage failed   130, 143 stopped"
)]
pub(crate) struct Run {
    /// The roster
    #[arg(value_name = "ROSTER")]
    roster: PathBuf,
    /// First part of the run's id, instead of the roster's `name`
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Cap of the whole run, instead of the roster's; such as tokens=500000
    #[arg(long, value_name = "CAP")]
    budget: Option<Cap>,
    /// Run in the back, in a session of its own; prints the id once the run is open
    ///
    /// What would be said goes to `run.log` in the run's folder.
    #[arg(long, conflicts_with = "json")]
    detach: bool,
    /// This process is the one in the back
    #[arg(long, hide = true, conflicts_with = "json")]
    detached: bool,
    #[command(flatten)]
    json: JsonOption,
}

impl Run {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When the roster is wrong, nothing can be run here, or the manager could not go on.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        if self.detach {
            return detached::start(app, "--detached");
        }
        if self.detached {
            detached::leave_session()?;
        }
        let found = repository::find(&app.around);
        let repository = found.as_ref().ok().map(fleet_git::Repo::toplevel);
        let loaded =
            roster_file::load(app, &self.roster, repository).map_err(|refused| refused.report)?;
        if let Some(warnings) = loaded.warnings() {
            app.output.say_text(&warnings);
        }
        let mut plan = loaded.spec();
        if let Some(name) = &self.name {
            plan.name.clone_from(name);
        }
        if let Some(cap) = self.budget {
            plan.budget.tokens = Some(cap.tokens);
        }
        let models = Models::of(&plan, &app.around)?;
        let runtime = attend::runtime()?;
        let ground = match &plan.workspace.demo {
            Some(demo) => Ground::demonstration(&app.around, Path::new(demo), &plan.name)?,
            None => Ground::on(&app.around, found?)?,
        };
        let launched = {
            let _inside = runtime.enter();
            launch::new_run(&ground, plan, Some(loaded.text), models, None)?
        };
        let for_people = if self.detached {
            Show::Detached
        } else {
            Show::Progress
        };
        let show = Show::for_format(self.format(), for_people);
        attend::attend(app, runtime, launched, show)
    }
}

/// The name of a run, by the rule that the roster's own name keeps.
fn name(text: &str) -> Result<String, String> {
    match TaskId::try_from(text.to_owned()) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("a-z, 0-9 and `-`, at most 40, not starting with `-`".to_owned()),
    }
}
