//! Where runs are measured: a repository with a home and a folder for rosters beside it. Never reads
//! the machine's home or its configuration of git.

use crate::measure::Plan;
use crate::plan::Order;
use std::fs;
use std::path::{Path, PathBuf};
use testkit::repo::Sample;

/// Files of the repository, 2 KiB each.
const FILES: usize = 500;

/// A repository to run fleets in. Dropping it removes everything.
pub(crate) struct Ground {
    sample: Sample,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self::of_files(FILES)
    }

    pub(crate) fn of_files(count: usize) -> Self {
        let text = "some words of text that an agent may read\n".repeat(50);
        let path = |n: usize| match n / FILES {
            0 => format!("src/{n}.txt"),
            folder => format!("src/{folder}/{n}.txt"),
        };
        let paths: Vec<String> = (0..count).map(path).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|p| (p.as_str(), text.as_str())).collect();
        Self {
            sample: Sample::with_files(&files),
        }
    }

    fn root(&self) -> PathBuf {
        let repository = self.sample.path();
        let root = repository
            .parent()
            .expect("a sample has a folder of its own");
        root.to_owned()
    }

    /// Writes a file below the folder that holds repository and home.
    pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.root().join(below);
        let parent = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(parent).expect("folders can be made");
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// Writes a roster and its script; answers the roster's path.
    pub(crate) fn order(&self, order: &Order) -> String {
        self.write("turns.jsonl", &order.turns);
        let roster = self.write("roster.toml", &order.roster);
        roster.display().to_string()
    }

    /// The binary with these arguments.
    pub(crate) fn codewhale(&self, arguments: &[&str]) -> Plan {
        self.program(Path::new(env!("CARGO_BIN_EXE_codewhale")), arguments)
    }

    /// A run of a roster.
    pub(crate) fn run(&self, roster: &str) -> Plan {
        self.codewhale(&["fleet", "run", roster])
    }

    /// A script for the shell.
    pub(crate) fn shell(&self, script: &str) -> Plan {
        self.program(Path::new("/bin/sh"), &["-euc", script])
    }

    fn program(&self, program: &Path, arguments: &[&str]) -> Plan {
        Plan {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&a| a.to_owned()).collect(),
            folder: self.sample.path(),
            variables: vec![
                ("PATH", std::env::var("PATH").unwrap_or_default()),
                ("HOME", self.sample.home().display().to_string()),
                ("TMPDIR", self.root().display().to_string()),
                ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
                ("LANG", "C.UTF-8".to_owned()),
            ],
        }
    }

    /// Puts a run there whose ledger has these bytes.
    pub(crate) fn put_run(&self, id: &str, ledger: &str) {
        let folder = self.sample.path().join(".git/codewhale/runs").join(id);
        fs::create_dir_all(&folder).expect("folders can be made");
        fs::write(folder.join("ledger.jsonl"), ledger).expect("a file can be written");
    }

    /// Copies the folder of the newest run until there are `count` of it.
    pub(crate) fn multiply_the_newest_run(&self, count: usize) {
        let runs = self.sample.path().join(".git/codewhale/runs");
        let newest = fs::read_dir(&runs)
            .expect("a run leaves a folder")
            .map(|entry| entry.expect("an entry can be read").path())
            .max_by_key(|path| {
                let ledger = fs::metadata(path.join("ledger.jsonl"));
                ledger.and_then(|data| data.modified()).ok()
            })
            .expect("there is a run");
        let name = newest.file_name().expect("a folder has a name").display();
        for number in 1..count {
            copy_folder(&newest, &runs.join(format!("{name}-{number}")));
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().expect("an entry has a name");
        if path.is_dir() {
            copy_folder(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("a file can be copied");
        }
    }
}
