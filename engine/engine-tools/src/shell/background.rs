//! Processes that a command left running, until they are ended. Never lets one outlive its handle.

use super::runner::Watched;
use super::session::Session;
use super::wire::Descendant;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a command left running. Its output is read and dropped. Dropping this ends the processes
/// without waiting for it.
#[derive(Debug)]
pub struct Background {
    processes: Vec<Descendant>,
    end: DropGuard,
    task: JoinHandle<()>,
}

impl Background {
    pub(super) fn keep(mut session: Session, processes: Vec<Descendant>, watched: Watched) -> Self {
        let end = CancellationToken::new();
        let ended = end.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {
                    session.end();
                    session.see_off().await;
                }
                () = session.see_off() => {}
            }
            drop(watched);
        });
        Self {
            processes,
            end: end.drop_guard(),
            task,
        }
    }

    /// The processes that were alive when the command itself ended.
    #[must_use]
    pub fn processes(&self) -> &[Descendant] {
        &self.processes
    }

    /// True while any of them, or what they started, may live.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.task.is_finished()
    }

    /// Ends them all: the polite signal, the grace of their job, the hard one. Returns when they are gone.
    pub async fn end(self) {
        drop(self.end);
        // The task does not panic; when its runtime goes, the processes go with it.
        let _ = self.task.await;
    }
}
