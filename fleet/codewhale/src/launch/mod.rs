//! Makes a plan into a managed run: repository, models, folders, ledger, manager. Every fault that can
//! be known beforehand is found before anything is made. Never prints.

mod ground;
mod ids;
mod models;
mod order;
mod storage;

pub(crate) use ground::Ground;
pub(crate) use models::Models;
pub(crate) use storage::{of_open as open_report, of_read as read_report, tasks_of};

use crate::report::Report;
use crate::surroundings::Surroundings;
use engine_core::content::Content;
use engine_core::record::Json;
use engine_runtime::Observer;
use engine_tools::mask::Mask;
use engine_tools::shell::{CommandEnv, HelperProgram, Scratch, ShellRunner, Spawner};
use fleet_core::ids::{BranchName, RunId};
use fleet_core::record::RunOpened;
use fleet_core::spec::{RunSpec, Site, TaskSpec};
use fleet_git::{Repo, Workspaces};
use fleet_runtime::blobs::RunBlobs;
use fleet_runtime::clock::SystemClock;
use fleet_runtime::hands::{FleetHands, Gear};
use fleet_runtime::store::Store;
use fleet_runtime::{Beginning, Managed};
use ledger::Filesystems;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of the product, as it stands in ledgers.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How many run ids are tried before a run is given up.
const IDS_TRIED: u32 = 8;

/// A run that is ready to be started.
pub(crate) struct Launched {
    /// Its id.
    pub(crate) run: RunId,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// What the manager takes.
    pub(crate) managed: Managed,
}

/// A new run of a plan. `models` are those of the plan.
///
/// # Errors
/// When the base is no commit, a folder cannot be made, or the ledger cannot be created.
pub(crate) fn new_run(
    ground: &Ground,
    plan: RunSpec,
    roster: Option<String>,
    models: Models,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Launched, Report> {
    let base = ground.base(plan.base.as_deref())?;
    let base_branch = ground.base_branch(plan.base.as_deref())?;
    let seed = ids::seed();
    let (run, folder, store) = make_folder(ground, &plan.name, seed)?;
    let lands = base.is_some() && plan.workspace.site == Site::Worktrees;
    let integration = match ground.repo().filter(|_| lands) {
        Some(repo) => Some(integration_of(repo, &run)?),
        None => None,
    };
    let mut plan = plan;
    let tasks = order::ordered(std::mem::take(&mut plan.tasks));
    let managed = manage(
        Ready {
            ground,
            run: &run,
            folder: &folder,
            plan: &plan,
            models,
            observer,
        },
        store,
        Beginning::Open {
            opened: Box::new(RunOpened {
                run: run.clone(),
                version: VERSION.to_owned(),
                repository: ground.folder().display().to_string(),
                base,
                base_branch,
                integration,
                seed,
                tasks: Json::of(&tasks).map_err(internal)?,
                task_count: u32::try_from(tasks.len()).map_err(internal)?,
                plan: plan.clone(),
                roster: roster.map(Content::from),
            }),
            tasks,
        },
    )?;
    Ok(Launched {
        run,
        folder,
        managed,
    })
}

/// A run taken over from its ledger.
///
/// # Errors
/// When it is held by another process, damaged, newer, was never opened, or its folder is gone.
pub(crate) fn resume(
    ground: &Ground,
    folder: &Path,
    store: Store,
    models: Models,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Launched, Report> {
    let Some(opened) = store.state().run() else {
        return Err(never_opened(folder));
    };
    let (run, plan) = (opened.id.clone(), opened.plan.clone());
    let tasks = tasks_of(folder, store.state())?;
    let managed = manage(
        Ready {
            ground,
            run: &run,
            folder,
            plan: &plan,
            models,
            observer,
        },
        store,
        Beginning::Resume {
            version: VERSION.to_owned(),
            pid: std::process::id(),
            tasks,
        },
    )?;
    Ok(Launched {
        run,
        folder: folder.to_owned(),
        managed,
    })
}

/// Takes an existing run, so that its plan can be looked at before it is resumed.
///
/// # Errors
/// As [`resume`].
pub(crate) fn take(folder: &Path) -> Result<Store, Report> {
    let store = Store::open(folder, Filesystems::LocalOnly).map_err(|error| open_report(&error))?;
    if store.state().run().is_none() {
        return Err(never_opened(folder));
    }
    Ok(store)
}

fn never_opened(folder: &Path) -> Report {
    Report::storage(format!(
        "the run in {} was cut off before it began",
        folder.display()
    ))
    .hint("nothing of it had started: run the roster again, and remove this folder")
}

/// Where the run's work will land. A branch of the person's named `codewhale` leaves no room below it.
fn integration_of(repo: &Repo, run: &RunId) -> Result<BranchName, Report> {
    repo.free_branch(&["codewhale", run.as_str(), "integration"])
        .map_err(|error| Report::storage("The branches cannot be read").because(&error))
}

fn make_folder(ground: &Ground, name: &str, seed: u64) -> Result<(RunId, PathBuf, Store), Report> {
    let mut tried = 0;
    loop {
        let run = ids::run_id(name, seed.rotate_left(tried * 7));
        let folder = ground.runs().join(run.as_str());
        match Store::create(&folder, Filesystems::LocalOnly) {
            Ok(store) => return Ok((run, folder, store)),
            Err(ledger::OpenError::Exists(_)) if tried < IDS_TRIED => tried += 1,
            Err(error) => return Err(open_report(&error)),
        }
    }
}

/// What [`manage`] puts together.
struct Ready<'a> {
    ground: &'a Ground,
    run: &'a RunId,
    folder: &'a Path,
    plan: &'a RunSpec,
    models: Models,
    observer: Option<Arc<dyn Observer>>,
}

fn manage(ready: Ready<'_>, store: Store, beginning: Beginning) -> Result<Managed, Report> {
    let Ready {
        ground,
        run,
        folder,
        plan,
        models,
        observer,
    } = ready;
    // Commands of a manager that was killed had their temporary files there.
    Scratch::remove_abandoned(&std::env::temp_dir());
    let copy: Vec<PathBuf> = plan.workspace.copy.iter().map(PathBuf::from).collect();
    let workspaces = ground
        .repo()
        .filter(|_| plan.workspace.site == Site::Worktrees)
        .map(|repo| Workspaces::new(repo.clone(), ground.worktrees(), run, &copy));
    let spawner = HelperProgram::this_program()
        .and_then(Spawner::start)
        .map_err(|error| Report::storage("no process can be started").because(&error))?;
    let hands = FleetHands::new(Gear {
        workspaces,
        folder: ground.folder().to_owned(),
        models: models.by_provider,
        runner: ShellRunner::new(spawner),
        env: models
            .env
            .with("GIT_AUTHOR_NAME", "codewhale")
            .with("GIT_AUTHOR_EMAIL", "codewhale@localhost")
            .with("GIT_COMMITTER_NAME", "codewhale")
            .with("GIT_COMMITTER_EMAIL", "codewhale@localhost"),
        mask: models.mask,
        blobs: RunBlobs::new(folder),
        observer,
    });
    Ok(Managed {
        store,
        beginning,
        hands: Arc::new(hands),
        clock: Arc::new(SystemClock),
        control: ground.control().clone(),
    })
}

fn internal(error: impl std::error::Error) -> Report {
    Report::storage("the plan cannot be recorded").because(&error)
}
