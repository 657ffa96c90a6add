//! Looks at a ledger from outside: verifies it, and shows what is in it, past damage. Shares no code with
//! the writer, so that neither hides the other's mistakes; never takes the lock, never changes a byte.
//!
//! The format is described in `docs/ledger-format.md`; this crate is one reading of that page.

mod blobs;
mod error;
mod export;
mod filter;
mod line;
mod past;
mod pieces;
mod record;
mod show;
mod stats;
mod verify;
mod walk;

pub use blobs::{BlobDamage, BlobReport};
pub use error::InspectError;
pub use export::export_csv;
pub use filter::Filter;
pub use show::{Shown, Style, show};
pub use stats::{Batches, EpochStats, KindStats, Span, Stats, TokenStats, stats};
pub use verify::{Damage, Head, Report, Torn, verify, verify_bytes};
pub use walk::Place;
