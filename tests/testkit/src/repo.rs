//! Sample repositories, made by the git command with an identity and configuration of their own.
//! Never reads the machine's git configuration, home or clock.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The moment of every commit.
const DATE: &str = "2026-01-01T00:00:00Z";

/// A repository in a temporary folder with a home folder beside it. Removed when dropped.
#[derive(Debug)]
pub struct Sample {
    folder: TempDir,
}

impl Default for Sample {
    fn default() -> Self {
        Self::new()
    }
}

impl Sample {
    /// A repository on branch `main` with one commit of a `README.md`.
    #[must_use]
    pub fn new() -> Self {
        Self::with_files(&[("README.md", "A sample.\n")])
    }

    /// A repository on branch `main` with one commit of these files: path and content.
    #[must_use]
    pub fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::with_prefix("codewhale-sample-").expect("a temporary folder");
        let sample = Self { folder };
        for made in [sample.path(), sample.home()] {
            std::fs::create_dir(made).expect("an empty folder takes a folder");
        }
        sample.git(&["init", "-q", "-b", "main"]);
        sample.git(&["config", "user.name", "Sample Person"]);
        sample.git(&["config", "user.email", "person@sample.invalid"]);
        for (path, content) in files {
            sample.write(path, content);
        }
        sample.commit("Begin");
        sample
    }

    /// The work tree.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// The home folder that goes with it; empty at first.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes a file of the work tree, with the folders above it.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("the folders of a sample can be made");
        }
        std::fs::write(path, content).expect("a file of a sample can be written");
    }

    /// Reads a file of the work tree.
    #[must_use]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path().join(path)).expect("the file is there and is text")
    }

    /// Commits everything and returns the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the work tree and returns what it printed, without the last line end.
    ///
    /// # Panics
    /// When git fails, with what it said.
    pub fn git(&self, args: &[&str]) -> String {
        let output = self
            .command("git")
            .args(args)
            .output()
            .expect("git can be started");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let printed = String::from_utf8(output.stdout).expect("git prints UTF-8 here");
        printed.trim_end().to_owned()
    }

    /// A command in the work tree with this sample's own environment and nothing of the machine's
    /// but `PATH`.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", DATE)
            .env("GIT_COMMITTER_DATE", DATE);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_commit() {
        let files = [("src/a.txt", "alpha\n"), ("b.txt", "beta\n")];
        let (one, two) = (Sample::with_files(&files), Sample::with_files(&files));
        let head = |sample: &Sample| sample.git(&["rev-parse", "HEAD"]);
        assert_eq!(head(&one), head(&two));
        assert_eq!(one.git(&["ls-files"]), "b.txt\nsrc/a.txt");
        assert_eq!(one.git(&["branch", "--show-current"]), "main");
    }

    #[test]
    fn it_goes_when_dropped() {
        let sample = Sample::new();
        sample.write("new/file.txt", "x");
        assert_eq!(sample.read("new/file.txt"), "x");
        let path = sample.path();
        drop(sample);
        assert!(!path.exists());
    }
}
