//! The runs of a repository: finding the one that is meant, and reading it without taking it. Never
//! writes a run.

use crate::app::App;
use crate::exit::Exit;
use crate::launch::read_report;
use crate::places;
use crate::report::Report;
use crate::repository;
use chrono::{DateTime, Utc};
use fleet_core::record::Record;
use fleet_core::state::FleetState;
use fleet_core::view::{Manager, RunView};
use fleet_runtime::codec::FleetCodec;
use fleet_runtime::store::fold;
use ledger::{Entry, Holder};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of runs that a command looks into.
pub(crate) struct Runs {
    folder: PathBuf,
    whose: Whose,
}

/// Whose runs a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of the repository around.
    Repository,
    /// Those that the person began outside of any repository.
    Person,
}

impl Whose {
    /// What to say where there is none.
    pub(crate) fn none(self) -> Report {
        match self {
            Self::Repository => Report::usage("There is no run of this repository yet")
                .hint("start one: codewhale fleet run roster.toml"),
            Self::Person => Report::usage(
                "This folder is in no git repository, and there is no run outside of one yet",
            )
            .hint("go into the repository of the run, or name it with -C"),
        }
    }

    /// The runs that were looked through, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Repository => "run of this repository",
            Self::Person => "run outside of a repository",
        }
    }
}

/// One run's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFolder {
    /// The run's id: the folder's name.
    pub(crate) id: String,
    /// The folder.
    pub(crate) path: PathBuf,
    /// When it was opened; `None` when its ledger does not say.
    pub(crate) opened_at: Option<DateTime<Utc>>,
}

/// A run as its ledger tells it.
pub(crate) struct ReadRun {
    /// Where it lies.
    pub(crate) folder: RunFolder,
    /// What its whole lines say.
    pub(crate) state: FleetState,
    /// Who manages it now.
    pub(crate) manager: Option<Holder>,
    /// Why what is shown ends before the ledger does.
    pub(crate) damage: Option<Report>,
}

impl Runs {
    /// Those of the current repository, or of the person where there is none.
    ///
    /// # Errors
    /// When there is a repository that cannot be worked with, or no place for runs.
    pub(crate) fn of(app: &App) -> Result<Self, Report> {
        let repo = repository::find_if_any(&app.around)?;
        let common = repo.as_ref().map(fleet_git::Repo::git_common_dir);
        Ok(Self {
            folder: places::runs(&app.around, common)?,
            whose: match common {
                Some(_) => Whose::Repository,
                None => Whose::Person,
            },
        })
    }

    /// Whose they are.
    pub(crate) fn whose(&self) -> Whose {
        self.whose
    }

    /// All of them, the newest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn all(&self) -> Result<Vec<RunFolder>, Report> {
        let failed = |error: &std::io::Error| {
            Report::storage(format!("`{}` cannot be read", self.folder.display())).because(error)
        };
        let entries = match self.folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&error)),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| failed(&error))?.path();
            let Some(id) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if path.is_dir() {
                runs.push(RunFolder {
                    id: id.to_owned(),
                    opened_at: opened_at(&path),
                    path,
                });
            }
        }
        runs.sort_by(|a, b| (b.opened_at, &b.id).cmp(&(a.opened_at, &a.id)));
        Ok(runs)
    }

    fn none_that(&self, what: &str) -> Report {
        let words = self.whose.words();
        Report::usage(format!("No {words} {what}")).hint("`codewhale fleet list` shows all of them")
    }

    /// The run that is meant: by its id or the beginning of it, else the newest.
    ///
    /// # Errors
    /// When there is none, or the beginning fits several.
    pub(crate) fn find(&self, given: Option<&str>) -> Result<RunFolder, Report> {
        chosen(self.all()?, given, self.whose)
    }

    /// Why no run can be gone on with, when these are at work: they are unfinished, too.
    fn none_to_go_on_with(&self, managed: &[String]) -> Report {
        if managed.is_empty() {
            return self.none_that("is unfinished");
        }
        Report::usage("Every run that is unfinished is at work already")
            .listing(managed.join("\n"))
            .hint("`codewhale fleet logs -f` goes on with one; `codewhale fleet stop` stops it")
    }

    /// The only run that a manager is at work on.
    ///
    /// # Errors
    /// When there is none, or there are several.
    pub(crate) fn find_managed(&self) -> Result<RunFolder, Report> {
        let mut managed = self.all()?;
        managed.retain(|run| ledger::holder(&run.path).is_some());
        match managed.len() {
            0 => Err(self.none_that("is at work")),
            1 => Ok(managed.remove(0)),
            _ => Err(several("Several runs are at work", &managed)),
        }
    }

    /// The only run that a manager is at work on, else the only one that is not finished.
    ///
    /// # Errors
    /// When there is none, or several could be meant.
    pub(crate) fn find_begun(&self) -> Result<RunFolder, Report> {
        let is_managed = |run: &RunFolder| ledger::holder(&run.path).is_some();
        if self.all()?.iter().any(is_managed) {
            return self.find_managed();
        }
        self.find_unfinished(None)
    }

    /// The run that is meant: by its id or the beginning of it, else the only one at work, else the newest.
    ///
    /// # Errors
    /// When there is none, or several could be meant.
    pub(crate) fn find_current(&self, given: Option<&str>) -> Result<RunFolder, Report> {
        let is_managed = |run: &RunFolder| ledger::holder(&run.path).is_some();
        if given.is_none() && self.all()?.iter().any(is_managed) {
            return self.find_managed();
        }
        self.find(given)
    }

    /// The run to go on with: by its id or the beginning of it, else the newest that is not finished.
    ///
    /// # Errors
    /// When there is none, or several are not finished and none was named.
    pub(crate) fn find_unfinished(&self, given: Option<&str>) -> Result<RunFolder, Report> {
        let all = self.all()?;
        if given.is_some() {
            return chosen(all, given, self.whose);
        }
        let (open, rest): (Vec<ReadRun>, Vec<ReadRun>) =
            read_all(all).into_iter().partition(ReadRun::is_left_open);
        let mut open: Vec<RunFolder> = open.into_iter().map(|run| run.folder).collect();
        let managed: Vec<String> = rest
            .into_iter()
            .filter(|run| run.manager.is_some())
            .map(|run| run.folder.id)
            .collect();
        match open.len() {
            0 => Err(self.none_to_go_on_with(&managed)),
            1 => Ok(open.remove(0)),
            _ => Err(several("Several runs are unfinished", &open)),
        }
    }
}

fn chosen(mut all: Vec<RunFolder>, given: Option<&str>, whose: Whose) -> Result<RunFolder, Report> {
    if given.is_some_and(str::is_empty) {
        // Most likely a variable of a script that is not set: no run is meant by it.
        return Err(Report::usage("The id of the run is empty").hint(
            "leave it out for the newest run, or name one; `codewhale fleet list` shows all",
        ));
    }
    if all.is_empty() {
        return Err(whose.none());
    }
    let Some(given) = given else {
        return Ok(all.remove(0));
    };
    if let Some(at) = all.iter().position(|run| run.id == given) {
        return Ok(all.swap_remove(at));
    }
    let mut fitting: Vec<RunFolder> = all
        .into_iter()
        .filter(|run| run.id.starts_with(given))
        .collect();
    match fitting.len() {
        0 => Err(Report::usage(format!("No run is called `{given}`"))
            .hint("`codewhale fleet list` shows all of them")),
        1 => Ok(fitting.remove(0)),
        _ => Err(several(&format!("`{given}` fits several runs"), &fitting)),
    }
}

/// Reads runs, several at a time; in the order given. One that is damaged is read up to the damage.
pub(crate) fn read_all(folders: Vec<RunFolder>) -> Vec<ReadRun> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = folders.len().div_ceil(workers).max(1);
    let mut shares: Vec<Vec<RunFolder>> = Vec::new();
    let mut rest = folders.into_iter().peekable();
    while rest.peek().is_some() {
        shares.push(rest.by_ref().take(share).collect());
    }
    let read = |share: Vec<RunFolder>| share.into_iter().map(ReadRun::of).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let begun: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(move || read(share)))
            .collect();
        begun
            .into_iter()
            .flat_map(|share| {
                share
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

fn several(message: &str, runs: &[RunFolder]) -> Report {
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    Report::usage(message)
        .listing(ids.join("\n"))
        .hint("name one of them; as much of its id as tells it from the others is enough")
}

/// When the run was opened, by the first line of its ledger.
fn opened_at(folder: &Path) -> Option<DateTime<Utc>> {
    let mut first = None;
    let enough: &dyn Fn() -> Box<dyn std::error::Error + Send + Sync> = &|| "enough".into();
    let _ = ledger::replay(folder, &FleetCodec, &mut |entry: Entry<Record>| {
        first = Some(entry.at);
        Err(enough())
    });
    first
}

impl ReadRun {
    /// Reads a run. A damaged one is read up to the damage.
    pub(crate) fn of(folder: RunFolder) -> Self {
        let manager = ledger::holder(&folder.path);
        let mut state = FleetState::new();
        let replayed = ledger::replay(&folder.path, &FleetCodec, &mut |entry| {
            fold(&mut state, &entry).map_err(Into::into)
        });
        Self {
            damage: replayed.err().map(|error| read_report(&error)),
            folder,
            state,
            manager,
        }
    }

    /// True for one that nobody is at work on and that is not over, as far as it can be read.
    pub(crate) fn is_left_open(&self) -> bool {
        self.manager.is_none() && (self.damage.is_some() || self.state.is_unfinished())
    }

    /// The run as it is shown; `None` when its ledger says nothing of it.
    pub(crate) fn view(&self) -> Option<RunView> {
        let manager = match self.manager {
            Some(_) => Manager::Alive,
            None => Manager::Gone,
        };
        self.state.view(manager)
    }

    /// Why the ledger says nothing of the run.
    pub(crate) fn silence(self) -> Report {
        self.damage.unwrap_or_else(|| not_opened(&self.folder.id))
    }

    /// What ends a reading command once it has shown what there is.
    ///
    /// # Errors
    /// The damage, when there is some.
    pub(crate) fn end(self) -> Result<Exit, Report> {
        self.damage.map_or(Ok(Exit::Done), Err)
    }
}

/// What to say of a run that another process is at work on.
pub(crate) fn held(run: &RunFolder, holder: &Holder) -> Report {
    Report::new(
        Exit::Storage,
        format!("The run `{}` is held by {holder}", run.id),
    )
    .hint(format!(
        "watch it with `codewhale fleet logs -f {0}`, or end it with `codewhale fleet stop {0}`",
        run.id
    ))
}

/// What to say of a run whose ledger holds nothing.
pub(crate) fn not_opened(run: &str) -> Report {
    Report::new(
        Exit::Ledger,
        format!("The run `{run}` was cut off before it began"),
    )
    .hint("nothing of it had started: run the roster again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;

    fn folder(id: &str, day: i64) -> RunFolder {
        RunFolder {
            id: id.to_owned(),
            path: PathBuf::from(id),
            opened_at: DateTime::from_timestamp(day * 86_400, 0),
        }
    }

    fn check(ids: &[&str], given: Option<&str>, expected: Result<&str, &str>) {
        let all = ids.iter().map(|id| folder(id, 0)).collect();
        match (chosen(all, given, Whose::Repository), expected) {
            (Ok(found), Ok(id)) => assert_eq!(found.id, id),
            (Err(report), Err(part)) => {
                let text = report.for_people(Paint::Plain);
                assert!(text.contains(part), "{text}");
                assert_eq!(report.exit(), Exit::Usage);
            }
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn a_run_is_meant_by_its_id_or_an_unmistakable_beginning() {
        let ids = [
            "docs-261130-abcd",
            "docs-261130-abxy",
            "docs",
            "tests-261130-k3f9",
        ];
        check(&ids, None, Ok("docs-261130-abcd"));
        check(&ids, Some("tests"), Ok("tests-261130-k3f9"));
        check(&ids, Some("docs-261130-abx"), Ok("docs-261130-abxy"));
        check(&ids, Some("docs"), Ok("docs"));
        check(&ids, Some("docs-"), Err("docs-261130-abxy"));
        check(&ids, Some("other"), Err("No run is called `other`"));
        check(&[], None, Err("no run of this repository yet"));
        check(&[], Some("x"), Err("no run of this repository yet"));
        check(&ids[..1], Some(""), Err("The id of the run is empty"));
    }
}
