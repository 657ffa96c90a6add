//! Where things lie: configuration, runs and worktrees. Only names places: it never makes a folder
//! or reads a file, apart from asking whether `~/.codewhale` is there.

use crate::surroundings::Surroundings;
use fleet_runtime::socket::Folders;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};

/// The configuration that an administrator sets; it may only tighten.
pub(crate) const MANAGED_CONFIG: &str = "/etc/codewhale/config.toml";

/// Name of the configuration file in its folder.
const CONFIG_NAME: &str = "config.toml";

/// A place and why it is that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    /// The place.
    pub(crate) path: PathBuf,
    /// What named it.
    pub(crate) because: Because,
}

/// What named a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Because {
    /// The person, with `--config`.
    Option,
    /// `CODEWHALE_HOME`.
    CodewhaleHome,
    /// `~/.codewhale` is there.
    DotFolder,
    /// `XDG_CONFIG_HOME`.
    Xdg,
    /// Nothing said otherwise.
    Default,
    /// It is fixed: an administrator's file.
    Managed,
}

impl std::fmt::Display for Because {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Option => "--config",
            Self::CodewhaleHome => "CODEWHALE_HOME",
            Self::DotFolder => "~/.codewhale",
            Self::Xdg => "XDG_CONFIG_HOME",
            Self::Default => "default",
            Self::Managed => "managed",
        })
    }
}

/// Why a place cannot be named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HOME is not set, so there is no place for {what}")]
pub(crate) struct NoHome {
    what: &'static str,
}

/// The user's configuration file, whether it is there or not.
///
/// # Errors
/// When no variable names a place.
pub(crate) fn config(around: &Surroundings, given: Option<&Path>) -> Result<Located, NoHome> {
    let located = |path: PathBuf, because| Ok(Located { path, because });
    if let Some(given) = given {
        return located(around.folder.join(given), Because::Option);
    }
    if let Some(home) = around.path("CODEWHALE_HOME") {
        return located(home.join(CONFIG_NAME), Because::CodewhaleHome);
    }
    if let Some(folder) = around.path("HOME").map(|home| home.join(".codewhale"))
        && folder.is_dir()
    {
        return located(folder.join(CONFIG_NAME), Because::DotFolder);
    }
    let below = Path::new("codewhale").join(CONFIG_NAME);
    if let Some(xdg) = around.path("XDG_CONFIG_HOME") {
        return located(xdg.join(below), Because::Xdg);
    }
    let home = around.path("HOME").ok_or(NoHome {
        what: "the configuration",
    })?;
    located(home.join(".config").join(below), Because::Default)
}

/// The folder of everything that is kept outside repositories.
///
/// # Errors
/// When no variable names a place.
pub(crate) fn state(around: &Surroundings) -> Result<PathBuf, NoHome> {
    if let Some(xdg) = around.path("XDG_STATE_HOME") {
        return Ok(xdg.join("codewhale"));
    }
    around
        .path("HOME")
        .map(|home| home.join(".local/state/codewhale"))
        .ok_or(NoHome {
            what: "runs and worktrees",
        })
}

/// The folder that holds one folder per run: inside the repository's own administration, where
/// `git clean` does not reach, else in the state folder.
///
/// # Errors
/// When there is no repository and no variable names a place.
pub(crate) fn runs(around: &Surroundings, common_dir: Option<&Path>) -> Result<PathBuf, NoHome> {
    match common_dir {
        Some(common_dir) => Ok(common_dir.join("codewhale/runs")),
        None => Ok(state(around)?.join("runs")),
    }
}

/// Where the control socket of a run may lie, the best first. A manager takes the first that can be
/// used, whoever looks for it tries all: the two may have been started in different surroundings.
pub(crate) fn control(around: &Surroundings) -> Folders {
    let person = geteuid().as_raw();
    let given = around.path("XDG_RUNTIME_DIR").map(Path::to_owned);
    let usual = PathBuf::from(format!("/run/user/{person}"));
    let lasting = [given, Some(usual)].into_iter().flatten();
    let temporary = [around.path("TMPDIR"), Some(Path::new("/tmp"))];
    let own = format!("codewhale-{person}");
    let mut folders: Vec<PathBuf> = lasting.map(|folder| folder.join("codewhale")).collect();
    folders.extend(
        temporary
            .into_iter()
            .flatten()
            .map(|below| below.join(&own)),
    );
    folders.dedup();
    Folders(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_config(variables: &[(&str, &str)], given: Option<&str>, expected: (&str, Because)) {
        let around = Surroundings::with(variables);
        let found = config(&around, given.map(Path::new)).expect("a place");
        assert_eq!(
            (found.path.to_str(), found.because),
            (Some(expected.0), expected.1)
        );
    }

    #[test]
    fn the_first_of_the_places_for_configuration_wins() {
        let all = [
            ("CODEWHALE_HOME", "/cw"),
            ("XDG_CONFIG_HOME", "/xdg"),
            ("HOME", "/nowhere/me"),
        ];
        check_config(
            &all,
            Some("my.toml"),
            ("/work-folder/my.toml", Because::Option),
        );
        check_config(&all, Some("/my.toml"), ("/my.toml", Because::Option));
        check_config(&all, None, ("/cw/config.toml", Because::CodewhaleHome));
        check_config(
            &all[1..],
            None,
            ("/xdg/codewhale/config.toml", Because::Xdg),
        );
        check_config(
            &all[2..],
            None,
            (
                "/nowhere/me/.config/codewhale/config.toml",
                Because::Default,
            ),
        );
    }

    #[test]
    fn a_dot_folder_that_is_there_is_used_before_xdg() {
        let home = tempfile::tempdir().expect("a folder");
        let dot = home.path().join(".codewhale");
        std::fs::create_dir(&dot).expect("a folder");
        let home = home.path().to_str().expect("a text");
        let file = dot.join("config.toml");
        check_config(
            &[("HOME", home), ("XDG_CONFIG_HOME", "/xdg")],
            None,
            (file.to_str().expect("a text"), Because::DotFolder),
        );
    }

    #[test]
    fn without_home_the_message_says_what_has_no_place() {
        let around = Surroundings::with(&[("XDG_STATE_HOME", "relative")]);
        let message = state(&around).expect_err("no place").to_string();
        assert_eq!(
            message,
            "HOME is not set, so there is no place for runs and worktrees"
        );
    }

    #[test]
    fn sockets_lie_where_only_the_person_gets_and_are_looked_for_in_all_such_places() {
        let person = geteuid().as_raw();
        let check = |variables: &[(&str, &str)], expected: &[String]| {
            let found = control(&Surroundings::with(variables)).0;
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected);
        };
        let usual = format!("/run/user/{person}/codewhale");
        let last = format!("/tmp/codewhale-{person}");
        check(&[], &[usual.clone(), last.clone()]);
        check(
            &[("XDG_RUNTIME_DIR", "/xdg"), ("TMPDIR", "/mine")],
            &[
                "/xdg/codewhale".into(),
                usual,
                format!("/mine/codewhale-{person}"),
                last,
            ],
        );
    }

    #[test]
    fn runs_lie_in_the_repository_and_else_in_the_state_folder() {
        let around = Surroundings::with(&[("HOME", "/me")]);
        let inside = runs(&around, Some(Path::new("/r/.git"))).expect("a place");
        assert_eq!(inside, Path::new("/r/.git/codewhale/runs"));
        let outside = runs(&around, None).expect("a place");
        assert_eq!(outside, Path::new("/me/.local/state/codewhale/runs"));
    }
}
