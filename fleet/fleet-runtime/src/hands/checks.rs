//! Checks: commands the fleet itself runs, in a clean checkout of an exact commit. Never in an
//! agent's folder.

use super::CheckJob;
use super::git::halt;
use super::real::Inner;
use crate::mailbox::Mailbox;
use engine_core::content::Content;
use engine_tools::shell::{
    CommandLine, End, Exit, Fence, Finished, Job, JobLimits, Leftovers, Network, Scratch, Shortfall,
};
use fleet_core::decide::Input;
use fleet_core::record::{CheckFinished, Record};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time a check may take when its task sets none.
const CHECK_TIME: Duration = Duration::from_secs(30 * 60);

impl Inner {
    pub(super) async fn run_check(
        self: Arc<Self>,
        job: CheckJob,
        mailbox: Mailbox,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let _slot = self.check_slots.acquire().await.ok()?;
        match self.check(&job, &cancel).await {
            Ok(finished) if finished.end == End::Cancelled => None,
            Ok(finished) => Some(Input::Outcome(record(job, &finished))),
            Err(_) if cancel.is_cancelled() => None,
            Err(message) => {
                let message = format!("check `{}` could not be run: {message}", job.command);
                halt(&mailbox, &job.agent, &message).await;
                None
            }
        }
    }

    async fn check(
        self: &Arc<Self>,
        job: &CheckJob,
        cancel: &CancellationToken,
    ) -> Result<Finished, String> {
        let (hands, commit) = (Arc::clone(self), job.commit.clone());
        let made = tokio::task::spawn_blocking(move || {
            let workspaces = hands
                .gear
                .workspaces
                .as_ref()
                .ok_or("there is no repository")?;
            let checkout = workspaces
                .clean_checkout(&commit)
                .map_err(|error| error.to_string())?;
            let scratch =
                Scratch::new_in(&std::env::temp_dir()).map_err(|error| error.to_string())?;
            Ok::<_, String>((checkout, scratch))
        })
        .await;
        let (checkout, scratch) =
            made.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        let command = Job {
            command: CommandLine::Shell(job.command.clone()),
            folder: checkout.path().to_owned(),
            env: self.gear.env.clone(),
            scratch: Arc::new(scratch),
            fence: Fence::Confined {
                writable: writable(checkout.path().to_owned()),
                network: if job.network {
                    Network::Granted
                } else {
                    Network::Denied
                },
                shortfall: Shortfall::Accepted,
            },
            mask: self.gear.mask.clone(),
            limits: JobLimits {
                time: job.timeout_secs.map_or(CHECK_TIME, Duration::from_secs),
                ..JobLimits::default()
            },
            leftovers: Leftovers::End,
        };
        let finished = self.gear.runner.run(&command, cancel).await;
        finished.map_err(|error| error.to_string())
    }
}

fn writable(folder: PathBuf) -> Vec<PathBuf> {
    vec![folder]
}

fn record(job: CheckJob, finished: &Finished) -> Record {
    let exit = match finished.end {
        End::Exited(Exit::Code(code)) => Some(code),
        End::Exited(_) | End::TimedOut | End::Cancelled => None,
    };
    Record::from(CheckFinished {
        task: job.agent.task,
        attempt: job.agent.attempt,
        stage: job.stage,
        index: job.index,
        command: job.command,
        commit: job.commit,
        exit,
        output: Content::from(finished.output.text.clone()),
        millis: u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
        unconfined: finished.confinement.shortfall(),
    })
}
