//! Every look of `doctor` at this machine, in order; those at git, the repository and the configuration
//! are here. Asks nobody.

use super::{Check, folders, leftovers, machine};
use crate::app::App;
use crate::config::Config;
use crate::exit::Exit;
use crate::repository;
use engine_tools::shell::{Network, available_confinement};
use fleet_git::OpenError;
use fleet_runtime::clock::{Clock as _, SystemClock};
use std::process::Command;

/// Every look at this machine, in the order shown.
pub(super) fn all(app: &App) -> Vec<Check> {
    let runs = leftovers::runs(app);
    let newest = runs.iter().filter_map(|run| run.folder.opened_at).max();
    let modules = std::fs::read_to_string("/sys/kernel/security/lsm").ok();
    let mut checks = vec![
        git(app),
        repository(app),
        machine::sandbox(available_confinement(Network::Denied), modules.as_deref()),
    ];
    checks.extend(folders::all(app));
    checks.push(machine::clock(SystemClock.now(), newest));
    checks.push(machine::locale(&app.around));
    checks.push(config(app));
    checks.extend(leftovers::all(app, &runs));
    checks
}

fn git(app: &App) -> Check {
    let output = Command::new("git")
        .arg("--version")
        .current_dir(&app.around.folder)
        .output();
    let found = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(error) => format!("cannot be started: {error}"),
    };
    match repository::find(&app.around) {
        Err(error @ (OpenError::GitMissing | OpenError::GitTooOld { .. })) => {
            Check::bad("git", found, Exit::Usage).hint(error.to_string())
        }
        _ => Check::good("git", found),
    }
}

fn repository(app: &App) -> Check {
    match repository::find(&app.around) {
        Ok(repo) => Check::good("repository", repo.toplevel().display().to_string()),
        Err(OpenError::GitMissing | OpenError::GitTooOld { .. }) => {
            Check::warning("repository", "unknown without git")
        }
        Err(error @ (OpenError::NotARepository(_) | OpenError::NoCommit { .. })) => {
            Check::warning("repository", error.to_string())
                .hint("`codewhale fleet` works in repositories only; `codewhale exec` anywhere")
        }
        Err(error) => Check::bad("repository", error.to_string(), Exit::Usage)
            .hint("fleets cannot work in it as it is"),
    }
}

fn config(app: &App) -> Check {
    let place = match app.config_file() {
        Ok(found) => found.path.display().to_string(),
        Err(error) => return Check::warning("config", error.to_string()),
    };
    match Config::read(app) {
        Ok(config) if config.files.is_empty() => Check::good(
            "config",
            format!("none at {place}; the defaults are in force"),
        ),
        Ok(config) => {
            let files = config.files.iter().map(|file| &file.place.path);
            let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
            Check::good("config", files.join(", "))
        }
        Err(report) => Check::bad("config", report.message(), Exit::Usage)
            .hint("`codewhale config show` shows every error"),
    }
}
