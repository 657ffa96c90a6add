//! A repository in a temporary folder, with its own home and settings of git. Nothing of the
//! machine is used, and everything is gone when the value is dropped.

use engine_core::ids::{AttemptNo, TaskId};
use fleet_core::ids::{CommitId, RunId};
use fleet_git::{Repo, Surroundings, UnixSeconds, Workspace, Workspaces};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The time at which everything in tests is said to happen.
pub(crate) const NOON: UnixSeconds = UnixSeconds(1_767_268_800);

/// The first attempt at a task.
pub(crate) const FIRST: AttemptNo = AttemptNo(1);

pub(crate) fn task(id: &str) -> TaskId {
    id.parse().unwrap()
}

pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// An empty place with a home folder that holds a person's settings.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir };
        std::fs::create_dir_all(place.path("home")).unwrap();
        std::fs::write(
            place.path("home/.gitconfig"),
            "[user]\n\tname = Ada\n\temail = ada@example.invalid\n[protocol \"file\"]\n\tallow = always\n",
        )
        .unwrap();
        place
    }

    /// A place with repository `R`, branch `trunk`, one commit of `f` = `1\n2\n3\n`.
    pub(crate) fn with_repo() -> Self {
        let place = Self::empty();
        let mut options = git2::RepositoryInitOptions::new();
        options.initial_head("trunk").external_template(false);
        let repository = git2::Repository::init_opts(place.path("R"), &options).unwrap();
        place.write("R", &[("f", "1\n2\n3\n")]);
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("f")).unwrap();
        index.write().unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let time = git2::Time::new(1_767_225_600, 0);
        let ada = git2::Signature::new("Ada", "ada@example.invalid", &time).unwrap();
        repository
            .commit(Some("HEAD"), &ada, &ada, "first\n", &tree, &[])
            .unwrap();
        place
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(relative)
    }

    pub(crate) fn vars(&self) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        vec![
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", text(self.path("home"))),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_AUTHOR_DATE", "1767225600 +0000".into()),
            ("GIT_COMMITTER_DATE", "1767225600 +0000".into()),
            ("LC_ALL", "de_DE.UTF-8".into()),
            ("LANGUAGE", "de".into()),
        ]
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings::from_vars(self.vars())
    }

    /// The same with a script of ours as `git`; it finds the real one through `$REAL`.
    pub(crate) fn surroundings_with_git(&self, script: &str) -> Surroundings {
        let bin = self.path("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let file = bin.join("git");
        testkit::script::write(&file, script);
        let mut vars = self.vars();
        let real = vars[0].1.clone();
        vars[0].1 = format!("{}:{real}", bin.to_str().unwrap());
        vars.push(("REAL", real));
        Surroundings::from_vars(vars)
    }

    /// Plain git, as a person would call it; gives back what it printed.
    pub(crate) fn git<A: AsRef<OsStr>>(&self, folder: impl AsRef<Path>, args: &[A]) -> String {
        let output = self.try_git(folder, args);
        assert!(
            output.status.success(),
            "git failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    pub(crate) fn try_git<A: AsRef<OsStr>>(&self, folder: impl AsRef<Path>, args: &[A]) -> Output {
        Command::new("git")
            .env_clear()
            .envs(self.vars())
            .current_dir(self.path(folder))
            .args(args)
            .output()
            .unwrap()
    }

    pub(crate) fn write(&self, folder: impl AsRef<Path>, files: &[(&str, &str)]) {
        for (name, content) in files {
            let file = self.path(&folder).join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
    }

    pub(crate) fn commit(
        &self,
        folder: impl AsRef<Path>,
        files: &[(&str, &str)],
        message: &str,
    ) -> CommitId {
        let folder = folder.as_ref();
        self.write(folder, files);
        self.git(folder, &["add", "-A"]);
        self.git(folder, &["commit", "-q", "-m", message]);
        CommitId(self.git(folder, &["rev-parse", "HEAD"]))
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover_in(&self.path("R"), self.surroundings()).unwrap()
    }

    /// The work folders of run `r` as a fresh process sees them.
    pub(crate) fn workspaces(&self) -> Workspaces {
        self.workspaces_with(&[])
    }

    /// A work folder for the first attempt at task `one`, at the head of `R`.
    pub(crate) fn workspace(&self) -> (Workspaces, Workspace) {
        let workspaces = self.workspaces();
        let base = workspaces.repo().head().unwrap();
        let workspace = workspaces.for_task(&task("one"), FIRST, &base).unwrap();
        (workspaces, workspace)
    }

    pub(crate) fn workspaces_with(&self, copy: &[&str]) -> Workspaces {
        let copy: Vec<PathBuf> = copy.iter().map(PathBuf::from).collect();
        Workspaces::new(self.repo(), &self.path("wt"), &RunId("r".into()), &copy)
    }

    /// Everything that a failed or refused operation must leave as it was.
    pub(crate) fn state(&self) -> String {
        let refs = self.git("R", &["for-each-ref"]);
        let worktrees = self.git("R", &["worktree", "list", "--porcelain"]);
        let status = self.git("R", &["status", "--porcelain"]);
        let mut text = format!("{refs}\n{worktrees}\n{status}\n");
        for (name, content) in contents(&self.path("wt")) {
            let (name, content) = (name.escape_ascii(), content.escape_ascii());
            text.push_str(&format!("{name}: {content}\n"));
        }
        text.replace(self.path("").to_str().unwrap(), "@/")
            .replace(&self.repo().hash(), "<hash>")
    }

    /// Commits that no ref reaches.
    pub(crate) fn unreachable_commits(&self) -> Vec<String> {
        self.git(
            "R",
            &["fsck", "--unreachable", "--no-reflogs", "--no-progress"],
        )
        .lines()
        .filter(|line| line.contains("commit"))
        .map(str::to_owned)
        .collect()
    }
}

/// Every file below a folder with its content; names as bytes. Git's own files are left out.
pub(crate) fn contents(folder: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    listing(folder)
        .into_iter()
        .map(|name| {
            let path = folder.join(OsStr::from_bytes(&name));
            let content = match std::fs::read_link(&path) {
                Ok(target) => target.as_os_str().as_bytes().to_vec(),
                Err(_) => std::fs::read(&path).unwrap(),
            };
            (name, content)
        })
        .collect()
}

/// The names of every file and link below a folder.
pub(crate) fn listing(folder: &Path) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.file_name() == ".git" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                let name = path.strip_prefix(folder).unwrap();
                names.insert(name.as_os_str().as_bytes().to_vec());
            }
        }
    }
    names
}
