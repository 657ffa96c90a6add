//! `codewhale fleet check`: is this roster right, and what would it do? Writes nothing and asks nobody.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::report::Report;
use crate::repository;
use crate::roster_file::{self, Loaded, Refused};
use fleet_git::{OpenError, Repo};
use roster::{KeyState, Plan};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// Check a roster and print its plan
///
/// Shows every error at once, who would do what in which order, and to which host each key would be
/// sent. Nothing is written and nobody is asked.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet check roster.toml\n  codewhale fleet check roster.toml --json | jq .plan.levels"
)]
pub(crate) struct Check {
    /// The roster
    #[arg(value_name = "ROSTER")]
    roster: PathBuf,
    #[command(flatten)]
    json: JsonOption,
}

#[derive(Debug, Serialize)]
struct Findings<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Plan>,
    findings: Value,
}

impl Check {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When the roster cannot be run as it is.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let repo = repository::find(&app.around);
        let repository = repo.as_ref().ok().map(Repo::toplevel);
        let loaded = roster_file::load(app, &self.roster, repository);
        if let Ok(loaded) = &loaded {
            say_ground(app, &loaded.plan(), repo);
        }
        match (loaded, self.format()) {
            (Ok(loaded), Format::Text) => Ok(show(app, &loaded)),
            (Ok(loaded), Format::Json) => {
                let findings = Findings {
                    ok: true,
                    plan: Some(&loaded.plan()),
                    findings: loaded.warnings_json(),
                };
                app.output.object("check", &findings)?;
                Ok(Exit::Done)
            }
            (Err(refused), Format::Text) => Err(refused.report),
            (Err(refused), Format::Json) => refuse(app, *refused),
        }
    }
}

/// Says what a run of this plan would miss where it would stand: a roster may be right elsewhere.
fn say_ground(app: &App, plan: &Plan, repo: Result<Repo, OpenError>) {
    if plan.demo.is_some() {
        return;
    }
    let missing = match (repo, &plan.base) {
        (Err(error), _) => error.to_string(),
        (Ok(repo), Some(base)) => match repo.resolve(base) {
            Ok(_) => return,
            Err(error) => format!("{error} (`base`)"),
        },
        (Ok(_), None) => return,
    };
    app.output
        .say(format!("note: a run would be refused: {missing}"));
}

fn show(app: &App, loaded: &Loaded) -> Exit {
    let plan = loaded.plan();
    app.output.text(&plan.to_string());
    if let Some(warnings) = loaded.warnings() {
        app.output.say_text(&warnings);
    }
    for provider in &plan.providers {
        if let (KeyState::Unset, Some(variable)) = (provider.key, &provider.key_env) {
            app.output.say(format!(
                "note: {variable} is not set; a run would be refused"
            ));
        }
    }
    Exit::Done
}

/// The findings are the answer to the question, so the object is this command's own.
fn refuse(app: &App, refused: Refused) -> Result<Exit, Report> {
    if refused.findings.as_array().is_none_or(Vec::is_empty) {
        return Err(refused.report);
    }
    let findings = Findings {
        ok: false,
        plan: None,
        findings: refused.findings,
    };
    app.output.object("check", &findings)?;
    Ok(app.output.report(&refused.report, Format::Text))
}
