//! `codewhale fleet inspect`: everything that is known of one task. Never takes the run.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::json::TaskJson;
use crate::report::Report;
use crate::runs::{ReadRun, Runs};
use engine_core::content::Content;
use engine_core::ids::TaskId;
use engine_core::record::Verdict;
use fleet_core::ids::BranchName;
use fleet_core::record::{CheckFinished, CheckStage, Record};
use fleet_core::state::{FindingSource, Task};
use fleet_core::view::{RunView, TaskView};
use fleet_runtime::blobs::RunBlobs;
use fleet_runtime::clock::{Clock as _, SystemClock, timestamp};
use fleet_runtime::codec::FleetCodec;
use fleet_tui::line::{Line, Tone};
use fleet_tui::{picture, words};
use serde::Serialize;
use std::path::Path;

/// Show everything that is known of a task
///
/// What was asked, what came of it, the checks with their output, what a reviewer found, and where
/// the work lies.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet inspect tests\n  codewhale fleet inspect tests --run docs-26\n  codewhale fleet inspect tests --json | jq -r .result"
)]
pub(crate) struct Inspect {
    /// The task
    #[arg(value_name = "TASK")]
    task: String,
    /// Id of the run, or the beginning of it [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    json: JsonOption,
}

/// A task with all that is known of it.
#[derive(Debug, Serialize)]
struct Known<'a> {
    run: &'a str,
    #[serde(flatten)]
    task: TaskJson<'a>,
    prompt: &'a str,
    needs: Vec<&'a str>,
    result: Option<String>,
    workspace: Option<&'a str>,
    branch: Option<&'a str>,
    base: Option<&'a str>,
    commit: Option<&'a str>,
    #[serde(flatten)]
    told: Told,
    findings: Vec<Found>,
}

/// What only the records of all its attempts tell.
#[derive(Debug, Default, Serialize)]
struct Told {
    checks: Vec<Receipt>,
    reviews: Vec<Review>,
    compactions: Vec<Compaction>,
}

/// How a conversation was made smaller.
#[derive(Debug, Serialize)]
struct Compaction {
    attempt: u32,
    bytes_before: u64,
    bytes_after: u64,
}

/// What a reviewer decided about an attempt; for a reviewing task, its own verdict.
#[derive(Debug, Serialize)]
struct Review {
    attempt: u32,
    by: String,
    verdict: Verdict,
    findings: String,
}

/// What a check left.
#[derive(Debug, Serialize)]
struct Receipt {
    attempt: u32,
    stage: CheckStage,
    command: String,
    commit: String,
    exit: Option<i32>,
    millis: u64,
    output: String,
}

/// What was wrong with an attempt, besides its checks.
#[derive(Debug, Serialize)]
struct Found {
    attempt: u32,
    source: &'static str,
    text: String,
}

impl Inspect {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is no such run or task, or the ledger is damaged; what stands before is shown.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let run = ReadRun::of(Runs::of(app)?.find(self.run.as_deref())?);
        let Some(view) = run.view() else {
            return Err(run.silence());
        };
        let task = find(&run, &self.task)?;
        let shown = view.tasks.iter().find(|shown| shown.task == task.spec.id);
        let shown = shown.ok_or_else(|| no_task(&run, &self.task))?;
        let known = known(&run, task, shown)?;
        match self.format() {
            Format::Json => app.output.object("inspect", &known)?,
            Format::Text => show(app, &view, shown, &known),
        }
        run.end()
    }
}

/// The task of this name.
///
/// # Errors
/// When the run has none.
pub(super) fn find<'a>(run: &'a ReadRun, name: &str) -> Result<&'a Task, Report> {
    name.parse::<TaskId>()
        .ok()
        .and_then(|id| run.state.find(&id))
        .map(|(_, task)| task)
        .ok_or_else(|| no_task(run, name))
}

fn no_task(run: &ReadRun, name: &str) -> Report {
    let tasks = run.state.tasks().map(|(_, task)| task.spec.id.to_string());
    Report::usage(format!("The run `{}` has no task `{name}`", run.folder.id)).hint(format!(
        "its tasks: {}",
        tasks.collect::<Vec<_>>().join(", ")
    ))
}

fn known<'a>(run: &'a ReadRun, task: &'a Task, view: &'a TaskView) -> Result<Known<'a>, Report> {
    let blobs = RunBlobs::new(&run.folder.path);
    let text = |content: &Content| {
        blobs
            .text(content)
            .unwrap_or_else(|error| format!("({error})"))
    };
    let attempt = task.attempt.as_ref();
    Ok(Known {
        run: &run.folder.id,
        task: TaskJson::of(view),
        prompt: &task.spec.prompt,
        needs: task.spec.needs.iter().map(TaskId::as_str).collect(),
        result: task.result.as_ref().map(text),
        workspace: attempt.and_then(|attempt| attempt.path.as_deref()),
        branch: attempt.and_then(|attempt| Some(attempt.branch.as_ref()?.as_str())),
        base: attempt.and_then(|attempt| Some(attempt.base.as_ref()?.as_str())),
        commit: attempt.and_then(|attempt| Some(attempt.commit.as_ref()?.0.as_str())),
        told: told(run, &task.spec.id, &text),
        findings: task
            .findings
            .iter()
            .filter(|finding| !matches!(finding.source, FindingSource::Check { .. }))
            .map(|finding| Found {
                attempt: finding.attempt.0,
                source: source_of(&finding.source),
                text: text(&finding.text),
            })
            .collect(),
    })
}

/// The checks, verdicts and compactions of all attempts. A damaged ledger gives those before the
/// damage: what it is, the command says at its end.
fn told(run: &ReadRun, task: &TaskId, text: &impl Fn(&Content) -> String) -> Told {
    let mut told = Told::default();
    let _ = ledger::replay(&run.folder.path, &FleetCodec, &mut |entry| {
        for record in entry.records {
            match record {
                Record::CheckFinished(check) if check.task == *task => {
                    told.checks.push(receipt(check, text));
                }
                Record::ReviewGiven(given) => {
                    let reviewer = run.state.find(&given.task);
                    let of = reviewer.and_then(|(_, task)| task.review_of.as_ref());
                    if let Some(of) = of.filter(|of| of.task == *task || given.task == *task) {
                        told.reviews.push(Review {
                            attempt: of.attempt.0,
                            by: given.task.to_string(),
                            verdict: given.verdict,
                            findings: text(&given.findings),
                        });
                    }
                }
                Record::ContextCompacted(compacted) if compacted.task == *task => {
                    told.compactions.push(Compaction {
                        attempt: compacted.attempt.0,
                        bytes_before: compacted.before,
                        bytes_after: compacted.after,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    });
    told
}

fn receipt(check: CheckFinished, text: &impl Fn(&Content) -> String) -> Receipt {
    Receipt {
        attempt: check.attempt.0,
        stage: check.stage,
        output: text(&check.output),
        command: check.command,
        commit: check.commit.0,
        exit: check.exit,
        millis: check.millis,
    }
}

fn source_of(source: &FindingSource) -> &'static str {
    match source {
        FindingSource::Check { .. } => "check",
        FindingSource::Review => "review",
        FindingSource::Failure => "failure",
        FindingSource::Unchanged => "unchanged",
        FindingSource::Conflict { .. } => "conflict",
    }
}

fn show(app: &App, run: &RunView, view: &TaskView, known: &Known<'_>) {
    let room = app.output.columns();
    let now = picture::until(run, timestamp(SystemClock.now()));
    for line in picture::tasks(&[view], view.ended_at.unwrap_or(now), room) {
        app.output.line(line);
    }
    let fact = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let name = format!("{name:<10}");
            app.output
                .line(Line::new().and(Tone::Faint, &name).and(Tone::Plain, value));
        }
    };
    fact("run", Some(known.run));
    fact(
        "needs",
        Some(known.needs.join(", ").as_str()).filter(|n| !n.is_empty()),
    );
    fact("tokens", Some(&tokens_of(view)));
    fact("compacted", known.told.compacted().as_deref());
    // The branch of work that has landed is taken away: what it held is on the other one.
    if view.state == "landed" {
        fact(
            "landed on",
            run.integration.as_ref().map(BranchName::as_str),
        );
    } else {
        fact("branch", known.branch);
    }
    fact("commit", known.commit);
    let workspace = known.workspace.map(|path| {
        let is_there = Path::new(path).exists();
        format!("{path}{}", if is_there { "" } else { " (taken away)" })
    });
    fact("workspace", workspace.as_deref());
    section(app, "Asked", known.prompt);
    let checks = known
        .told
        .checks
        .iter()
        .map(|check| (check.attempt, title_of(check), &check.output));
    let reviews = known.told.reviews.iter().map(|review| {
        let title = match review.verdict {
            Verdict::Approve => format!("{} approves", review.by),
            Verdict::Reject => format!("{} rejects", review.by),
        };
        (review.attempt, title, &review.findings)
    });
    let findings = known
        .findings
        .iter()
        .filter(|found| found.source != source_of(&FindingSource::Review))
        .map(|found| (found.attempt, found.source.to_owned(), &found.text));
    let mut events: Vec<_> = checks.chain(reviews).chain(findings).collect();
    // A finding ends its attempt: it stands behind the checks of it.
    events.sort_by_key(|(attempt, ..)| *attempt);
    for (attempt, title, text) in events {
        section(app, &format!("Attempt {attempt}, {title}"), text);
    }
    if let Some(result) = &known.result {
        section(app, "Result", result);
    }
}

fn tokens_of(view: &TaskView) -> String {
    let spent = &view.account.spent;
    let (input, output) = (words::count(spent.input.0), words::count(spent.output.0));
    let unreported = match spent.unreported.0 {
        0 => String::new(),
        most => format!(", at most {} not reported", words::count(most)),
    };
    format!("{input} in, {output} out{unreported}")
}

impl Told {
    /// How often a conversation was made smaller, and what that came to in the end.
    fn compacted(&self) -> Option<String> {
        let last = self.compactions.last()?;
        let times = words::counted(self.compactions.len() as u64, "time");
        let (before, after) = (
            words::count(last.bytes_before),
            words::count(last.bytes_after),
        );
        Some(format!("{times}, the last from {before} to {after} bytes"))
    }
}

fn title_of(check: &Receipt) -> String {
    let how = match check.exit {
        Some(0) => "passed".to_owned(),
        Some(code) => format!("exit {code}"),
        None => "time limit or signal".to_owned(),
    };
    let on = match check.stage {
        CheckStage::Own => "",
        CheckStage::Merged => " after the merge",
    };
    format!("check {how}{on}: {}", check.command)
}

fn section(app: &App, title: &str, text: &str) {
    app.output.line("");
    app.output.line(Line::new().and(Tone::Strong, title));
    if !text.trim().is_empty() {
        app.output.text(text.trim_end());
    }
}
