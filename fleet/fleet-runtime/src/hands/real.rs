//! The hands that really do it: with git, models and processes. Never shared between runs.

use super::{Hands, Job};
use crate::blobs::RunBlobs;
use crate::mailbox::Mailbox;
use dashmap::DashMap;
use engine_core::ids::AgentId;
use engine_llm::Model;
use engine_runtime::Observer;
use engine_tools::mask::Mask;
use engine_tools::shell::{CommandEnv, ShellRunner};
use fleet_core::decide::Input;
use fleet_git::{Workspace, Workspaces};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// What the hands work with, chosen by whoever starts the run.
pub struct Gear {
    /// The run's work folders; `None` where there is no repository.
    pub workspaces: Option<Workspaces>,
    /// The folder the run was started on: where its agents work when it has no worktrees.
    pub folder: PathBuf,
    /// Models by provider.
    pub models: BTreeMap<String, Arc<dyn Model>>,
    /// Runs commands.
    pub runner: ShellRunner,
    /// Environment of commands.
    pub env: CommandEnv,
    /// Secrets that no result may show.
    pub mask: Mask,
    /// The run's large contents.
    pub blobs: RunBlobs,
    /// Hears models while they speak.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Git operations at once: they are processes and disk.
const GIT_AT_ONCE: usize = 8;

/// Performs jobs with git, models and processes. Cheap to clone.
#[derive(Clone)]
pub struct FleetHands {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) gear: Gear,
    /// Work folders of attempts under way.
    pub(super) made: DashMap<AgentId, Workspace>,
    pub(super) git_slots: Semaphore,
    /// Checks at once: they are compilers and test suites.
    pub(super) check_slots: Semaphore,
}

impl FleetHands {
    /// Hands with this gear.
    #[must_use]
    pub fn new(gear: Gear) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            inner: Arc::new(Inner {
                gear,
                made: DashMap::new(),
                git_slots: Semaphore::new(GIT_AT_ONCE),
                check_slots: Semaphore::new(cores),
            }),
        }
    }
}

impl Hands for FleetHands {
    fn perform(
        &self,
        job: Job,
        mailbox: Mailbox,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Option<Input>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            match job {
                Job::PrepareWorkspace(job) => {
                    inner
                        .git(job.agent.clone(), mailbox, move |hands| hands.prepare(&job))
                        .await
                }
                Job::RunAgent(job) => inner.run_agent(*job, mailbox, cancel).await,
                Job::Commit(job) => {
                    inner
                        .git(job.agent.clone(), mailbox, move |hands| hands.commit(&job))
                        .await
                }
                Job::RunCheck(job) => inner.run_check(job, mailbox, cancel).await,
                Job::PrepareLanding(job) => {
                    inner
                        .git(job.agent.clone(), mailbox, move |hands| {
                            hands.prepare_landing(&job)
                        })
                        .await
                }
                Job::Land(job) => {
                    inner
                        .git(job.agent.clone(), mailbox, move |hands| hands.land(&job))
                        .await
                }
            }
        })
    }

    fn finish(&self) -> BoxFuture<'static, ()> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            // Best effort: what stays is listed by `fleet clean`.
            let _ = tokio::task::spawn_blocking(move || inner.take_away()).await;
        })
    }
}
