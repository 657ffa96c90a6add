//! Holds replies back until a test lets them go, so that no test has to guess a time.

use std::sync::Arc;
use tokio::sync::watch;

/// A gate that is closed until it is opened, then stays open. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<State>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(State::Closed)))
    }

    /// Lets everything through that waits, and everything that comes.
    pub fn open(&self) {
        self.0.send_replace(State::Open);
    }

    pub(super) async fn passed(&self) {
        let mut state = self.0.subscribe();
        // The sender lives as long as `self`, so the wait ends only by opening.
        let _ = state.wait_for(|state| *state == State::Open).await;
    }
}
