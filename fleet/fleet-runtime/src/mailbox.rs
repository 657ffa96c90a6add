//! The one bounded queue into the manager. Senders wait for room; the manager never does.

use crate::blobs::Blobbed;
use fleet_core::decide::{Input, Reply};
use ledger::BlobError;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Inputs that may wait before senders have to.
pub(crate) const QUEUE_MAX: usize = 4096;

/// The manager has ended: nothing is recorded any more.
#[derive(Debug, thiserror::Error)]
pub enum ManagerGone {
    /// It ended.
    #[error("the run's manager has ended")]
    Ended,
    /// A large content could not be kept.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

pub(crate) struct Letter {
    pub(crate) input: Input,
    /// Answered once the records are durable; dropped when the manager ends.
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// Where inputs are sent. Cheap to clone; each running effect holds one.
#[derive(Clone)]
pub struct Mailbox {
    letters: mpsc::Sender<Letter>,
    blobs: Arc<dyn Blobbed>,
}

impl Mailbox {
    pub(crate) fn new(blobs: Arc<dyn Blobbed>) -> (Self, mpsc::Receiver<Letter>) {
        let (letters, receiver) = mpsc::channel(QUEUE_MAX);
        (Self { letters, blobs }, receiver)
    }

    /// Sends an input and waits for its reply: what it led to is durable then. Large contents are
    /// moved to blobs before.
    ///
    /// # Errors
    /// When the manager has ended or a large content could not be kept; nothing is known of the
    /// input then.
    pub async fn send(&self, input: Input) -> Result<Reply, ManagerGone> {
        let input = self.blobs.clone().externalize(input).await?;
        let (reply, answer) = oneshot::channel();
        self.letters
            .send(Letter { input, reply })
            .await
            .map_err(|_| ManagerGone::Ended)?;
        answer.await.map_err(|_| ManagerGone::Ended)
    }
}
