//! The git command: a fixed manner of calling it, so that nothing of the surroundings, of a hook or
//! of a person's language reaches into a result. Never prompts, never pages, never reads a terminal.

use crate::patience::Patience;
use crate::pump::{self, NotEnded};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Longest a reading call may take.
const READ_LIMIT: Duration = Duration::from_secs(120);
/// Longest a writing call may take: a checkout of a very large tree on a busy disk.
const WRITE_LIMIT: Duration = Duration::from_secs(900);

/// The variables of git that carry the person's own settings; every other `GIT_*` of the
/// surroundings (a hook's `GIT_DIR`, an index file, trace switches …) would mislead and is dropped.
const KEPT: [&str; 7] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_EXEC_PATH",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];
/// Beginnings of numbered variables that are kept for the same reason.
const KEPT_BEGINNINGS: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// Settings of every call. Each switches off something that would run, ask, convert or prune on
/// its own, or that would make a result depend on taste.
const SETTINGS: [&str; 18] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.sparseCheckout=false",
    "core.safecrlf=false",
    "core.trustctime=true",
    "core.packedRefsTimeout=10000",
    "core.filesRefLockTimeout=10000",
    "commit.gpgsign=false",
    "tag.gpgsign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",
    "merge.renames=true",
    "merge.directoryRenames=conflict",
    "merge.conflictStyle=merge",
    "protocol.allow=never",
];

/// Settings of a call that stands for the person: only what makes a merge come out as it was foretold,
/// and what writes it so that it stays.
const PERSONS_SETTINGS: [&str; 5] = [
    "core.packedRefsTimeout=10000",
    "core.filesRefLockTimeout=10000",
    "merge.renames=true",
    "merge.directoryRenames=conflict",
    "core.fsync=all",
];

/// Longest a call that stands for the person may take: their hooks may run their tests.
const PERSONS_LIMIT: Duration = Duration::from_secs(3_600);

/// The environment that git processes start from.
#[derive(Debug, Clone)]
pub struct Surroundings {
    vars: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// That of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::from_vars(std::env::vars_os())
    }

    /// A stated one; variables of git that would mislead are dropped here too.
    #[must_use]
    pub fn from_vars<K, V>(vars: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let vars = vars
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .filter(|(key, _)| keeps(key))
            .collect();
        Self { vars }
    }

    /// The same with one variable set.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.vars.retain(|(known, _)| known != key);
        self.vars.push((key.into(), value.into()));
        self
    }
}

fn keeps(key: &OsStr) -> bool {
    let key = key.to_string_lossy();
    !key.starts_with("GIT_")
        || KEPT.contains(&key.as_ref())
        || KEPT_BEGINNINGS.iter().any(|begin| key.starts_with(begin))
}

/// What a call is for; decides about locks, syncing and the time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Takes no optional lock, so that the person's index keeps its bytes.
    Read,
    /// Everything written is synced before the call ends.
    Write,
    /// Done in the person's name: their hooks run, their settings hold, and their language too.
    Person,
}

/// One call of git, being put together.
pub(crate) struct Call {
    command: Command,
    shown: String,
    input: Vec<u8>,
    limit: Duration,
    accepted: &'static [i32],
}

impl Call {
    /// A call with these arguments.
    pub(crate) fn new<A: AsRef<OsStr>>(
        surroundings: &Surroundings,
        purpose: Purpose,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new("git");
        command
            .env_clear()
            .envs(surroundings.vars.iter().map(|(k, v)| (k, v)))
            .env("GIT_EDITOR", "false")
            .env("GIT_PAGER", "cat")
            .env("GIT_NO_REPLACE_OBJECTS", "1");
        let settings: &[&str] = if purpose == Purpose::Person {
            &PERSONS_SETTINGS
        } else {
            command
                .env("LC_ALL", "C")
                .env("GIT_TERMINAL_PROMPT", "0")
                .env("GIT_ASKPASS", "false")
                .env("SSH_ASKPASS", "false");
            &SETTINGS
        };
        for setting in settings {
            command.args(["-c", setting]);
        }
        let limit = match purpose {
            Purpose::Read => {
                command.env("GIT_OPTIONAL_LOCKS", "0");
                READ_LIMIT
            }
            Purpose::Write => {
                command.args(["-c", "core.fsync=all"]);
                WRITE_LIMIT
            }
            Purpose::Person => PERSONS_LIMIT,
        };
        let mut shown = String::from("git");
        for arg in args {
            shown.push(' ');
            shown.push_str(&arg.as_ref().to_string_lossy());
            command.arg(arg);
        }
        Self {
            command,
            shown,
            input: Vec::new(),
            limit,
            accepted: &[0],
        }
    }

    /// Run in this folder.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Work on this repository, whatever the folder says.
    pub(crate) fn git_dir(mut self, git_dir: &Path) -> Self {
        self.command.env("GIT_DIR", git_dir);
        self
    }

    /// Work on the files under this folder, and run there.
    pub(crate) fn work_tree(mut self, folder: &Path) -> Self {
        self.command.env("GIT_WORK_TREE", folder);
        self.folder(folder)
    }

    /// Use this file as the index.
    pub(crate) fn index(mut self, file: &Path) -> Self {
        self.command.env("GIT_INDEX_FILE", file);
        self
    }

    /// Give these bytes on standard input.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Exit codes that are answers and not failures.
    pub(crate) fn accept(mut self, codes: &'static [i32]) -> Self {
        self.accepted = codes;
        self
    }

    /// Another time limit than the purpose's.
    #[cfg(test)]
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it.
    pub(crate) fn run(mut self) -> Result<Answer, GitError> {
        let patience = Patience::of(self.limit);
        let outcome = pump::run(&mut self.command, &self.input, patience);
        let (failure, stderr) = match outcome {
            Ok(ended) => match ended.status.code() {
                Some(code) if self.accepted.contains(&code) => {
                    tracing::debug!(call = %self.shown, code, millis = patience.spent().as_millis(), "git");
                    return Ok(Answer {
                        code,
                        stdout: ended.stdout,
                    });
                }
                Some(code) => (GitFailure::Exit(code), ended.stderr),
                None => (GitFailure::Signal, ended.stderr),
            },
            Err(NotEnded::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                (GitFailure::NotFound, Vec::new())
            }
            Err(NotEnded::Io(error)) => (GitFailure::Io(error), Vec::new()),
            Err(NotEnded::TimedOut(talk)) => (GitFailure::TimedOut(self.limit), talk),
            Err(NotEnded::TooMuchOutput) => (GitFailure::TooMuchOutput, Vec::new()),
        };
        Err(GitError {
            command: self.shown,
            failure,
            stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
        })
    }
}

/// What a call that went well said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
}

impl Answer {
    /// The output as text without its last line end; for ids, versions and numbers only.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// The NUL-terminated fields of the output.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout
            .split(|byte| *byte == 0)
            .filter(|field| !field.is_empty())
    }
}

/// A call of git that failed.
#[derive(Debug, thiserror::Error)]
#[error("`{command}` {failure}{}", said(stderr))]
pub struct GitError {
    /// The call, without the settings that every call has.
    pub command: String,
    /// How it failed.
    pub failure: GitFailure,
    /// What git said, in English.
    pub stderr: String,
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!(": {stderr}")
    }
}

impl GitError {
    /// Whether the same call may go well later without anybody's help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.failure, GitFailure::TimedOut(_) | GitFailure::Signal)
    }
}

/// How a call of git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitFailure {
    /// It ended with this code.
    #[error("ended with code {0}")]
    Exit(i32),
    /// A signal ended it.
    #[error("was ended by a signal")]
    Signal,
    /// It took longer than this and was ended.
    #[error("took longer than {} s and was ended", .0.as_secs())]
    TimedOut(Duration),
    /// It said more than is ever needed and was ended.
    #[error("gave too much output")]
    TooMuchOutput,
    /// The command, or the folder it was to run in, does not exist.
    #[error("could not start: the git command or its folder is missing")]
    NotFound,
    /// The system refused to start or feed it.
    #[error("could not run: {0}")]
    Io(std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::{Call, GitFailure, Purpose, Surroundings};
    use std::time::Duration;

    fn surroundings() -> Surroundings {
        Surroundings::from_vars([
            ("PATH", std::env::var("PATH").unwrap_or_default().as_str()),
            ("LC_ALL", "de_DE.UTF-8"),
            ("GIT_DIR", "/nowhere"),
            ("GIT_INDEX_FILE", "/nowhere/index"),
            ("GIT_TRACE", "1"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "Kept"),
        ])
    }

    fn ask(purpose: Purpose, args: &[&str]) -> String {
        Call::new(&surroundings(), purpose, args)
            .folder(&std::env::temp_dir())
            .run()
            .unwrap()
            .text()
    }

    #[test]
    fn surroundings_that_mislead_are_dropped_and_settings_hold() {
        let check = |key: &str, wanted: &str| {
            assert_eq!(
                ask(Purpose::Write, &["config", "--get", key]),
                wanted,
                "{key}"
            );
        };
        check("user.name", "Kept");
        check("core.hooksPath", "/dev/null");
        check("core.fsync", "all");
        check("commit.gpgsign", "false");
        check("gc.auto", "0");
        let env = ask(Purpose::Read, &["-c", "alias.e=!env", "e"]);
        let has = |line: &str| env.lines().any(|found| found == line);
        assert!(has("LC_ALL=C") && has("GIT_OPTIONAL_LOCKS=0") && has("GIT_TERMINAL_PROMPT=0"));
        assert!(!env.contains("/nowhere") && !env.contains("GIT_TRACE"));
    }

    #[test]
    fn failures_name_the_command_and_what_git_said() {
        let error = Call::new(&surroundings(), Purpose::Read, ["cat-file", "-e", "x"])
            .folder(std::path::Path::new("/"))
            .run()
            .unwrap_err();
        assert!(matches!(error.failure, GitFailure::Exit(128)));
        let text = error.to_string();
        assert!(
            text.starts_with("`git cat-file -e x` ended with code 128: fatal: "),
            "{text}"
        );
        assert!(!error.is_transient());
    }

    #[test]
    fn a_call_over_its_limit_is_ended() {
        let error = Call::new(
            &surroundings(),
            Purpose::Read,
            ["-c", "alias.s=!sleep 60", "s"],
        )
        .folder(std::path::Path::new("/"))
        .limit(Duration::from_millis(200))
        .run()
        .unwrap_err();
        assert!(matches!(error.failure, GitFailure::TimedOut(_)));
        assert!(error.is_transient());
    }
}
