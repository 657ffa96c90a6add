//! A run in a session of its own: the process in front starts another one, waits until the run is durably
//! open, and tells its id; that other one then lets go of the terminal. Never leaves a run behind whose
//! beginning failed: what went wrong is told in front, with its exit code.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use rustix::stdio::{dup2_stderr, dup2_stdout};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the process in the back says in front of the id once the run is open.
const OPENED: &str = "opened in a session of its own: ";
/// Name of the file in the run's folder that takes what would be said in front.
const LOG: &str = "run.log";

/// Starts this command again with `flag` in place of `--detach`, and waits until its run is open.
///
/// # Errors
/// When no process can be started.
pub(crate) fn start(app: &App, flag: &str) -> Result<Exit, Report> {
    let failed =
        |error: std::io::Error| Report::storage("No process can be started").because(&error);
    let arguments = std::env::args_os().skip(1).map(|argument| {
        if argument == "--detach" {
            OsString::from(flag)
        } else {
            argument
        }
    });
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .args(arguments)
        // What it says goes to a file later on.
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let stdout = child.stdout.take().into_iter().flat_map(|stdout| {
        let lines = BufReader::new(stdout).lines();
        lines.map_while(Result::ok)
    });
    for line in stdout {
        if let Some(run) = line.strip_prefix(OPENED) {
            app.output.line(run);
            return Ok(Exit::Done);
        }
        app.output.ready_made(&line);
    }
    let ended = child.wait().map_err(failed)?;
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(Exit::Storage, Exit::of_code))
}

/// Leaves the session of the terminal: its end does not concern this process.
///
/// # Errors
/// When the system does not let it.
pub(crate) fn leave_session() -> Result<(), Report> {
    rustix::process::setsid()
        .map(|_| ())
        .map_err(|error| Report::storage("No session of its own can be had").because(&error))
}

/// Tells the process in front that the run is open, and says everything else to the run's log.
///
/// # Errors
/// When the log cannot be written.
pub(super) fn let_go(app: &App, run: &str, folder: &Path) -> Result<(), Report> {
    let path = folder.join(LOG);
    let failed = |error: std::io::Error| {
        Report::storage(format!("`{}` cannot be written", path.display())).because(&error)
    };
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed)?;
    app.output.line(format!("{OPENED}{run}"));
    app.output.flush();
    dup2_stdout(&log).map_err(|error| failed(error.into()))?;
    dup2_stderr(&log).map_err(|error| failed(error.into()))
}
