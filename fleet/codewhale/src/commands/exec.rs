//! `codewhale exec`: one agent, one prompt, in the current folder. It is a run of a roster with one
//! task, which is written here instead of by a person.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::attend::{self, Show};
use crate::cap::Cap;
use crate::config::{self, Config};
use crate::exit::Exit;
use crate::launch::{self, Ground, Models};
use crate::report::Report;
use crate::roster_file::{self, Text};
use fleet_core::spec::{RunSpec, Site};
use serde::Serialize;
use std::io::Read as _;

/// Let one agent work in the current folder
///
/// Its final message is printed on standard output. It only reads unless it is allowed more; nothing
/// is committed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale exec \"What does this crate do?\"\n  codewhale exec --auto \"Fix the failing test\" --model openai/gpt-5\n  git diff | codewhale exec - --budget tokens=50000"
)]
pub(crate) struct Exec {
    /// What is to be done; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    prompt: String,
    /// What the agent may do
    #[arg(long, value_name = "ACCESS", value_enum, default_value_t)]
    access: Access,
    /// The same as --access write
    #[arg(long, conflicts_with = "access")]
    auto: bool,
    /// The model to ask, as provider/model [default: that of the configuration]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Cap of the whole run, such as tokens=500000
    #[arg(long, value_name = "CAP")]
    budget: Option<Cap>,
    #[command(flatten)]
    json: JsonOption,
}

/// What the agent may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Access {
    /// Read files
    #[default]
    Read,
    /// Also edit files and run confined commands without network
    Write,
}

/// The roster that a person would have written.
#[derive(Serialize)]
struct Written<'a> {
    name: &'static str,
    model: String,
    role: Roles,
    task: [Task<'a>; 1],
}

#[derive(Serialize)]
struct Roles {
    worker: Worker,
}

#[derive(Serialize)]
struct Worker {
    access: Access,
}

#[derive(Serialize)]
struct Task<'a> {
    id: &'static str,
    role: &'static str,
    prompt: &'a str,
}

impl Exec {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When the prompt is blank, no model is set, nothing can be run here, or the manager could not
    /// go on.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let plan = self.plan(app)?;
        let models = Models::of(&plan, &app.around)?;
        let runtime = attend::runtime()?;
        let ground = Ground::of_folder(&app.around)?;
        let launched = {
            let _inside = runtime.enter();
            launch::new_run(&ground, plan, None, models, None)?
        };
        let show = Show::for_format(self.format(), Show::Result);
        attend::attend(app, runtime, launched, show)
    }

    fn plan(&self, app: &App) -> Result<RunSpec, Report> {
        let text = Text {
            name: "the options".to_owned(),
            text: self.written(&self.model(app)?, &self.prompt()?)?,
            full: app.around.folder.join("exec.toml"),
        };
        let mut plan = roster_file::understand(app, text, None)
            .map_err(|refused| refused.report)?
            .spec();
        plan.workspace.site = Site::Here;
        // The folder is the person's: what was cut off in it is not tried again by itself.
        plan.limits.attempts = 1;
        plan.budget.tokens = self.budget.map(|cap| cap.tokens);
        Ok(plan)
    }

    fn prompt(&self) -> Result<String, Report> {
        let mut prompt = self.prompt.clone();
        if prompt == "-" {
            prompt.clear();
            std::io::stdin()
                .read_to_string(&mut prompt)
                .map_err(|error| Report::usage("The prompt cannot be read").because(&error))?;
        }
        if prompt.trim().is_empty() {
            return Err(Report::usage("The prompt is empty"));
        }
        Ok(prompt)
    }

    fn model(&self, app: &App) -> Result<String, Report> {
        let provider = app.around.text(config::PROVIDER);
        let model = match &self.model {
            Some(text) => config::model_name(text, provider)
                .ok_or_else(|| config::no_provider("--model", text))?,
            None => Config::read(app)?.user.model().cloned().ok_or_else(|| {
                Report::usage("No model is set").hint(format!(
                    "give one with --model, {} or `model` in the configuration",
                    config::MODEL
                ))
            })?,
        };
        Ok(model.to_string())
    }

    fn written(&self, model: &str, prompt: &str) -> Result<String, Report> {
        let access = if self.auto {
            Access::Write
        } else {
            self.access
        };
        let written = Written {
            name: "exec",
            model: model.replace("${", "$${"),
            role: Roles {
                worker: Worker { access },
            },
            task: [Task {
                id: "exec",
                role: "worker",
                prompt,
            }],
        };
        toml::to_string(&written)
            .map_err(|error| Report::usage("The prompt cannot be used").because(&error))
    }
}
