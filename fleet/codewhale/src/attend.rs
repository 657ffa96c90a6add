//! From a run that is ready to its end: starts the manager, shows what becomes durable, hands signals
//! on, and says where the work is. Never decides what a run does, and never shows what is not durable.

mod closing;
pub(crate) mod detached;
mod screen;
mod signals;

use crate::app::App;
use crate::arguments::Format;
use crate::exit::Exit;
use crate::launch::Launched;
use crate::report::Report;
use fleet_core::record::RunEnded;
use fleet_core::state::FleetState;
use fleet_core::view::Manager;
use fleet_runtime::{Line, RunError};
use screen::Screen;
use signals::{Signals, Told};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::MissedTickBehavior;

/// Lines that are taken before anything is drawn.
const LINES_AT_ONCE: usize = 256;
/// How often the clocks of a live view are redrawn.
const TICK: Duration = Duration::from_secs(1);

/// What a person asked to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// How the tasks go, and at the end where the work is.
    Progress,
    /// The same in the run's log, once the run is open and the process in front was told so.
    Detached,
    /// At the end the result of the only task, as data.
    Result,
    /// Every record as it becomes durable, as data.
    Records,
}

impl Show {
    /// Records for programs, else what a person wants to see.
    pub(crate) fn for_format(format: Format, for_people: Self) -> Self {
        match format {
            Format::Json => Self::Records,
            Format::Text => for_people,
        }
    }
}

/// A runtime for runs, on all cores.
///
/// # Errors
/// When the system gives no threads.
pub(crate) fn runtime() -> Result<Runtime, Report> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::storage("No threads can be started").because(&error))
}

/// Runs it to its end.
///
/// # Errors
/// When the manager could not go on.
pub(crate) fn attend(
    app: &App,
    runtime: Runtime,
    launched: Launched,
    show: Show,
) -> Result<Exit, Report> {
    let state = launched.managed.store.state().clone();
    let run = launched.run.to_string();
    app.output.say(format!("run {run}"));
    let screen = Screen::new(app, run.clone(), show);
    let folder = launched.folder.clone();
    let managed = launched.managed;
    let end = runtime.block_on(async move {
        let signals = Signals::listen()?;
        let running = fleet_runtime::start(managed);
        let (front, told) = mpsc::unbounded_channel();
        tokio::spawn(signals.hand_on(running.control, front));
        Attendance {
            state,
            screen,
            told,
            opened: (show == Show::Detached)
                .then(|| Box::new(move || detached::let_go(app, &run, &folder)) as _),
        }
        .until_the_end(running.lines, running.done)
        .await
    });
    // Nobody waits for what is still under way after a second interrupt: it dies with this process.
    runtime.shutdown_background();
    match end? {
        End::Ended(state, ended) => {
            closing::say(app, &state, &launched.folder, show)?;
            Ok(Exit::of_code(ended.exit))
        }
        End::Killed(exit) => {
            app.output
                .say("killed; what was durable is kept: codewhale fleet resume");
            Ok(exit)
        }
    }
}

/// How attending ended.
enum End {
    /// The run came to an end.
    Ended(Box<FleetState>, RunEnded),
    /// The person would not wait for it.
    Killed(Exit),
}

struct Attendance<'a> {
    state: FleetState,
    screen: Screen<'a>,
    told: mpsc::UnboundedReceiver<Told>,
    /// What is to be done once the run is durably open.
    opened: Option<Opened<'a>>,
}

type Opened<'a> = Box<dyn FnOnce() -> Result<(), Report> + 'a>;

impl Attendance<'_> {
    async fn until_the_end(
        mut self,
        mut lines: mpsc::UnboundedReceiver<Line>,
        done: JoinHandle<Result<RunEnded, RunError>>,
    ) -> Result<End, Report> {
        let mut batch = Vec::new();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                count = lines.recv_many(&mut batch, LINES_AT_ONCE) => {
                    if count == 0 {
                        break;
                    }
                    if let Some(opened) = self.opened.take() {
                        opened()?;
                    }
                    self.take(&mut batch);
                }
                Some(told) = self.told.recv() => match told {
                    Told::Stopping => self.screen.say("stopping; once more to kill"),
                    Told::Kill(exit) => {
                        self.screen.close();
                        return Ok(End::Killed(exit));
                    }
                },
                _ = tick.tick(), if self.screen.is_live() => self.draw(),
            }
        }
        self.screen.close();
        let ended = ended(done.await)?;
        Ok(End::Ended(Box::new(self.state), ended))
    }

    fn take(&mut self, batch: &mut Vec<Line>) {
        for line in batch.drain(..) {
            for record in line.records.iter() {
                // The manager applied it before; a misfit would be its defect and is told by it.
                let _ = self.state.apply(line.stamp, record);
                self.screen.record(line.stamp, record);
            }
        }
        self.draw();
    }

    fn draw(&mut self) {
        if self.screen.is_live()
            && let Some(view) = self.state.view(Manager::Alive)
        {
            self.screen.draw(&view);
        }
    }
}

fn ended(outcome: Result<Result<RunEnded, RunError>, JoinError>) -> Result<RunEnded, Report> {
    match outcome {
        Ok(Ok(ended)) => Ok(ended),
        Ok(Err(error)) => Err(Report::storage("The run could not go on")
            .because(&error)
            .hint("what was recorded is safe: codewhale fleet resume")),
        Err(error) => Err(Report::storage("The manager of the run failed")
            .because(&error)
            .hint("this is a defect; what was recorded is safe: codewhale fleet resume")),
    }
}
