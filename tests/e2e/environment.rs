//! Where a test runs the binary: a folder with a home of its own, an environment that holds nothing
//! of the machine but `PATH`, and an identity for git.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// A place to run the binary in. Clones share it; dropping the last one removes everything.
#[derive(Clone)]
pub(crate) struct TestEnvironment {
    folder: Arc<TempDir>,
    variables: Vec<(String, String)>,
}

/// What a run of the binary left.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Standard output, with `$T` for the folder of the test.
    pub(crate) stdout: String,
    /// Standard error, likewise.
    pub(crate) stderr: String,
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
}

impl TestEnvironment {
    /// A home, and beside it the empty folder `work` in which the binary is started.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["home", "desk"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self {
            folder: Arc::new(folder),
            variables: Vec::new(),
        }
    }

    /// The same with a variable set. `$T` in the value stands for the folder of the test.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let value = value.replace("$T", self.root());
        self.variables.push((name.to_owned(), value));
        self
    }

    /// The same with an identity for git.
    pub(crate) fn with_identity(self) -> Self {
        self.write(
            "home/.gitconfig",
            "[user]\nname = A Person\nemail = person@example.invalid\n[init]\ndefaultBranch = main\n",
        );
        self.with("GIT_CONFIG_GLOBAL", "$T/home/.gitconfig")
    }

    /// The same with `work` as a repository of one commit, by an identity of its own.
    pub(crate) fn with_repository(self) -> Self {
        let this = self.with_identity();
        this.write("desk/README.md", "A sample.\n");
        this.git(&["init", "-q"]);
        this.git(&["add", "-A"]);
        this.git(&["commit", "-q", "-m", "Begin"]);
        this
    }

    /// Runs git in `work`; what it printed, without its last line end.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.program(Path::new("git"), arguments).output();
        let ran = self.ran(&output.expect("git starts")).exits(0);
        ran.stdout.trim_end().to_owned()
    }

    /// The folder of the test.
    pub(crate) fn root(&self) -> &str {
        self.folder.path().to_str().expect("a path of text")
    }

    /// A path below the folder of the test.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Writes a file below the folder of the test, with the folders above it.
    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        let parent = path.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(parent).expect("folders");
        std::fs::write(&path, text.replace("$T", self.root())).expect("a file");
    }

    /// The binary with these arguments, ready to start in `work`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_codewhale")), arguments)
    }

    /// A program with these arguments, ready to start in `desk`.
    pub(crate) fn program(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("desk"))
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the binary and waits for its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().expect("the binary starts");
        self.ran(&output)
    }

    /// What a process left, in this environment.
    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).expect("output is text");
            text.replace(self.root(), "$T")
        };
        Ran {
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            code: output.status.code(),
        }
    }
}

impl Ran {
    /// Asserts the exit code; what was printed is shown when it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Every line of standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
        };
        self.stdout.lines().map(parse).collect()
    }
}
