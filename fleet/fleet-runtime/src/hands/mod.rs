//! Performs what the manager owes: worktrees, agents, commits, checks, landings. Never decides and
//! never appends: every outcome goes back as an input.

mod agent;
mod checks;
mod conflict;
mod git;
mod real;
mod snapshots;

use crate::mailbox::Mailbox;
pub use crate::manager::{AgentJob, CheckJob, CommitJob, Job, LandJob, LandingJob, PrepareJob};
use fleet_core::decide::Input;
use futures_util::future::BoxFuture;
pub use real::{FleetHands, Gear};
use tokio_util::sync::CancellationToken;

/// What performs jobs. The manager knows nothing of git, models or processes.
pub trait Hands: Send + Sync + 'static {
    /// Performs one job. The outcome is an input for the manager; `None` when it was cancelled, or
    /// stopped the run because of the place it works in: the next manager owes it again.
    fn perform(
        &self,
        job: Job,
        mailbox: Mailbox,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Option<Input>>;

    /// The run is over for good: takes away what only it needed and what holds no work.
    fn finish(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}
