//! What `doctor` looks at on this machine: git, the repository, the sandbox, the state folder and the
//! configuration. Asks nobody.

use super::Check;
use crate::app::App;
use crate::config::Config;
use crate::exit::Exit;
use crate::places;
use crate::repository;
use engine_tools::shell::{Network, available_confinement};
use fleet_git::OpenError;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::Command;

/// Every look at this machine, in the order shown.
pub(super) fn all(app: &App) -> Vec<Check> {
    vec![
        git(app),
        repository(app),
        sandbox(),
        state(app),
        config(app),
    ]
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
        Err(error) => Check::warning("repository", error.to_string()),
    }
}

fn sandbox() -> Check {
    let held = available_confinement(Network::Denied);
    match held.shortfall() {
        None => Check::good("sandbox", "files and network of commands are confined"),
        Some(shortfall) => Check::warning("sandbox", shortfall)
            .hint("commands run all the same, and are recorded as ones that may reach outside"),
    }
}

fn state(app: &App) -> Check {
    match places::state(&app.around) {
        Err(error) => {
            Check::bad("state", error.to_string(), Exit::Usage).hint("set HOME or XDG_STATE_HOME")
        }
        Ok(folder) => match try_writing(&folder) {
            Ok(()) => Check::good("state", folder.display().to_string()),
            Err(error) => Check::bad(
                "state",
                format!("{} cannot be written: {error}", folder.display()),
                Exit::Storage,
            )
            .hint("runs and worktrees are kept there; set XDG_STATE_HOME to another place"),
        },
    }
}

/// Makes the folder when it is missing, and writes and removes a file in it.
fn try_writing(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let file = folder.join(format!("doctor-{}", std::process::id()));
    std::fs::write(&file, b"")?;
    std::fs::remove_file(&file)
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
