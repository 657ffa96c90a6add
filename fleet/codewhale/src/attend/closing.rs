//! What is said when a run has ended: how it went, where the work is and how to look at it. Never
//! claims more than the ledger says.

use super::Show;
use crate::app::App;
use crate::commands::whereabouts;
use crate::report::Report;
use crate::runs::not_opened;
use fleet_core::spec::ProviderSpec;
use fleet_core::state::FleetState;
use fleet_core::view::{Manager, RunView};
use fleet_runtime::blobs::RunBlobs;
use fleet_tui::line::{Line, Tone};
use fleet_tui::picture::{self, Room};
use std::path::Path;

/// Says it: the tasks, or the only task's result, as data; the rest as talk.
///
/// # Errors
/// When the run was never opened, or its result cannot be read.
pub(super) fn say(app: &App, state: &FleetState, folder: &Path, show: Show) -> Result<(), Report> {
    let view = state
        .view(Manager::Gone)
        .ok_or_else(|| not_opened(&folder.display().to_string()))?;
    for line in providers_down(state) {
        app.output.say(line);
    }
    match show {
        Show::Records => return Ok(()),
        Show::Result => result(app, state, folder)?,
        Show::Progress | Show::Detached => {
            let room = Room {
                width: app.output.columns(),
                height: usize::MAX,
            };
            for line in picture::frame(&view, view.last_at, room) {
                app.output.line(line);
            }
            for line in whereabouts(&view) {
                app.output.line(line);
            }
        }
    }
    for line in next_steps(app, state, &view, show) {
        app.output.say(line);
    }
    Ok(())
}

/// Which providers could not be used, and why.
fn providers_down(state: &FleetState) -> impl Iterator<Item = Line> {
    let down = state.run().into_iter().flat_map(|run| &run.providers_down);
    down.map(|(provider, why)| {
        let text = format!("provider `{provider}` cannot be used: {why}");
        Line::new().and(Tone::Bad, &text)
    })
}

/// The final message of the only task.
fn result(app: &App, state: &FleetState, folder: &Path) -> Result<(), Report> {
    let Some(result) = state
        .tasks()
        .next()
        .and_then(|(_, task)| task.result.clone())
    else {
        return Ok(());
    };
    let text = RunBlobs::new(folder)
        .text(&result)
        .map_err(|error| Report::storage("The result cannot be read").because(&error))?;
    app.output.text(&text);
    Ok(())
}

fn next_steps(app: &App, state: &FleetState, view: &RunView, show: Show) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut hint = |what: &str, command: String| {
        let what = format!("{what:<10}");
        lines.push(
            Line::new()
                .and(Tone::Faint, &what)
                .and(Tone::Plain, &command),
        );
    };
    // One that was moved is the one the person is in: its runs are found nowhere else.
    let moved = !Path::new(&view.repository).is_dir();
    let here = if moved || app.around.folder.starts_with(&view.repository) {
        String::new()
    } else {
        format!(" -C {}", view.repository)
    };
    if state.is_unfinished() {
        hint(
            "go on",
            format!("codewhale{here} fleet resume {}", view.run),
        );
    }
    if show == Show::Progress
        && let Some(task) = view
            .tasks
            .iter()
            .find(|task| task.change.is_some_and(|c| c.files > 0))
    {
        hint("look", format!("codewhale{here} fleet diff {}", task.task));
    }
    if let (Some(base), Some(branch), Some(head)) = (&view.base, &view.integration, &view.head)
        && base != head
    {
        let git = if here.is_empty() {
            "git".to_owned()
        } else {
            format!("git -C {}", view.repository)
        };
        let base: String = base.as_str().chars().take(12).collect();
        hint("commits", format!("{git} log --oneline {base}..{branch}"));
    }
    if view.is_on_offer() {
        hint(
            "take it",
            format!("codewhale{here} fleet land {}", view.run),
        );
    }
    if show == Show::Progress
        && let Some(task) = view.tasks.iter().find(|task| task.state == "failed")
    {
        hint(
            "why",
            format!("codewhale{here} fleet inspect {}", task.task),
        );
    }
    if is_scripted(state) {
        lines.push(Line::new().and(
            Tone::Warn,
            "The model was a script played back: nobody was asked.",
        ));
    }
    lines
}

/// True when every role's model is played back from a file.
fn is_scripted(state: &FleetState) -> bool {
    let Some(run) = state.run() else {
        return false;
    };
    let mut providers = run.plan.providers.values().peekable();
    providers.peek().is_some()
        && providers.all(|provider| matches!(provider, ProviderSpec::Scripted { .. }))
}
