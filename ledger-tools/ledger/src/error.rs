//! What can go wrong with a ledger, one enum per operation, and which kind of trouble it is. Never
//! decides an exit code.

use crate::filesystem::Foreign;
use crate::format::FORMAT;
use crate::lock::Holder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kinds of trouble that whoever runs the program must tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// There is no ledger here, or there is one already.
    Place,
    /// The ledger is damaged, or newer than this program.
    Unreadable,
    /// Another process holds it.
    Held,
    /// The storage failed, is full, or is of a kind that cannot be relied on.
    Storage,
}

/// A place in a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The segment's path.
    pub segment: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
    /// Where the line begins, in bytes from the segment's start.
    pub byte: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            segment,
            line,
            byte,
        } = self;
        write!(f, "{}, line {line}, byte {byte}", segment.display())
    }
}

/// An acknowledged line that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger is damaged at {place}: expected {expected}, found {found}")]
pub struct Damage {
    /// Where.
    pub place: Place,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// Why a ledger could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The folder holds no ledger.
    #[error("there is no ledger in {0}")]
    Missing(PathBuf),
    /// An acknowledged line is damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// It does not begin like a ledger.
    #[error("{0} does not begin like a ledger")]
    NotALedger(Place),
    /// A line is of another format than those this program reads.
    #[error("{place} is in format {found}{}; this program reads format {FORMAT}", by(.writer.as_ref()))]
    Newer {
        /// Where.
        place: Place,
        /// The format found.
        found: u64,
        /// The product version that opened the ledger, where it says so.
        writer: Option<String>,
    },
    /// A record of a type that this program does not know, not marked ignorable.
    #[error("unknown record type `{kind}` at {place}{}", by(.writer.as_ref()))]
    UnknownRecord {
        /// Where.
        place: Place,
        /// The type.
        kind: String,
        /// The product version that opened the ledger, where it says so.
        writer: Option<String>,
    },
    /// A line is whole, but its records cannot be read.
    #[error("a record at {place} cannot be read: {reason}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong with it.
        reason: String,
    },
    /// Whoever folds the entries refused one.
    #[error("the entry at {place} is refused: {source}")]
    Refused {
        /// Where.
        place: Place,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The storage could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// What was read.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

fn by(writer: Option<&String>) -> String {
    writer.map_or_else(String::new, |version| {
        format!(", written by version {version}")
    })
}

impl ReplayError {
    pub(crate) fn io(path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path, source }
    }

    /// Which kind of trouble it is.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Missing(_) => Trouble::Place,
            Self::Damaged(_)
            | Self::NotALedger(_)
            | Self::Newer { .. }
            | Self::UnknownRecord { .. }
            | Self::Malformed { .. }
            | Self::Refused { .. } => Trouble::Unreadable,
            Self::Io { .. } => Trouble::Storage,
        }
    }
}

/// Why a ledger could not be created or opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is a ledger where one was to be created.
    #[error("there is already a ledger in {0}")]
    Exists(PathBuf),
    /// Another process writes it.
    #[error("{path} is held by {}", holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        /// The run's folder.
        path: PathBuf,
        /// Who holds it, as far as it can be told.
        holder: Option<Holder>,
    },
    /// A file system whose locks and syncs cannot be relied on.
    #[error("{path} lies on {kind}, where locks and syncs cannot be relied on")]
    Filesystem {
        /// The run's folder.
        path: PathBuf,
        /// What kind it is.
        kind: Foreign,
    },
    /// Too little room to begin.
    #[error("only {available} bytes are free for {path}; at least {needed} are needed")]
    Full {
        /// The run's folder.
        path: PathBuf,
        /// Bytes free.
        available: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// What is there could not be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] WriteError),
}

impl OpenError {
    /// Which kind of trouble it is.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Exists(_) => Trouble::Place,
            Self::Held { .. } => Trouble::Held,
            Self::Replay(error) => error.trouble(),
            Self::Filesystem { .. } | Self::Full { .. } | Self::Storage(_) => Trouble::Storage,
        }
    }
}

/// Why nothing more is written. Final for the process: what was not yet announced as durable is
/// unknown until the ledger is opened again. Repeating a failed sync would lie: the page cache may
/// show bytes that never reached the disk.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The storage failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried: `write`, `sync` …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: Arc<io::Error>,
    },
    /// Someone else wrote to the file.
    #[error("{path} ends at byte {found}, but this writer left it at byte {expected}")]
    Touched {
        /// The file.
        path: PathBuf,
        /// Where this writer left its end.
        expected: u64,
        /// Where it ends.
        found: u64,
    },
    /// Someone else put another file in its place.
    #[error("{path} is no longer the file that this writer opened")]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The writer's own thread died.
    #[error("the ledger's writer thread panicked")]
    Panicked,
}

impl WriteError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source: Arc::new(source),
        }
    }
}

/// Why a line was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The writer failed before; what it failed with was told through the callback.
    #[error("the ledger takes no more lines")]
    Closed,
    /// The records are too large for one line: large contents belong into blobs.
    #[error("the records take {bytes} bytes; a line holds at most {limit}")]
    TooLong {
        /// Bytes of the records.
        bytes: usize,
        /// Most bytes of records in one line.
        limit: usize,
    },
    /// The codec wrote a line feed or a NUL, which would break the line.
    #[error("a record's JSON holds a raw line feed or NUL")]
    NotOneLine,
}
