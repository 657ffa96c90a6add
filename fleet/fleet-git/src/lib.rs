//! Worktrees, private snapshots, commits and merges in the person's repository.
//!
//! Synchronous: callers put it on a blocking pool. What must survive a power cut is written by the
//! git command with `core.fsync=all`; reading and diffing is done in this process.
//!
//! It never touches the person's checkout, index, stash, hooks or configuration, never runs a hook and
//! never signs, but for [`Repo::bring_home`], which a person asks for. It never believes a `.git` file or
//! a configuration that an agent could have written: every git process that works for the fleet is told
//! its git folder, work tree and index explicitly.

mod checkout;
mod command;
mod commit;
mod conflict;
mod demo;
mod diff;
mod error;
mod folders;
mod homeward;
mod identity;
mod leavings;
mod lock;
mod made;
mod merge;
mod names;
mod patience;
mod pool;
mod pump;
mod refs;
mod register;
mod remove;
mod repo;
mod shared;
mod snapshot;
mod standing;
mod status;
mod sweep;
mod workspace;

pub use checkout::Checkout;
pub use command::{GitError, GitFailure, Surroundings};
pub use commit::{CommitIntent, CommitPlan, UnixSeconds};
pub use conflict::{Conflict, Conflicts, ShortCommit};
pub use demo::{DemoError, demo_repo, demo_repo_in};
pub use diff::{Change, ChangedFile, Diff};
pub use error::WorkspaceError;
pub use homeward::{Arrival, Home, Homeward, HomewardError};
pub use identity::{Identity, IdentitySource};
pub use leavings::{Leaving, Worth};
pub use lock::LockHeld;
pub use merge::{MergeNote, MergePlan};
pub use refs::Moved;
pub use remove::{KeptReason, Removal};
pub use repo::{OpenError, Repo, RepoError};
pub use snapshot::Snapshot;
pub use status::Dirty;
pub use workspace::{Workspace, Workspaces};
