//! What ledgers answer, in the words and exit codes of the command line. Never opens one for writing.

use super::{Report, TaskSpec};
use crate::exit::Exit;
use fleet_core::record::Record;
use fleet_core::state::FleetState;
use fleet_runtime::blobs::RunBlobs;
use fleet_runtime::codec::FleetCodec;
use ledger::{OpenError, ReplayError, Trouble};
use std::path::Path;

/// Why a run could not be taken.
pub(crate) fn of_open(error: &OpenError) -> Report {
    let exit = exit_of(error.trouble());
    let report = Report::new(exit, error.to_string());
    match (error.trouble(), error) {
        (Trouble::Held, _) => {
            report.hint("its manager is at work: watch it with `codewhale fleet status`, or end it with `codewhale fleet stop`")
        }
        (Trouble::Unreadable, _) => hint_unreadable(report),
        (_, OpenError::Filesystem { .. }) => {
            report.hint("locks and syncs cannot be trusted there: work in a repository on a local disk")
        }
        _ => report.hint("look at the free space and the rights of that folder; nothing was lost"),
    }
}

/// Why a run could not be read.
pub(crate) fn of_read(error: &ReplayError) -> Report {
    let report = Report::new(exit_of(error.trouble()), error.to_string());
    match error.trouble() {
        Trouble::Unreadable => hint_unreadable(report),
        _ => report,
    }
}

fn hint_unreadable(report: Report) -> Report {
    report.hint("`codewhale ledger verify` lists every damaged place; nothing was changed")
}

fn exit_of(trouble: Trouble) -> Exit {
    match trouble {
        Trouble::Place => Exit::Usage,
        Trouble::Unreadable => Exit::Ledger,
        Trouble::Held | Trouble::Storage => Exit::Storage,
    }
}

/// The ordered tasks that `run.opened` keeps, where some are not queued yet; none otherwise.
pub(crate) fn tasks_of(folder: &Path, state: &FleetState) -> Result<Vec<TaskSpec>, Report> {
    let queued = state.ordered();
    if state.run().is_none_or(|run| queued >= run.task_count) {
        return Ok(Vec::new());
    }
    let mut kept = None;
    ledger::replay(folder, &FleetCodec, &mut |entry| {
        if let Some(Record::RunOpened(opened)) = entry.records.first() {
            kept = Some(opened.tasks.clone());
        }
        Ok(())
    })
    .map_err(|error| of_read(&error))?;
    let unreadable = || Report::new(Exit::Ledger, "the ordered tasks of this run cannot be read");
    let kept = kept.ok_or_else(unreadable)?;
    let text = RunBlobs::new(folder)
        .json(&kept)
        .map_err(|error| unreadable().because(&error))?;
    serde_json::from_str(&text).map_err(|error| unreadable().because(&error))
}
