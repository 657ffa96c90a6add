//! Why a ledger cannot be looked at. Damage is no error here: it is what is looked for.

use crate::walk::Place;
use std::io;
use std::path::PathBuf;

/// Why a ledger cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// There is no such file, or no ledger in the folder.
    #[error("there is no ledger at {0}")]
    Missing(PathBuf),
    /// A line is of a format that this program does not know; what stands before it is.
    #[error("{place} is in format {found}; this program reads format {known}")]
    Newer {
        /// Where.
        place: Place,
        /// The format found.
        found: u64,
        /// The format known.
        known: u64,
    },
    /// The ledger cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// What was found cannot be written; a closed pipe is one reason.
    #[error("cannot write what was found: {0}")]
    Write(io::Error),
}
