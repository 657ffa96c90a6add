//! `codewhale fleet land`: takes a run's work onto the branch that the run started from, in the person's
//! name, and records it. The only command that moves a branch of theirs; never does so over work that is
//! not committed.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::exit::Exit;
use crate::launch;
use crate::report::Report;
use crate::repository;
use crate::runs::{self, Runs};
use fleet_core::ids::{BranchName, CommitId};
use fleet_core::record::{EndState, Record, RunLanded};
use fleet_core::state::{FleetState, Phase, Run};
use fleet_git::{Arrival, Home, Homeward, HomewardError, MergeNote, Repo, UnixSeconds};
use fleet_runtime::clock::{Clock as _, SystemClock};
use fleet_runtime::store::Store;
use fleet_runtime::unmanaged;
use fleet_tui::line::{Line, Tone};
use serde::Serialize;
use std::path::PathBuf;

/// Most tasks that a merge commit names.
const TASKS_MAX: usize = 50;

/// Take a run's work onto your branch
///
/// The branch is the one that the run started from, whatever is checked out now. It is moved forward where
/// that is possible; else a merge commit is made, with your hooks, your identity and your signing. Where
/// the branch is checked out, the merge happens there; where it is not, only the branch is moved. What
/// does not merge, and uncommitted work in the way, is told before anything is touched.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet land              the newest run\n  codewhale fleet land docs-26\n  codewhale fleet land --onto next  another branch than the run started from\n\nExit codes:\n  0 it is there   1 nothing landed in the run   5 something is in the way that only you can take away\n  8 the run is held by another process"
)]
pub(crate) struct Land {
    /// Id of the run, or the beginning of it [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Another branch than the one that the run started from
    #[arg(long, value_name = "BRANCH")]
    onto: Option<String>,
    #[command(flatten)]
    json: JsonOption,
}

/// What became of it.
#[derive(Debug, Serialize)]
struct Outcome<'a> {
    run: &'a str,
    branch: &'a str,
    how: &'static str,
    before: Option<&'a str>,
    commit: &'a str,
    head: &'a str,
    checkout: Option<String>,
    hooks_not_run: &'a [&'static str],
    ledger: Sum,
}

/// Work that is on the person's branch now.
struct Taken {
    run: Run,
    landed: RunLanded,
    home: Home,
    ledger: Sum,
}

/// A line of the ledger, whose sum covers all before it.
#[derive(Debug, Clone, Serialize)]
struct Sum {
    line: u64,
    sum: String,
}

impl Land {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When there is nothing to take, something is in the way, or the run is held by another process.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let folder = Runs::of(app)?.find(self.run.as_deref())?;
        let repo = repository::find(&app.around)?;
        let store = launch::take(&folder.path)?;
        let taken = match store.state().run().cloned() {
            Some(run) => self.take(&repo, &store, run),
            None => Err(runs::not_opened(&folder.id)),
        };
        match taken {
            Ok(taken) => {
                record(store, &taken.landed)?;
                match self.format() {
                    Format::Json => app.output.object("land", &outcome(&taken))?,
                    Format::Text => show(app, &taken),
                }
                Ok(Exit::Done)
            }
            Err(report) => {
                if let Err(error) = store.let_go() {
                    tracing::warn!(%error, "the run was not let go of cleanly");
                }
                Err(report)
            }
        }
    }

    fn take(&self, repo: &Repo, store: &Store, run: Run) -> Result<Taken, Report> {
        let state = store.state();
        let head = offered(state, &run)?;
        let branch = match (&self.onto, &run.base_branch) {
            (Some(named), _) => BranchName(named.clone()),
            (None, Some(branch)) => branch.clone(),
            (None, None) => return Err(no_branch(&run)),
        };
        let ledger = Sum {
            line: store.head().map_or(0, |head| head.seq.0),
            sum: store
                .head()
                .map_or_else(String::new, |head| head.sum.to_string()),
        };
        let home = repo
            .bring_home(&Homeward {
                branch: &branch,
                head: &head,
                note: MergeNote {
                    message: &message(state, &run, &ledger),
                    role: "land",
                    at: UnixSeconds(SystemClock.now().timestamp()),
                },
            })
            .map_err(|error| refusal(&run, &head, error))?;
        let landed = RunLanded {
            before: match &home.how {
                Arrival::Found => None,
                Arrival::FastForward { before } | Arrival::Merge { before } => Some(before.clone()),
            },
            branch,
            commit: home.commit.clone(),
            head,
        };
        Ok(Taken {
            run,
            landed,
            home,
            ledger,
        })
    }
}

/// The head of the work that there is to take.
fn offered(state: &FleetState, run: &Run) -> Result<CommitId, Report> {
    let id = &run.id;
    if state.is_unfinished() {
        return Err(
            Report::new(Exit::Person, format!("The run `{id}` is not finished"))
                .hint(format!("go on with it first: codewhale fleet resume {id}")),
        );
    }
    if let Some(reason) = &run.rejected {
        let why = match reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        let report = Report::new(Exit::Person, format!("The run `{id}` was rejected{why}"));
        return Err(match &run.integration {
            Some(branch) => report.hint(format!("its work is on `{branch}`; `git merge` takes it")),
            None => report,
        });
    }
    match (&run.head, &run.integration) {
        (Some(head), Some(_)) if run.head != run.base => Ok(head.clone()),
        (_, None) => Err(Report::new(
            Exit::Nothing,
            format!("The run `{id}` has worked in your own folder: there is nothing to take"),
        )),
        _ => Err(Report::new(
            Exit::Nothing,
            format!("Nothing has landed in the run `{id}`"),
        )
        .hint(format!("see why: codewhale fleet status {id}"))),
    }
}

fn no_branch(run: &Run) -> Report {
    Report::usage(format!("The run `{}` did not start from a branch", run.id))
        .hint("name the branch that takes its work: --onto BRANCH")
}

/// What a merge commit says. The sum is that of the ledger's last line: whoever has the commit can tell
/// whether the ledger was changed since.
fn message(state: &FleetState, run: &Run, ledger: &Sum) -> String {
    let landed: Vec<String> = state
        .tasks()
        .filter(|(_, task)| task.phase == Phase::Ended(EndState::Landed))
        .map(|(_, task)| format!("- {}\n", task.spec.id))
        .collect();
    let mut tasks: String = landed.iter().take(TASKS_MAX).map(String::as_str).collect();
    if landed.len() > TASKS_MAX {
        tasks.push_str(&format!("- and {} more\n", landed.len() - TASKS_MAX));
    }
    format!(
        "Merge run {run}\n\n{tasks}\nCodewhale-Run: {run}\nCodewhale-Ledger: line {line}, {sum}\n",
        run = run.id,
        line = ledger.line,
        sum = ledger.sum,
    )
}

/// Records it, if it is not recorded yet: after a crash between the two, the branch tells.
fn record(store: Store, landed: &RunLanded) -> Result<(), Report> {
    let taken = store.state().run().and_then(|run| run.taken.as_ref());
    let is_known =
        taken.is_some_and(|taken| taken.head == landed.head && taken.branch == landed.branch);
    let failed = || {
        Report::storage(format!(
            "The work is on `{}`, but that could not be recorded",
            landed.branch
        ))
        .hint("the same command finds it there and records it")
    };
    if is_known {
        return store.let_go().map_err(|error| failed().because(&error));
    }
    unmanaged::add(store, Record::from(landed.clone()), &SystemClock)
        .map_err(|error| failed().because(&error))
}

fn refusal(run: &Run, head: &CommitId, error: HomewardError) -> Report {
    let exit = match &error {
        HomewardError::Repo(_) => Exit::Storage,
        _ => Exit::Person,
    };
    let report = Report::new(
        exit,
        format!("The work of `{}` was not taken: {error}", run.id),
    );
    match error {
        HomewardError::NoBranch(_) => report.hint("name another one: --onto BRANCH"),
        HomewardError::Busy { .. } => report.hint("finish it or give it up, then land again (`git worktree prune` forgets a checkout that is gone for good)"),
        HomewardError::InTheWay { paths, .. } => report
            .listing(lines(&paths))
            .hint("commit it or put it away (`git stash -u`), then land again"),
        HomewardError::Conflict { branch, conflicts } => {
            let found = conflicts.found.iter();
            let listed: Vec<String> = found
                .map(|conflict| {
                    let paths: Vec<String> = conflict
                        .paths
                        .iter()
                        .map(|p| p.display().to_string())
                        .collect();
                    format!("{}: {}", conflict.kind, paths.join(", "))
                })
                .collect();
            let work = run
                .integration
                .as_ref()
                .map_or(head.as_str(), BranchName::as_str);
            report.listing(listed.join("\n")).hint(format!(
                "on `{branch}`, `git merge {work}` lets you solve it; then `codewhale fleet land {}` records it",
                run.id
            ))
        }
        HomewardError::Nameless => {
            report.hint("git config --global user.name \"Your Name\", and user.email likewise")
        }
        HomewardError::Refused(said) => report.because(&said),
        HomewardError::HalfWay { source, .. } => report
            .because(&source)
            .hint("`git status` there says what is left; `git merge --abort` ends it"),
        HomewardError::Moved(_) => report.hint("land again"),
        HomewardError::Repo(error) => report.because(&error),
    }
}

fn lines(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join("\n")
}

fn outcome(taken: &Taken) -> Outcome<'_> {
    let Taken {
        run,
        landed,
        home,
        ledger,
    } = taken;
    Outcome {
        run: run.id.as_str(),
        branch: landed.branch.as_str(),
        how: how(home),
        before: landed.before.as_ref().map(CommitId::as_str),
        commit: landed.commit.as_str(),
        head: landed.head.as_str(),
        checkout: home
            .checkout
            .as_ref()
            .map(|path| path.display().to_string()),
        hooks_not_run: &home.hooks_not_run,
        ledger: ledger.clone(),
    }
}

fn how(home: &Home) -> &'static str {
    match home.how {
        Arrival::Found => "found",
        Arrival::FastForward { .. } => "fast-forward",
        Arrival::Merge { .. } => "merge",
    }
}

fn show(app: &App, taken: &Taken) {
    let Taken {
        run,
        landed,
        home,
        ledger,
    } = taken;
    let short: String = landed.commit.as_str().chars().take(12).collect();
    let how = match home.how {
        Arrival::Found => "was there already",
        Arrival::FastForward { .. } => "moved forward",
        Arrival::Merge { .. } => "merged",
    };
    let line = Line::from("the work of ")
        .and(Tone::Strong, run.id.as_str())
        .and(Tone::Plain, " is on ")
        .and(Tone::Strong, landed.branch.as_str())
        .and(Tone::Faint, &format!(" at {short} ({how})"));
    app.output.line(line);
    app.output
        .line(format!("ledger line {}, sum {}", ledger.line, ledger.sum));
    match &home.checkout {
        Some(checkout) => app.output.say(format!("merged in {}", checkout.display())),
        None if home.how != Arrival::Found => app.output.say(format!(
            "{} is checked out nowhere: only the branch was moved",
            landed.branch
        )),
        None => {}
    }
    if !home.hooks_not_run.is_empty() {
        app.output.say(Line::new().and(
            Tone::Warn,
            &format!(
                "without a checkout, these hooks of yours did not run: {}",
                home.hooks_not_run.join(", ")
            ),
        ));
    }
}
