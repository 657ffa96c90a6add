//! Runs blocking work beside the async threads, a bounded number at a time. Never queues a thread
//! for work that waits.

use std::sync::LazyLock;
use tokio::sync::Semaphore;

/// Places for blocking work in this process: searching is bound by the processors and the disk.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Semaphore::new(2 * processors)
});

/// Why blocking work gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    #[error("the process is ending")]
    Closed,
    #[error("the tool broke: {0}")]
    Broke(String),
}

/// Runs `work` on a thread that may block.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, PoolError> {
    let _place = PLACES.acquire().await.map_err(|_| PoolError::Closed)?;
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| PoolError::Broke(error.to_string()))
}
