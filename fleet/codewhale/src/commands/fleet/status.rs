//! `codewhale fleet status`: how a run stands. Reads its ledger beside a living manager; never takes it.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::json::RunJson;
use crate::report::Report;
use crate::runs::{ReadRun, Runs};
use fleet_core::view::RunView;
use fleet_runtime::clock::{Clock as _, SystemClock, timestamp};
use fleet_tui::line::{Line, Tone};
use fleet_tui::picture::{self, Room};

/// Show how a run stands
///
/// Exits with 0 whatever the run came to; its own exit code is in the JSON.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet status            the newest run of this repository\n  codewhale fleet status docs-26    the run whose id begins so\n  codewhale fleet status --json | jq -r .state"
)]
pub(crate) struct Status {
    /// Id of the run, or the beginning of it [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    json: JsonOption,
}

impl Status {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is no such run, or its ledger is damaged; what stands before is shown.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let run = ReadRun::of(Runs::of(app)?.find(self.run.as_deref())?);
        let Some(view) = run.view() else {
            return Err(run.silence());
        };
        match self.format() {
            Format::Json => {
                let manager = run.manager.as_ref().map(|holder| holder.pid);
                app.output.object("status", &RunJson::of(&view, manager))?;
            }
            Format::Text => show(app, &view),
        }
        run.end()
    }
}

fn show(app: &App, view: &RunView) {
    let room = Room {
        width: app.output.columns(),
        height: usize::MAX,
    };
    for line in picture::frame(view, timestamp(SystemClock.now()), room) {
        app.output.line(line);
    }
    for line in whereabouts(view) {
        app.output.line(line);
    }
    if view.is_on_offer() {
        app.output
            .say(format!("take it: codewhale fleet land {}", view.run));
    }
}

/// Where the work is, once there is some.
pub(crate) fn whereabouts(view: &RunView) -> Vec<Line> {
    let (Some(branch), Some(head)) = (&view.integration, &view.head) else {
        return Vec::new();
    };
    if view.base.as_ref() == Some(head) {
        return Vec::new();
    }
    let short: String = head.as_str().chars().take(12).collect();
    let mut lines = vec![
        Line::from("landed on ")
            .and(Tone::Strong, branch.as_str())
            .and(Tone::Faint, &format!(" at {short}")),
    ];
    if let Some(taken) = &view.taken {
        let short: String = taken.commit.as_str().chars().take(12).collect();
        let older = if taken.head == *head {
            ""
        } else {
            ", but for what landed since"
        };
        lines.push(
            Line::from("taken onto ")
                .and(Tone::Strong, taken.branch.as_str())
                .and(Tone::Faint, &format!(" at {short}{older}")),
        );
    }
    if let Some(reason) = &view.rejected {
        let why = match reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        lines.push(Line::new().and(Tone::Warn, &format!("rejected{why}")));
    }
    lines
}
