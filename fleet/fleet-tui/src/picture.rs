//! A run as lines: its head, its tasks, and how many stand where. Pure: the same view, instant and
//! room give the same lines.

use crate::line::{Line, Tone};
use crate::table::{self, Column, Side};
use crate::words;
use engine_core::ids::AttemptNo;
use fleet_core::time::Timestamp;
use fleet_core::view::{RunView, TaskView};
use std::collections::BTreeMap;

/// How much may be drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Columns.
    pub width: usize,
    /// Lines.
    pub height: usize,
}

/// The run as it stands at `now`, in at most `room.height` lines of at most `room.width` columns.
///
/// When there are more tasks than lines, those at work stay, then those that failed, those that
/// wait, and those that are done; a line tells what is left out.
#[must_use]
pub fn frame(view: &RunView, now: Timestamp, room: Room) -> Vec<Line> {
    let mut lines = vec![head(view, now).cut(room.width)];
    let (shown, hidden) = chosen(&view.tasks, room.height.saturating_sub(2));
    lines.extend(tasks(&shown, until(view, now), room.width));
    lines.push(foot(view, &hidden).cut(room.width));
    lines.truncate(room.height);
    lines
}

/// The instant up to which a clock of this run has run: it stands still when nobody works.
#[must_use]
pub fn until(view: &RunView, now: Timestamp) -> Timestamp {
    if view.state == "running" {
        now
    } else {
        view.last_at
    }
}

fn head(view: &RunView, now: Timestamp) -> Line {
    let elapsed = until(view, now).millis_since(view.opened_at);
    let line = Line::new()
        .and(Tone::Strong, view.run.as_str())
        .and(Tone::Plain, "  ")
        .and(words::tone(view.state), view.state)
        .and(Tone::Plain, &format!("  {}", words::clock(elapsed)))
        .and(Tone::Faint, &format!("  {}", words::tokens(&view.account)));
    match &view.reason {
        Some(reason) => line.and(Tone::Plain, &format!("  {reason}")),
        None => line,
    }
}

fn foot(view: &RunView, hidden: &[&TaskView]) -> Line {
    let mut line = Line::new().and(Tone::Faint, &tally(view.tasks.iter()));
    if !hidden.is_empty() {
        let more = tally(hidden.iter().copied());
        line.push(Tone::Faint, &format!(" · not shown: {more}"));
    }
    line
}

/// How many tasks stand in which state, in the order in which states first appear.
fn tally<'a>(tasks: impl Iterator<Item = &'a TaskView>) -> String {
    let mut counts: BTreeMap<(u8, &str), u64> = BTreeMap::new();
    for task in tasks {
        *counts.entry((class(task), task.state)).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|((_, state), number)| format!("{} {state}", words::count(*number)))
        .collect();
    parts.join(", ")
}

/// Which tasks are told first when not all can be: the smaller, the sooner.
fn class(task: &TaskView) -> u8 {
    match task.state {
        "running" | "waiting" | "verified" | "interrupted" => 0,
        "failed" | "conflict" | "budget" => 1,
        "queued" => 2,
        _ => 3,
    }
}

/// The tasks to show, in the order queued, and those that have no room.
fn chosen(tasks: &[TaskView], room: usize) -> (Vec<&TaskView>, Vec<&TaskView>) {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|at| class(&tasks[*at]));
    let mut hidden = order.split_off(room.min(order.len()));
    order.sort_unstable();
    hidden.sort_unstable();
    let pick = |places: Vec<usize>| places.into_iter().map(|at| &tasks[at]).collect();
    (pick(order), pick(hidden))
}

/// A row for each task.
#[must_use]
pub fn tasks(tasks: &[&TaskView], now: Timestamp, width: usize) -> Vec<Line> {
    let column = |side, most, rank, cell: &dyn Fn(&TaskView) -> (Tone, String)| Column {
        cells: tasks.iter().map(|task| cell(task)).collect(),
        side,
        most,
        rank,
    };
    let columns = vec![
        column(Side::Left, 1, 9, &|task| {
            (words::tone(task.state), words::mark(task.state).to_owned())
        }),
        column(Side::Left, 40, 10, &|task| {
            (Tone::Plain, task.task.to_string())
        }),
        column(Side::Left, 12, 4, &|task| {
            (Tone::Faint, task.role.to_string())
        }),
        column(Side::Left, 28, 1, &|task| {
            let model = task.model.as_ref();
            (
                Tone::Faint,
                model.map(ToString::to_string).unwrap_or_default(),
            )
        }),
        column(Side::Left, 11, 8, &|task| {
            (words::tone(task.state), task.state.to_owned())
        }),
        column(Side::Left, 12, 2, &|task| (Tone::Faint, progress(task))),
        column(Side::Right, 10, 3, &|task| (Tone::Faint, spent(task))),
        column(Side::Right, 9, 5, &|task| (Tone::Faint, elapsed(task, now))),
        column(Side::Left, usize::MAX, 6, &|task| (Tone::Plain, note(task))),
    ];
    table::rows(columns, width)
}

/// The step a task is at, and the attempt from the second on.
fn progress(task: &TaskView) -> String {
    match (task.attempt, task.steps) {
        (AttemptNo(0 | 1), 0) => String::new(),
        (AttemptNo(0 | 1), steps) => format!("step {steps}"),
        (attempt, steps) => format!("step {steps} #{attempt}"),
    }
}

fn spent(task: &TaskView) -> String {
    match task.account.spent.total().0 {
        0 => String::new(),
        spent => words::count(spent),
    }
}

fn elapsed(task: &TaskView, now: Timestamp) -> String {
    let Some(started) = task.started_at else {
        return String::new();
    };
    words::clock(task.ended_at.unwrap_or(now).millis_since(started))
}

fn note(task: &TaskView) -> String {
    let note = task.note.clone().unwrap_or_default();
    match task.change {
        Some(change) if note.is_empty() => format!(
            "{} (+{} -{})",
            words::counted(u64::from(change.files), "file"),
            change.insertions,
            change.deletions
        ),
        _ => note,
    }
}

#[cfg(test)]
mod tests;
