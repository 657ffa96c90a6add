//! What `doctor` looks at on this machine: git, the state folder, the sandbox, the configuration.

use super::Check;
use crate::app::App;
use crate::exit::Exit;
use crate::places;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::Command;

/// Every look at this machine, in the order shown.
pub(super) fn all(app: &App) -> Vec<Check> {
    vec![git(app), state(app), config(app)]
}

fn git(app: &App) -> Check {
    let output = Command::new("git")
        .arg("--version")
        .current_dir(&app.around.folder)
        .output();
    match output {
        Ok(output) if output.status.success() => {
            Check::good("git", String::from_utf8_lossy(&output.stdout).trim())
        }
        Ok(output) => Check::bad(
            "git",
            format!("`git --version` failed: {}", output.status),
            Exit::Usage,
        ),
        Err(error) => Check::bad("git", format!("cannot be started: {error}"), Exit::Usage)
            .hint("install git 2.38 or newer"),
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
    match app.config_file() {
        Err(error) => Check::warning("config", error.to_string()),
        Ok(found) if found.path.exists() => Check::good("config", found.path.display().to_string()),
        Ok(found) => Check::good(
            "config",
            format!(
                "none at {}; the defaults are in force",
                found.path.display()
            ),
        ),
    }
}
