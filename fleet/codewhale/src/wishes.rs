//! What a person asks of a run that has begun goes to its manager, and where none is at work it is
//! recorded in the manager's place. Never guesses whether a silent manager has done it.

use crate::app::App;
use crate::exit::Exit;
use crate::launch;
use crate::places;
use crate::report::Report;
use crate::runs::{ReadRun, RunFolder};
use fleet_core::decide::{Input, Reply, Wish};
use fleet_runtime::clock::SystemClock;
use fleet_runtime::socket::{self, Code, Refusal, Request, Unreachable};
use fleet_runtime::unmanaged;
use ledger::Holder;
use std::time::Duration;

/// How often it is looked whether a manager is gone, and for how long.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: u32 = 200;
/// How often a run may change hands while it is asked something.
const HANDS_MAX: u32 = 5;

/// Who recorded what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// The manager at work on the run, which acts on it.
    ByManager,
    /// This process: nobody is at work on the run.
    Here,
}

/// Has a wish recorded.
///
/// # Errors
/// When it cannot be granted, the manager cannot be reached, or the storage fails.
pub(crate) fn make(app: &App, run: &RunFolder, wish: &Wish) -> Result<Recorded, Report> {
    for _ in 0..HANDS_MAX {
        let Some(holder) = ledger::holder(&run.path) else {
            if here(run, wish)? {
                return Ok(Recorded::Here);
            }
            continue;
        };
        match ask(app, run, &holder, &Request::from(wish.clone()))? {
            Asked::Done => return Ok(Recorded::ByManager),
            Asked::Refused(refusal) if refusal.code == Code::Ending => is_gone(run, &holder),
            Asked::Refused(refusal) => return Err(refused(run, wish, &refusal)),
            Asked::Unreachable(error) if ledger::holder(&run.path).as_ref() == Some(&holder) => {
                return Err(unreachable(run, &holder, &error));
            }
            Asked::Unreachable(error) if !may_ask_again(wish, &error) => {
                return Err(unknown(run, &holder, &error));
            }
            Asked::Unreachable(_) => true,
        };
    }
    Err(Report::storage(format!("The run `{}` changes hands", run.id)).hint("try again"))
}

/// Whether asking the next manager cannot do it twice. Said again, a text would be heard twice; all else is
/// refused once it was done.
fn may_ask_again(wish: &Wish, error: &Unreachable) -> bool {
    match (wish, error) {
        (_, Unreachable::Nowhere) => true,
        (Wish::Tell { .. }, _) => false,
        (Wish::Cancel { .. } | Wish::CancelAll | Wish::Retry { .. } | Wish::RetryFailed, _) => true,
    }
}

/// What came of asking a manager.
pub(crate) enum Asked {
    /// It was done, and is durable.
    Done,
    /// It will not be done.
    Refused(Refusal),
    /// Nobody answered.
    Unreachable(Unreachable),
}

/// Asks the manager of a run.
///
/// # Errors
/// When no runtime can be had.
pub(crate) fn ask(
    app: &App,
    run: &RunFolder,
    holder: &Holder,
    request: &Request,
) -> Result<Asked, Report> {
    let folders = places::control(&app.around);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::storage("No connection can be made").because(&error))?;
    let answer = runtime.block_on(socket::ask(&folders, &run.path, holder.pid, request));
    Ok(match answer {
        Ok(Ok(())) => Asked::Done,
        Ok(Err(refusal)) => Asked::Refused(refusal),
        Err(error) => Asked::Unreachable(error),
    })
}

/// Waits until a process lets go of a run; false when it does not.
pub(crate) fn is_gone(run: &RunFolder, holder: &Holder) -> bool {
    for _ in 0..LOOKS {
        if ledger::holder(&run.path).as_ref() != Some(holder) {
            return true;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    false
}

/// Records a wish in the manager's place; false when a manager has come meanwhile.
fn here(run: &RunFolder, wish: &Wish) -> Result<bool, Report> {
    let read = ReadRun::of(run.clone());
    if let Some(damage) = read.damage {
        return Err(damage);
    }
    let store = match launch::take(&run.path) {
        Ok(store) => store,
        Err(_) if ledger::holder(&run.path).is_some() => return Ok(false),
        Err(report) => return Err(report),
    };
    let tasks = launch::tasks_of(&run.path, store.state())?;
    let input = Input::Wish(wish.clone());
    let failed = |error| {
        Report::storage(format!("The run `{}` could not be written", run.id)).because(&error)
    };
    match unmanaged::record(store, &tasks, input, &SystemClock).map_err(failed)? {
        Reply::Declined(decline) => Err(refused(run, wish, &decline.into())),
        _ => Ok(true),
    }
}

fn refused(run: &RunFolder, wish: &Wish, refusal: &Refusal) -> Report {
    let report = Report::usage(format!("The run `{}` refuses: {refusal}", run.id));
    let see = format!("`codewhale fleet status {}` shows its tasks", run.id);
    match (refusal.code, wish) {
        (Code::Declined, Wish::Tell { task, .. }) => report.hint(format!(
            "what ended without success can be told something as it is tried again: codewhale fleet retry {task} --instructions TEXT"
        )),
        (Code::NoTask | Code::Declined, _) => report.hint(see),
        (Code::Busy, _) => report.hint("try again"),
        (Code::Version, _) => report.hint("the manager is of another version of codewhale: use that one"),
        _ => report,
    }
}

/// A manager that ended after it was asked, and before it answered.
fn unknown(run: &RunFolder, holder: &Holder, error: &Unreachable) -> Report {
    Report::storage(format!(
        "The manager of `{}`, {holder}, ended meanwhile ({error}): it is not known whether it recorded that",
        run.id
    ))
    .hint(format!(
        "`codewhale fleet logs {}` shows it if it did; if not, say it again",
        run.id
    ))
}

fn unreachable(run: &RunFolder, holder: &Holder, error: &Unreachable) -> Report {
    Report::new(
        Exit::Storage,
        format!("The manager of `{}`, {holder}, cannot be asked: {error}", run.id),
    )
    .hint(format!(
        "`codewhale fleet stop {0}` stops it all the same; what was recorded shows in `codewhale fleet logs {0}`",
        run.id
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_said_again_only_where_nobody_can_have_heard_it() {
        #[track_caller]
        fn check(wish: &Wish, error: &Unreachable, expected: bool) {
            assert_eq!(may_ask_again(wish, error), expected, "{wish:?} {error}");
        }
        let tell = Wish::Tell {
            task: "t".parse().unwrap(),
            text: "x".to_owned(),
        };
        check(&tell, &Unreachable::Nowhere, true);
        for error in [Unreachable::Silent, Unreachable::Unintelligible] {
            check(&tell, &error, false);
            check(&Wish::CancelAll, &error, true);
        }
    }
}
