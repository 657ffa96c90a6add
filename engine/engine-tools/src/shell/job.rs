//! One command as a value: what runs, where, confined how, for how long. Never runs it.

use super::capture::OUTPUT_MAX_BYTES;
use super::env::CommandEnv;
use super::scratch::Scratch;
use super::wire::{FenceOrder, Network, Order, Shortfall};
use crate::mask::Mask;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Shells to run a command line with; the first that exists is taken.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// One command to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is run.
    pub command: CommandLine,
    /// Where it starts; absolute.
    pub folder: PathBuf,
    /// Its environment, without HOME and TMPDIR.
    pub env: CommandEnv,
    /// Its HOME and TMPDIR, which it may always change.
    pub scratch: Arc<Scratch>,
    /// What it may reach.
    pub fence: Fence,
    /// What its output must not show.
    pub mask: Mask,
    /// How long and how much.
    pub limits: JobLimits,
    /// What happens to processes that it leaves running.
    pub leftovers: Leftovers,
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A line for bash, or for sh where there is no bash.
    Shell(String),
    /// A program, looked up in PATH, with its arguments.
    Program {
        /// The program.
        program: OsString,
        /// Its arguments.
        args: Vec<OsString>,
    },
}

/// What a command may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fence {
    /// It may read everything that the person can read, and write only in `writable`, its home and
    /// temporary folder, and `/dev/null`.
    Confined {
        /// Folders and files it may change; all must exist.
        writable: Vec<PathBuf>,
        /// Whether sockets are open to it.
        network: Network,
        /// Whether it may start when the kernel holds less.
        shortfall: Shortfall,
    },
    /// Everything the person can reach.
    Open,
}

/// How long a command may take and how much of its output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// After this it is ended.
    pub time: Duration,
    /// Time between the polite signal and the hard one.
    pub grace: Duration,
    /// Most bytes of output kept; the rest is counted.
    pub output_bytes: usize,
}

impl Default for JobLimits {
    /// Two minutes, a grace of one second, 64 KiB.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            grace: Duration::from_secs(1),
            output_bytes: OUTPUT_MAX_BYTES,
        }
    }
}

/// What happens to processes that a command leaves running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// They are ended before the result is given.
    End,
    /// They run on until [`super::Background::end`] or until that is dropped.
    Keep,
}

impl Job {
    /// The order for the helper.
    pub(crate) fn order(&self) -> Order {
        let (programs, args) = match &self.command {
            CommandLine::Shell(line) => (
                SHELLS.iter().map(OsString::from).collect(),
                vec!["-c".into(), line.into()],
            ),
            CommandLine::Program { program, args } => (vec![program.clone()], args.clone()),
        };
        let fence = match &self.fence {
            Fence::Open => None,
            Fence::Confined {
                writable,
                network,
                shortfall,
            } => Some(FenceOrder {
                writable: writable
                    .iter()
                    .map(|path| path.clone().into_os_string())
                    .chain([self.scratch.home().into(), self.scratch.temporary().into()])
                    .collect(),
                network: *network,
                shortfall: *shortfall,
            }),
        };
        Order {
            programs,
            args,
            folder: self.folder.clone().into_os_string(),
            fence,
            grace_ms: u64::try_from(self.limits.grace.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
