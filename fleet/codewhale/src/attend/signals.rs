//! Signals of a person or the system, as what they mean to a run: stop so that it can go on later, or,
//! asked once more, at once. Ends the process only when its front cannot.

use crate::exit::Exit;
use crate::report::Report;
use fleet_runtime::{Control, StopRequest};
use rustix::process::{getpid, kill_process};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

/// How long the front may take to end the process once it was told to.
const KILL_PATIENCE: Duration = Duration::from_secs(1);

/// What the front is told of signals.
pub(super) enum Told {
    /// The run was asked to stop.
    Stopping,
    /// Nothing is waited for any more.
    Kill(Exit),
}

/// What a signal asks for.
enum Stop {
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

    /// Hands signals on to the run and tells the front of it, until the process ends. Apart from the
    /// front: that one may be held up by a reader that does not read.
    pub(super) async fn hand_on(mut self, control: Control, front: UnboundedSender<Told>) {
        loop {
            let told = match self.next().await {
                Stop::Ask(request) => {
                    control.stop(request);
                    Told::Stopping
                }
                Stop::Kill(exit) => Told::Kill(exit),
            };
            let kills = matches!(told, Told::Kill(_));
            // A front that is gone has seen the end of the run and is about to end the process.
            let _ = front.send(told);
            if kills {
                tokio::time::sleep(KILL_PATIENCE).await;
                let _ = kill_process(getpid(), rustix::process::Signal::KILL);
            }
        }
    }

    /// What the next signal asks for.
    async fn next(&mut self) -> Stop {
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
