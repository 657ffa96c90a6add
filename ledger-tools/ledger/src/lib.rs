//! The append-only JSONL file that holds a run: line codec, checksum chain, lock, group commit,
//! replay, tail and blobs. Generic over what a record is; never knows a run, a task or a fleet, never
//! prints, never reads the wall clock, and never goes on after a failed write.
//!
//! - [`create`] and [`open`] take the lock and give a [`Writer`]; [`Writer::append`] never blocks on
//!   the disk, and a callback tells which lines are durable, and when the disk is filling.
//! - [`replay`] reads without changing a byte, also beside a living writer; [`replay_bytes`] reads what
//!   lies in memory.
//! - [`Blobs`] keep what is too large for a line.
//! - [`Follower`] waits for durable lines as they come.
//!
//! The bytes are described in `docs/ledger-format.md`.

mod at;
mod blobs;
mod chain;
mod codec;
mod disk;
mod error;
mod filesystem;
mod follow;
mod format;
mod hint;
mod line;
mod lock;
mod log;
mod memory;
mod open;
mod queue;
mod replay;
mod room;
mod scan;
mod writer;

pub use blobs::{Blob, BlobError, Blobs};
pub use codec::{Codec, DecodeError, Entry};
pub use error::{AppendError, Damage, OpenError, Place, ReplayError, Trouble, WriteError};
pub use filesystem::{Filesystems, Foreign, foreign};
pub use follow::{FollowError, Follower, StopHandle};
pub use format::{BATCH_MAX_BYTES, Epoch, FORMAT, Head, LINE_MAX_BYTES, Seq, Sum};
pub use lock::{Holder, Left, holder};
pub use memory::replay_bytes;
pub use open::{Opened, create, open};
pub use replay::{OnEntry, Replayed, Tail, Torn, replay};
pub use room::{FREE_MIN_BYTES, Filling};
pub use writer::{OnDurable, Word, Writer};

#[cfg(test)]
mod tests;
