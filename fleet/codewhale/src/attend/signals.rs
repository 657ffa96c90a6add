//! Signals of a person or the system, as what they mean to a run: stop so that it can go on later, or,
//! asked once more, at once. Never ends the process.

use crate::exit::Exit;
use crate::report::Report;
use fleet_runtime::StopRequest;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
pub(super) enum Stop {
    /// End what is under way so that it can be resumed.
    Ask(StopRequest),
    /// Wait for nothing.
    Kill(Exit),
}

/// The signals that stop a run.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    asked: Option<Exit>,
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Interrupt,
    Terminate,
    Hangup,
}

impl Signals {
    /// Listens from now on, in place of what these signals do by default.
    ///
    /// # Errors
    /// When the system does not let it.
    pub(super) fn listen() -> Result<Self, Report> {
        let listen = |kind| {
            signal(kind).map_err(|error| Report::storage("Signals cannot be heard").because(&error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            asked: None,
        })
    }

    /// What the next signal asks for.
    pub(super) async fn next(&mut self) -> Stop {
        let came = tokio::select! {
            _ = self.interrupt.recv() => Came::Interrupt,
            _ = self.terminate.recv() => Came::Terminate,
            _ = self.hangup.recv() => Came::Hangup,
        };
        meaning(came, &mut self.asked)
    }
}

/// The second one of a person kills. A closed terminal may send several, and none of them means it.
fn meaning(came: Came, asked: &mut Option<Exit>) -> Stop {
    match (came, *asked) {
        (Came::Interrupt | Came::Terminate, Some(exit)) => Stop::Kill(exit),
        (Came::Interrupt, None) => ask(asked, Exit::Interrupted, "interrupted"),
        (Came::Terminate, None) => ask(asked, Exit::Terminated, "terminated by a signal"),
        (Came::Hangup, _) => {
            let exit = asked.unwrap_or(Exit::Terminated);
            ask(asked, exit, "its terminal was closed")
        }
    }
}

fn ask(asked: &mut Option<Exit>, exit: Exit, reason: &str) -> Stop {
    *asked = Some(exit);
    Stop::Ask(StopRequest {
        reason: reason.to_owned(),
        exit: exit.code(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(signals: &[Came], expected: &[&str]) {
        let mut asked = None;
        let meanings: Vec<String> = signals
            .iter()
            .map(|came| match meaning(*came, &mut asked) {
                Stop::Ask(request) => format!("ask {}", request.exit),
                Stop::Kill(exit) => format!("kill {}", exit.code()),
            })
            .collect();
        assert_eq!(meanings, expected, "{signals:?}");
    }

    #[test]
    fn the_first_signal_asks_and_the_second_kills() {
        use Came::{Hangup, Interrupt, Terminate};
        check(&[Interrupt, Interrupt], &["ask 130", "kill 130"]);
        check(&[Terminate, Terminate], &["ask 143", "kill 143"]);
        check(&[Interrupt, Terminate], &["ask 130", "kill 130"]);
        check(&[Hangup, Hangup], &["ask 143", "ask 143"]);
        check(&[Interrupt, Hangup], &["ask 130", "ask 130"]);
        check(&[Hangup, Interrupt], &["ask 143", "kill 143"]);
    }
}
