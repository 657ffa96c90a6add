//! What `doctor` says of what stopped work left behind: runs that nobody goes on with, sockets that nobody
//! listens at, locks of git. Takes nothing away.

use super::Check;
use crate::app::App;
use crate::places;
use crate::repository;
use crate::runs::{ReadRun, Runs, read_all};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Most names that one line shows.
const NAMES_SHOWN: usize = 3;

/// One check for each sort of thing that was left; none where nothing was.
pub(super) fn all(app: &App, runs: &[ReadRun]) -> Vec<Check> {
    let mut checks = Vec::new();
    let names = |of: &dyn Fn(&&ReadRun) -> bool| {
        let chosen = runs.iter().filter(of);
        chosen.map(|run| run.folder.id.clone()).collect::<Vec<_>>()
    };
    let damaged = names(&|run| run.damage.is_some());
    let open = names(&|run| run.damage.is_none() && run.is_left_open());
    if !damaged.is_empty() {
        checks.push(
            Check::warning("damaged runs", listed(&damaged))
                .hint("`codewhale ledger verify RUN` lists what is damaged"),
        );
    }
    if !open.is_empty() {
        checks.push(Check::warning("open runs", listed(&open)).hint(
            "`codewhale fleet resume RUN` goes on with one; `codewhale fleet stop --for-good RUN` ends it for good",
        ));
    }
    checks.extend(git_lock(app));
    checks.extend(sockets(app));
    checks
}

/// The runs that commands here mean, read; none where they cannot be looked for, which other checks tell.
pub(super) fn runs(app: &App) -> Vec<ReadRun> {
    let all = Runs::of(app).and_then(|runs| runs.all());
    read_all(all.unwrap_or_default())
}

fn git_lock(app: &App) -> Option<Check> {
    let repo = repository::find_if_any(&app.around).ok().flatten()?;
    let lock = repo.git_common_dir().join("index.lock");
    lock.exists().then(|| {
        Check::warning("git lock", format!("{} is there", lock.display())).hint(
            "git is at work in your checkout, or died there: when none is running, remove that file",
        )
    })
}

fn sockets(app: &App) -> Option<Check> {
    let folders = places::control(&app.around).0;
    let dead: Vec<String> = folders
        .iter()
        .flat_map(|folder| dead_sockets(folder))
        .map(|path| path.display().to_string())
        .collect();
    (!dead.is_empty()).then(|| {
        Check::warning("sockets", listed(&dead))
            .hint("managers that were killed left them; nobody listens there, they can be removed")
    })
}

/// Sockets of runs at which nobody listens.
fn dead_sockets(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_dead = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "sock")
            && UnixStream::connect(path)
                .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    let mut dead: Vec<PathBuf> = paths.filter(is_dead).collect();
    dead.sort();
    dead
}

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_sockets_that_nobody_listens_at_are_dead() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let _living = UnixListener::bind(path("a.sock")).expect("a socket");
        drop(UnixListener::bind(path("b.sock")).expect("a socket"));
        std::fs::write(path("note"), "").expect("a file");
        assert_eq!(dead_sockets(folder.path()), [path("b.sock")]);
        assert!(dead_sockets(&path("none")).is_empty());
    }

    #[test]
    fn a_long_list_is_cut_with_a_number() {
        let names = |count: usize| vec!["x".to_owned(); count];
        assert_eq!(listed(&names(2)), "x, x");
        assert_eq!(listed(&names(3)), "x, x, x");
        assert_eq!(listed(&names(5)), "x, x, x and 2 more");
    }
}
