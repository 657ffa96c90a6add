//! The one bounded queue into the manager. Senders wait for room; the manager never does.

use crate::blobs::Blobbed;
use crate::control::StopRequest;
use fleet_core::decide::{Input, Reply};
use ledger::BlobError;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Inputs that may wait before senders have to.
pub(crate) const QUEUE_MAX: usize = 4096;

/// The manager has ended: nothing is recorded any more, and nothing is known of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run's manager has ended")]
pub struct ManagerGone;

/// What lies in the queue.
pub(crate) enum Letter {
    /// An input, and where its reply goes: once the records are durable, or never when the manager
    /// ends before.
    Input(Input, oneshot::Sender<Reply>),
    /// A large content could not be kept: the storage has failed, and the run cannot go on.
    Broken(BlobError),
    /// The place in which the run works is in trouble: it stops, so that it can be resumed.
    Halt(StopRequest),
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
    /// When the manager has ended, as it does when a large content cannot be kept.
    pub async fn send(&self, input: Input) -> Result<Reply, ManagerGone> {
        let (reply, answer) = oneshot::channel();
        let letter = match self.blobs.clone().externalize(input).await {
            Ok(input) => Letter::Input(input, reply),
            Err(error) => Letter::Broken(error),
        };
        self.letters.send(letter).await.map_err(|_| ManagerGone)?;
        answer.await.map_err(|_| ManagerGone)
    }

    /// Stops the run because something outside of its tasks is in the way; what is owed stays owed.
    pub(crate) async fn halt(&self, request: StopRequest) {
        // A manager that is gone has stopped.
        let _ = self.letters.send(Letter::Halt(request)).await;
    }
}
