//! Where traces go: to the file of `--log`, to standard error with `-v`, else nowhere. Never to
//! standard output, and nothing is set up when nobody asked.

use crate::arguments::Globals;
use crate::report::Report;
use crate::surroundings::Surroundings;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Crates of other houses that say much about little.
const CHATTY: [&str; 4] = ["h2", "hyper", "hyper_util", "rustls"];

/// Sets up what the options ask for.
///
/// # Errors
/// When the file of `--log` cannot be opened.
pub(crate) fn start(globals: &Globals, around: &Surroundings) -> Result<(), Report> {
    if globals.verbose == 0 && globals.log.is_none() {
        return Ok(());
    }
    let file = globals
        .log
        .as_deref()
        .map(|path| open(&around.folder.join(path)))
        .transpose()?;
    let to_file = file.map(|file| {
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(Mutex::new(file))
            .with_filter(up_to(LevelFilter::DEBUG))
    });
    let to_person = level(globals.verbose).map(|level| {
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .without_time()
            .with_writer(std::io::stderr)
            .with_filter(up_to(level))
    });
    // A second start can only come from a test in the same process; the first one stays.
    let _ = registry().with(to_file).with(to_person).try_init();
    Ok(())
}

fn open(path: &Path) -> Result<File, Report> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| {
            Report::usage(format!(
                "The log file `{}` cannot be opened",
                path.display()
            ))
            .because(&error)
            .hint("--log takes a file in a folder that is there; it is made, or appended to")
        })
}

fn level(verbose: u8) -> Option<LevelFilter> {
    match verbose {
        0 => None,
        1 => Some(LevelFilter::INFO),
        _ => Some(LevelFilter::DEBUG),
    }
}

fn up_to(level: LevelFilter) -> Targets {
    CHATTY
        .into_iter()
        .fold(Targets::new().with_default(level), |targets, target| {
            targets.with_target(target, LevelFilter::WARN)
        })
}
