//! Repositories as they are found in the wild: odd names and contents, states in the middle of
//! something, unusual formats. Made by the git command with settings of their own. Never fetches from
//! anywhere but a folder beside them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A kind of repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// Names with blanks, quotes, line feeds and bytes that are no text; links that lead anywhere;
    /// line ends of both kinds; nested rules for what is ignored; names that differ in case only.
    Names,
    /// Two submodules, of which one is not set up and has lost its remote.
    Submodules,
    /// A pointer to a large file that is not there, without the program that would fetch it.
    LargeFilePointer,
    /// No commit yet.
    Unborn,
    /// In the middle of a merge that conflicts.
    Merging,
    /// In the middle of a rebase that conflicts.
    Rebasing,
    /// HEAD names a commit, not a branch.
    Detached,
    /// A lock on the index that nobody holds.
    LockedIndex,
    /// No checkout.
    Bare,
    /// Only the newest commit was fetched.
    Shallow,
    /// Object names of another length.
    Sha256,
    /// Branches in another format than files.
    Reftable,
    /// A second checkout of another repository.
    LinkedWorktree,
    /// Hooks that fail, and leave a trace when they run.
    FailingHooks,
    /// Five thousand branches.
    ManyBranches,
    /// Staged, changed, untracked and stashed work.
    Dirty,
    /// Only some folders are checked out.
    Sparse,
    /// Objects that lie in another repository.
    Alternates,
}

impl Odd {
    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::Names,
        Self::Submodules,
        Self::LargeFilePointer,
        Self::Unborn,
        Self::Merging,
        Self::Rebasing,
        Self::Detached,
        Self::LockedIndex,
        Self::Bare,
        Self::Shallow,
        Self::Sha256,
        Self::Reftable,
        Self::LinkedWorktree,
        Self::FailingHooks,
        Self::ManyBranches,
        Self::Dirty,
        Self::Sparse,
        Self::Alternates,
    ];
}

/// Names of files that a program may trip over.
pub const ODD_NAMES: [&[u8]; 12] = [
    b"with space.txt",
    b"tab\there",
    b"new\nline",
    b"-rf",
    b"quote\"s",
    "ünïcödé.md".as_bytes(),
    b"bad\xffutf8",
    b"a -> b",
    b":(glob)*",
    b"a;b$(touch pwned)`id`",
    b"README",
    b"readme",
];

/// A folder in which repositories are made. Removes nothing: the folder is the caller's.
#[derive(Debug)]
pub struct Workshop<'a> {
    folder: &'a Path,
}

impl<'a> Workshop<'a> {
    /// Makes repositories in this folder, which exists.
    #[must_use]
    pub fn in_folder(folder: &'a Path) -> Self {
        Self { folder }
    }

    /// Makes a repository of a kind; gives back the folder that a person would stand in.
    ///
    /// # Panics
    /// When git fails, with what it said.
    #[must_use]
    pub fn make(&self, kind: Odd) -> PathBuf {
        let name = match kind {
            Odd::Names => return self.names("names"),
            Odd::Submodules => return self.submodules(),
            Odd::Merging | Odd::Rebasing => return self.conflict(kind),
            Odd::Bare => "bare.git",
            _ => "repo",
        };
        let made = self.folder.join(name);
        let other = || {
            let origin = self.names("origin");
            format!("file://{}", origin.display())
        };
        match kind {
            Odd::Unborn => self.init("repo", &[]),
            Odd::Sha256 => self.simple("repo", &["--object-format=sha256"]),
            Odd::Reftable => self.simple("repo", &["--ref-format=reftable"]),
            Odd::Bare => self.git(self.folder, &["clone", "-q", "--bare", &other(), name]),
            Odd::Shallow => {
                self.git(
                    self.folder,
                    &["clone", "-q", "--depth", "1", &other(), name],
                );
            }
            Odd::Detached => {
                self.git(self.folder, &["clone", "-q", &other(), name]);
                self.git(&made, &["checkout", "-q", "--detach", "HEAD~1"]);
            }
            Odd::LockedIndex => {
                self.git(self.folder, &["clone", "-q", &other(), name]);
                write(&made, b".git/index.lock", b"");
            }
            Odd::LinkedWorktree => {
                let origin = self.names("origin");
                self.git(&origin, &["worktree", "add", "-q", "../repo", "-b", "wt"]);
            }
            Odd::Alternates => {
                let origin = self.names("origin").display().to_string();
                let args = ["clone", "-q", "--shared", &origin, name];
                self.git(self.folder, &args);
            }
            _ => {
                self.simple("repo", &[]);
                self.change(kind, &made);
            }
        }
        made
    }

    /// What makes a plain repository a repository of a kind.
    fn change(&self, kind: Odd, made: &Path) {
        match kind {
            Odd::LargeFilePointer => {
                let rule = b"*.bin filter=lfs diff=lfs merge=lfs -text\n";
                write(made, b".gitattributes", rule);
                let pointer = format!(
                    "version https://git-lfs.github.com/spec/v1\noid sha256:{:064}\nsize 12345\n",
                    7
                );
                write(made, b"model.bin", pointer.as_bytes());
                self.commit(made, "Point to a large file");
            }
            Odd::FailingHooks => {
                for hook in ["pre-commit", "post-checkout", "reference-transaction"] {
                    let file = format!(".git/hooks/{hook}");
                    write(
                        made,
                        file.as_bytes(),
                        b"#!/bin/sh\ntouch ../hook-ran\nexit 1\n",
                    );
                    executable(&made.join(file));
                }
            }
            Odd::ManyBranches => {
                let head = self.feed(made, &["rev-parse", "HEAD"], "");
                let mut updates = String::new();
                for number in 1..=5_000 {
                    let _ = writeln!(updates, "create refs/heads/b/{number} {head}");
                }
                self.feed(made, &["update-ref", "--stdin"], &updates);
            }
            Odd::Dirty => {
                write(made, b"a.txt", b"stashed\n");
                self.git(made, &["stash", "push", "-q"]);
                write(made, b"staged.txt", b"staged\n");
                self.git(made, &["add", "staged.txt"]);
                write(made, b"a.txt", b"changed\n");
                write(made, b"untracked.txt", b"untracked\n");
            }
            Odd::Sparse => {
                write(made, b"in/here.txt", b"here\n");
                write(made, b"out/there.txt", b"there\n");
                self.commit(made, "Add two folders");
                self.git(made, &["sparse-checkout", "set", "in"]);
            }
            _ => unreachable!("{kind:?} is made otherwise"),
        }
    }

    fn names(&self, name: &str) -> PathBuf {
        self.init(name, &[]);
        let made = self.folder.join(name);
        write(&made, b"crlf.txt", b"a\r\nb\r\n");
        write(
            &made,
            b".gitattributes",
            b"*.bat text eol=crlf\n*.png binary\n",
        );
        write(&made, b"run.bat", b"@echo off\r\n");
        write(&made, b"tail.txt", b"no newline at end");
        write(&made, b"bom.txt", b"\xef\xbb\xbfbom\n");
        write(&made, b"latin1.txt", b"latin1 \xe9\n");
        write(&made, b"blob.png", &(0..=255).collect::<Vec<u8>>());
        write(&made, b"empty", b"");
        for odd in &ODD_NAMES[..ODD_NAMES.len() - 2] {
            write(&made, odd, b"x\n");
        }
        write(
            &made,
            format!("deep/{}leaf", "d/".repeat(40)).as_bytes(),
            b"x\n",
        );
        for (target, link) in [
            ("/etc/passwd", "abs-link"),
            ("../outside", "rel-out"),
            ("tail.txt", "ok-link"),
            ("missing", "dangling"),
        ] {
            symlink(target, made.join(link)).expect("a link can be made");
        }
        write(&made, b"tool.sh", b"#!/bin/sh\necho hi\n");
        executable(&made.join("tool.sh"));
        write(&made, b".gitignore", b"ignored/\n*.log\n!keep.log\n");
        write(&made, b"keep.log", b"k\n");
        write(&made, b"nested/.gitignore", b"*\n!.gitignore\n!kept\n");
        write(&made, b"nested/kept", b"k\n");
        write(&made, b"nested/dropped", b"ignored\n");
        self.commit(&made, "Odd names");
        write(&made, b"README", b"Case\n");
        write(&made, b"readme", b"case\n");
        self.commit(&made, "Names that differ in case");
        made
    }

    fn submodules(&self) -> PathBuf {
        for library in ["lib-one", "lib-two"] {
            self.simple(library, &[]);
        }
        self.simple("super", &[]);
        let made = self.folder.join("super");
        for (from, into) in [("../lib-one", "mod"), ("../lib-two", "gone")] {
            self.git(&made, &["submodule", "--quiet", "add", from, into]);
        }
        self.commit(&made, "Add submodules");
        for lost in ["super/gone", "super/.git/modules/gone", "lib-two"] {
            fs::remove_dir_all(self.folder.join(lost)).expect("it was made");
        }
        made
    }

    fn conflict(&self, kind: Odd) -> PathBuf {
        self.simple("repo", &[]);
        let made = self.folder.join("repo");
        self.git(&made, &["checkout", "-q", "-b", "other"]);
        write(&made, b"a.txt", b"theirs\n");
        self.commit(&made, "Theirs");
        self.git(&made, &["checkout", "-q", "main"]);
        write(&made, b"a.txt", b"ours\n");
        self.commit(&made, "Ours");
        let verb = if kind == Odd::Merging {
            "merge"
        } else {
            "rebase"
        };
        let stopped = self.output(
            &made,
            &["-c", "advice.mergeConflict=false", verb, "other"],
            "",
        );
        assert_eq!(stopped.status.code(), Some(1), "{verb} must conflict");
        made
    }

    /// One commit of `a.txt`.
    fn simple(&self, name: &str, options: &[&str]) {
        self.init(name, options);
        let made = self.folder.join(name);
        write(&made, b"a.txt", b"a\n");
        self.commit(&made, "Begin");
    }

    fn init(&self, name: &str, options: &[&str]) {
        let args = [&["init", "-q", "-b", "main"], options, &[name]].concat();
        self.git(self.folder, &args);
    }

    fn commit(&self, made: &Path, message: &str) {
        self.git(made, &["add", "-A"]);
        self.git(made, &["commit", "-q", "-m", message]);
    }

    fn git(&self, folder: &Path, args: &[&str]) {
        self.feed(folder, args, "");
    }

    fn feed(&self, folder: &Path, args: &[&str], input: &str) -> String {
        let output = self.output(folder, args, input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    fn output(&self, folder: &Path, args: &[&str], input: &str) -> Output {
        let feed = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(feed.path(), input).expect("it can be written");
        let settings = [
            "protocol.file.allow=always",
            "user.name=Odd Person",
            "user.email=odd@sample.invalid",
        ];
        Command::new("git")
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .args(args)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .stdin(Stdio::from(feed.reopen().expect("it can be read")))
            .output()
            .expect("git can be started")
    }
}

fn write(folder: &Path, name: &[u8], content: &[u8]) {
    let path = folder.join(OsStr::from_bytes(name));
    let parent = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(parent).expect("folders can be made");
    fs::write(path, content).expect("a file can be written");
}

fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
}

#[cfg(test)]
mod tests {
    use super::{Odd, Workshop};

    #[test]
    fn every_kind_can_be_made() {
        for kind in Odd::ALL {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let made = Workshop::in_folder(folder.path()).make(kind);
            assert!(made.is_dir(), "{kind:?}");
        }
    }
}
