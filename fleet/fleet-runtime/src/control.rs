//! How a run is told to stop from outside. Never stops anything itself.

use tokio::sync::watch;

/// Why a run is to stop, and with which exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopRequest {
    /// For people and the ledger.
    pub reason: String,
    /// Exit code of the manager.
    pub exit: u8,
}

/// Exit code of a run that ends because of the place it works in: storage failed.
const PLACE_EXIT: u8 = 8;

impl StopRequest {
    /// Because of the place that the run works in: its disk, its repository.
    pub(crate) fn of_place(reason: String) -> Self {
        Self {
            reason,
            exit: PLACE_EXIT,
        }
    }
}

/// Handle for whoever may stop a run: signal handlers, the screen, the control socket.
#[derive(Debug, Clone)]
pub struct Control {
    sender: watch::Sender<Option<StopRequest>>,
}

impl Control {
    pub(crate) fn new() -> (Self, watch::Receiver<Option<StopRequest>>) {
        let (sender, receiver) = watch::channel(None);
        (Self { sender }, receiver)
    }

    /// Asks the run to stop so that it can be resumed. The first request counts.
    pub fn stop(&self, request: StopRequest) {
        self.sender.send_if_modified(|asked| {
            let first = asked.is_none();
            if first {
                *asked = Some(request);
            }
            first
        });
    }
}
