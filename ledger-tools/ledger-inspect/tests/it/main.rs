//! Ledgers looked at from outside: whole ones written by the real writer, and damaged ones.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod agreement;
mod blobs;
mod common;
mod format_page;
mod show;
mod stats;
mod verify;
