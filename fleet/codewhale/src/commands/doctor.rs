//! `codewhale doctor`: is everything here that is needed? Never changes anything but an empty file of its own
//! in folders that fleets write to, which it takes away again; asks nobody without `--probe`.

mod checks;
mod folders;
mod leftovers;
mod machine;
mod providers;

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::report::Report;
use fleet_tui::line::{Line, Tone};
use serde::Serialize;

/// Check that everything is here that codewhale needs
///
/// A warning says what would go less well; what is bad keeps fleets from working. Each comes with what
/// to do about it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale doctor            look, ask nobody\n  codewhale doctor --probe    also ask each provider with a key whether it answers; costs no tokens\n\nExit codes:\n  0 usable, warnings or not   2 git, repository or configuration   6 a provider that was asked\n  8 a folder that cannot be used"
)]
pub(crate) struct Doctor {
    /// Ask the providers whether they can be reached and take the key
    #[arg(long)]
    probe: bool,
    #[command(flatten)]
    json: JsonOption,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    verdict: Verdict,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// What the command ends with when this is bad.
    #[serde(skip)]
    exit: Exit,
}

/// What a look led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// As it should be.
    Good,
    /// It works, less well.
    Warning,
    /// Fleets cannot work like this.
    Bad,
}

#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    usable: bool,
    checks: Vec<Check>,
}

impl Check {
    fn good(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict: Verdict::Good,
            says: says.into(),
            hint: None,
            exit: Exit::Done,
        }
    }

    fn warning(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Warning,
            ..Self::good(name, says)
        }
    }

    fn bad(name: impl Into<String>, says: impl Into<String>, exit: Exit) -> Self {
        Self {
            verdict: Verdict::Bad,
            exit,
            ..Self::good(name, says)
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn line(&self) -> Line {
        let (tone, mark) = match self.verdict {
            Verdict::Good => (Tone::Good, "ok  "),
            Verdict::Warning => (Tone::Warn, "warn"),
            Verdict::Bad => (Tone::Bad, "bad "),
        };
        Line::new()
            .and(tone, mark)
            .and(Tone::Strong, &format!("  {:<12}", self.name))
            .and(Tone::Plain, &self.says)
    }
}

impl Doctor {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When it could not be done.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let mut checks = checks::all(app);
        checks.extend(providers::keys(app));
        if self.probe {
            checks.extend(providers::probes(app)?);
        }
        let exit = checks
            .iter()
            .fold(Exit::Done, |exit, check| exit.or_worse(check.exit));
        if self.format() == Format::Json {
            let findings = Findings {
                version: env!("CARGO_PKG_VERSION"),
                usable: exit == Exit::Done,
                checks,
            };
            app.output.object("doctor", &findings)?;
            return Ok(exit);
        }
        for check in &checks {
            app.output.line(check.line());
            if let Some(hint) = &check.hint {
                app.output
                    .line(Line::new().and(Tone::Faint, &format!("{:18}{hint}", "")));
            }
        }
        Ok(exit)
    }
}
