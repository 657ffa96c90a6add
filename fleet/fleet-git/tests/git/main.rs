//! The room against the real git command: every test makes its own repository, offline, with a home
//! folder of its own. One binary, because linking is the slow part.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod checkouts;
mod crash;
mod homeward;
mod landing;
mod leavings;
mod locks;
mod odd;
mod opening;
mod place;
mod pool;
mod removal;
mod snapshots;
mod submodules;
mod worktrees;
