//! Private snapshots of an agent's work folder, over git. Never of a folder that only reads.

use engine_runtime::{Snapshot, SnapshotError, Snapshots};
use fleet_core::ids::CommitId;
use fleet_git::{UnixSeconds, Workspace, Workspaces};
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};

/// Snapshots of one attempt's worktree.
pub(super) struct WorktreeSnapshots {
    workspaces: Workspaces,
    workspace: Workspace,
    /// The newest, or where the worktree started.
    last: Arc<Mutex<CommitId>>,
    message: String,
    at: UnixSeconds,
}

impl WorktreeSnapshots {
    pub(super) fn new(
        workspaces: Workspaces,
        workspace: Workspace,
        last: CommitId,
        message: String,
        at: UnixSeconds,
    ) -> Self {
        Self {
            workspaces,
            workspace,
            last: Arc::new(Mutex::new(last)),
            message,
            at,
        }
    }
}

impl Snapshots for WorktreeSnapshots {
    fn take(&self) -> BoxFuture<'_, Result<Option<Snapshot>, SnapshotError>> {
        let (workspaces, workspace) = (self.workspaces.clone(), self.workspace.clone());
        let (last, message, at) = (Arc::clone(&self.last), self.message.clone(), self.at);
        blocking(move || {
            let taken = workspaces
                .snapshot(&workspace, &message, at)
                .map_err(error)?;
            for path in &taken.left_out {
                tracing::warn!(path = %path.display(), "left out of a snapshot");
            }
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if taken.commit == *last {
                return Ok(None);
            }
            last.clone_from(&taken.commit);
            Ok(Some(Snapshot {
                commit: taken.commit.0,
                tree: taken.tree.0,
            }))
        })
    }

    fn restore(&self) -> BoxFuture<'_, Result<(), SnapshotError>> {
        let (workspaces, workspace) = (self.workspaces.clone(), self.workspace.clone());
        let last = Arc::clone(&self.last);
        blocking(move || {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            workspaces.restore(&workspace, &last).map_err(error)
        })
    }
}

/// For agents whose folder is not kept: readers, and agents in the person's own folder.
pub(super) struct NoSnapshots;

impl Snapshots for NoSnapshots {
    fn take(&self) -> BoxFuture<'_, Result<Option<Snapshot>, SnapshotError>> {
        Box::pin(async { Ok(None) })
    }

    fn restore(&self) -> BoxFuture<'_, Result<(), SnapshotError>> {
        Box::pin(async {
            Err(SnapshotError {
                message: "an edit or command was cut off in a folder without snapshots: look at it, then order the work anew".to_owned(),
            })
        })
    }
}

fn error(error: impl std::fmt::Display) -> SnapshotError {
    SnapshotError {
        message: format!("the work folder could not be kept: {error}"),
    }
}

fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SnapshotError> + Send + 'static,
) -> BoxFuture<'static, Result<T, SnapshotError>> {
    Box::pin(async move {
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    })
}
