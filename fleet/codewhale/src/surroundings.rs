//! What the process was started in: environment, folder and terminals, read once into a value.
//! Nothing else asks the operating system for them, so a test can hand in its own.

use engine_llm::PlainHttp;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the process was started in.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    variables: BTreeMap<OsString, OsString>,
    /// The current folder; `.` when it cannot be read.
    pub(crate) folder: PathBuf,
    /// Where standard output goes.
    pub(crate) stdout: Stream,
    /// Where standard error goes.
    pub(crate) stderr: Stream,
}

/// Where a standard stream leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// To a person.
    Terminal,
    /// To a file, a pipe or nowhere.
    Other,
}

impl Stream {
    fn of(stream: &impl std::io::IsTerminal) -> Self {
        if stream.is_terminal() {
            Self::Terminal
        } else {
            Self::Other
        }
    }
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn read() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            stdout: Stream::of(&std::io::stdout()),
            stderr: Stream::of(&std::io::stderr()),
        }
    }

    /// A variable as text. Absent when it is unset, empty or no UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.raw(name).and_then(OsStr::to_str)
    }

    /// A variable as an absolute path. Absent when it is unset, empty or relative: the rule that
    /// the XDG base directory specification sets for its own variables.
    pub(crate) fn path(&self, name: &str) -> Option<&Path> {
        self.raw(name)
            .map(Path::new)
            .filter(|path| path.is_absolute())
    }

    /// True when a variable has a value, whatever it is.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// All variables, in order of their names.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// True when `ALLOW_INSECURE_HTTP=1`: keys and prompts may travel unencrypted.
    pub(crate) fn allows_plain_http(&self) -> bool {
        self.text("ALLOW_INSECURE_HTTP") == Some("1")
    }

    /// The same in the words of the providers.
    pub(crate) fn plain_http(&self) -> PlainHttp {
        if self.allows_plain_http() {
            PlainHttp::Allowed
        } else {
            PlainHttp::LoopbackOnly
        }
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
impl Surroundings {
    /// Surroundings with these variables, in `/work-folder`, piped.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            folder: PathBuf::from("/work-folder"),
            stdout: Stream::Other,
            stderr: Stream::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let around = Surroundings::with(&[("EMPTY", ""), ("SET", "x")]);
        assert_eq!(around.text("EMPTY"), None);
        assert!(!around.has("EMPTY"));
        assert_eq!(around.text("SET"), Some("x"));
        assert_eq!(around.text("ABSENT"), None);
    }

    #[test]
    fn a_relative_path_is_not_taken() {
        let around = Surroundings::with(&[("A", "relative/x"), ("B", "/abs")]);
        assert_eq!(around.path("A"), None);
        assert_eq!(around.path("B"), Some(Path::new("/abs")));
    }
}
