//! Runs and tasks as programs read them: the fields of every `--json` of a reading command. The words
//! are those of the screens.

use chrono::{DateTime, SecondsFormat};
use fleet_core::budget::Account;
use fleet_core::time::Timestamp;
use fleet_core::view::{RunView, TaskView};
use serde::Serialize;

/// A run.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson<'a> {
    run: &'a str,
    state: &'a str,
    reason: Option<&'a str>,
    exit: Option<u8>,
    repository: &'a str,
    base: Option<&'a str>,
    integration: Option<&'a str>,
    head: Option<&'a str>,
    base_branch: Option<&'a str>,
    /// Where the person last took its work.
    landed: Option<LandedJson<'a>>,
    rejected: bool,
    tokens: TokensJson,
    opened_at: String,
    last_at: String,
    /// Process that manages it now.
    manager: Option<u32>,
    tasks: Vec<TaskJson<'a>>,
}

/// A task.
#[derive(Debug, Serialize)]
pub(crate) struct TaskJson<'a> {
    task: &'a str,
    role: &'a str,
    model: Option<String>,
    state: &'a str,
    note: Option<&'a str>,
    attempt: u32,
    steps: u32,
    tokens: TokensJson,
    started_at: Option<String>,
    ended_at: Option<String>,
    blocked_by: Option<&'a str>,
    review_of: Option<&'a str>,
    change: Option<ChangeJson>,
}

/// Work of a run on a branch of the person's.
#[derive(Debug, Serialize)]
struct LandedJson<'a> {
    branch: &'a str,
    commit: &'a str,
    head: &'a str,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    files: u32,
    insertions: u32,
    deletions: u32,
}

/// An account of tokens.
#[derive(Debug, Serialize)]
pub(crate) struct TokensJson {
    spent: u64,
    input: u64,
    output: u64,
    cached: u64,
    unreported: u64,
    overrun: u64,
    reserved: u64,
    cap: Option<u64>,
}

impl<'a> RunJson<'a> {
    /// A run, and the process that manages it now.
    pub(crate) fn of(view: &'a RunView, manager: Option<u32>) -> Self {
        Self {
            run: view.run.as_str(),
            state: view.state,
            reason: view.reason.as_deref(),
            exit: view.exit,
            repository: &view.repository,
            base: view.base.as_ref().map(|commit| commit.as_str()),
            integration: view.integration.as_ref().map(|branch| branch.as_str()),
            head: view.head.as_ref().map(|commit| commit.as_str()),
            base_branch: view.base_branch.as_ref().map(|branch| branch.as_str()),
            landed: view.taken.as_ref().map(|taken| LandedJson {
                branch: taken.branch.as_str(),
                commit: taken.commit.as_str(),
                head: taken.head.as_str(),
            }),
            rejected: view.rejected.is_some(),
            tokens: TokensJson::of(&view.account),
            opened_at: instant(view.opened_at),
            last_at: instant(view.last_at),
            manager,
            tasks: view.tasks.iter().map(TaskJson::of).collect(),
        }
    }
}

impl<'a> TaskJson<'a> {
    /// A task.
    pub(crate) fn of(view: &'a TaskView) -> Self {
        Self {
            task: view.task.as_str(),
            role: &view.role.0,
            model: view.model.as_ref().map(ToString::to_string),
            state: view.state,
            note: view.note.as_deref(),
            attempt: view.attempt.0,
            steps: view.steps,
            tokens: TokensJson::of(&view.account),
            started_at: view.started_at.map(instant),
            ended_at: view.ended_at.map(instant),
            blocked_by: view.blocked_by.as_ref().map(|task| task.as_str()),
            review_of: view.review_of.as_ref().map(|task| task.as_str()),
            change: view.change.map(|change| ChangeJson {
                files: change.files,
                insertions: change.insertions,
                deletions: change.deletions,
            }),
        }
    }
}

impl TokensJson {
    fn of(account: &Account) -> Self {
        let spent = &account.spent;
        Self {
            spent: spent.total().0,
            input: spent.input.0,
            output: spent.output.0,
            cached: spent.cached.0,
            unreported: spent.unreported.0,
            overrun: spent.overrun.0,
            reserved: account.reserved.0,
            cap: account.cap.map(|cap| cap.0),
        }
    }
}

/// An instant as RFC 3339 in UTC, to the millisecond.
pub(crate) fn instant(at: Timestamp) -> String {
    DateTime::from_timestamp_millis(at.0)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_the_ledger_writes_them() {
        let check = |millis, expected: &str| assert_eq!(instant(Timestamp(millis)), expected);
        check(0, "1970-01-01T00:00:00.000Z");
        check(1_796_041_868_114, "2026-11-30T12:31:08.114Z");
    }
}
