//! Runs one command to its end, its limit or its cancellation. Knows nothing of agents or tools.

use super::background::Background;
use super::capture::{Capture, Output};
use super::confinement::Confinement;
use super::job::{Job, Leftovers};
use super::session::{Event, Session};
use super::spawner::Spawner;
use super::wire::{Descendant, Exit, Report};
use crate::process::ProcessId;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Beyond its grace a helper gets this long to end everything before it is ended itself.
const HELPER_OVERTIME: Duration = Duration::from_secs(8);

/// Runs commands. Cheap to clone.
#[derive(Clone)]
pub struct ShellRunner {
    spawner: Spawner,
    watcher: Option<Arc<dyn ProcessWatcher>>,
}

/// Is told of every helper, so that its process can be recorded before it runs anything.
pub trait ProcessWatcher: Send + Sync {
    /// A helper was started and waits. Its command starts when this is `Ok`, and never otherwise.
    fn spawned(&self, process: ProcessId) -> WatcherAnswer<'_>;

    /// The helper has ended, or was told to end everything at once because its call was dropped.
    fn ended(&self, process: &ProcessId);
}

/// `Ok`, or one sentence that says why the command must not start.
pub type WatcherAnswer<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(Exit),
    /// Its time limit ended it.
    TimedOut,
    /// It was cancelled after it had started: it may have had effects.
    Cancelled,
}

impl End {
    /// True for a command that exited with 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Exited(Exit::Code(0))
    }
}

/// What became of a command.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Standard output and standard error together, in the order written.
    pub output: Output,
    /// How long it took.
    pub took: Duration,
    /// What the kernel held it to.
    pub confinement: Confinement,
    /// What it left running, when the job keeps that.
    pub background: Option<Background>,
    /// Pids of its processes that could not be ended, with luck none.
    pub survivors: Vec<i32>,
}

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// It was cancelled before it started.
    #[error("it was cancelled before it started")]
    NotStarted,
    /// The helper could not be started or spoken to.
    #[error("the helper program could not be used: {0}")]
    Helper(#[source] std::io::Error),
    /// The helper could not confine or start the command.
    #[error("the command could not be started: {0}")]
    Refused(String),
    /// The watcher did not let it start.
    #[error("the command was not started: {0}")]
    NotRecorded(String),
    /// The helper ended while the command ran. Its process group was killed; it may have had effects.
    #[error("the helper that supervised the command was lost while it ran")]
    HelperLost,
}

impl ShellError {
    /// True when the command may have had effects.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        matches!(self, Self::HelperLost)
    }
}

impl ShellRunner {
    /// Runs commands through the spawner's thread.
    #[must_use]
    pub fn new(spawner: Spawner) -> Self {
        Self {
            spawner,
            watcher: None,
        }
    }

    /// Tells `watcher` of every process from now on.
    #[must_use]
    pub fn watched_by(self, watcher: Arc<dyn ProcessWatcher>) -> Self {
        Self {
            watcher: Some(watcher),
            ..self
        }
    }

    /// Runs a command. Dropping the future ends the command.
    ///
    /// # Errors
    /// When it could not be started, or its helper was lost. A command that fails is no error.
    pub async fn run(&self, job: &Job, cancel: &CancellationToken) -> Result<Finished, ShellError> {
        if cancel.is_cancelled() {
            return Err(ShellError::NotStarted);
        }
        let begun = Instant::now();
        let mut session = Session::open(&self.spawner, job)
            .await
            .map_err(ShellError::Helper)?;
        let watched = self.watch(&mut session).await?;
        session
            .give(&job.order())
            .await
            .map_err(ShellError::Helper)?;
        let mut run = Run::new(session, job);
        match run.follow(job, cancel).await {
            Ok(()) => Ok(run.finish(begun.elapsed(), watched)),
            Err(error) => {
                run.session.kill();
                Err(error)
            }
        }
    }

    /// Tells the watcher of the helper, and by dropping what this gives, of its end.
    async fn watch(&self, session: &mut Session) -> Result<Watched, ShellError> {
        let (Some(watcher), Some(process)) = (&self.watcher, session.process()) else {
            return Ok(Watched(None));
        };
        let watched = Watched(Some((Arc::clone(watcher), process.clone())));
        let answer = watcher.spawned(process).await;
        answer.map_err(ShellError::NotRecorded)?;
        Ok(watched)
    }
}

/// A helper that the watcher knows of. Dropping it tells the watcher of its end.
pub(super) struct Watched(Option<(Arc<dyn ProcessWatcher>, ProcessId)>);

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some((watcher, process)) = &self.0 {
            watcher.ended(process);
        }
    }
}

impl std::fmt::Debug for ShellRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShellRunner").finish_non_exhaustive()
    }
}

/// A command on its way.
struct Run {
    session: Session,
    capture: Capture,
    /// Set when the runner, not the command, decided to end it.
    stopped: Option<End>,
    exited: Option<End>,
    started: Option<Confinement>,
    left: Vec<Descendant>,
    survivors: Vec<i32>,
}

impl Run {
    fn new(session: Session, job: &Job) -> Self {
        Self {
            session,
            capture: Capture::new(job.limits.output_bytes, &job.mask),
            stopped: None,
            exited: None,
            started: None,
            left: Vec::new(),
            survivors: Vec::new(),
        }
    }

    /// Follows the command until there is nothing left to wait for.
    async fn follow(&mut self, job: &Job, cancel: &CancellationToken) -> Result<(), ShellError> {
        let timer = sleep(job.limits.time);
        tokio::pin!(timer);
        let mut ending = false;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !ending => self.stopped = Some(End::Cancelled),
                () = &mut timer => {
                    if ending {
                        return self.give_up();
                    }
                    self.stopped = Some(End::TimedOut);
                }
                event = self.session.next() => {
                    if self.take(event.map_err(ShellError::Helper)?, job.leftovers)? {
                        return Ok(());
                    }
                }
            }
            let must_end = self.stopped.is_some() || self.exited.is_some();
            if must_end && !ending {
                ending = true;
                self.session.end();
                let overtime = job.limits.grace + HELPER_OVERTIME;
                timer.as_mut().reset(Instant::now() + overtime);
            }
        }
    }

    /// Takes one event; true when there is nothing left to wait for.
    fn take(&mut self, event: Event, leftovers: Leftovers) -> Result<bool, ShellError> {
        match event {
            Event::Output(bytes) => self.capture.push(self.session.piece(bytes)),
            Event::Report(Report::Started { confinement, .. }) => self.started = Some(confinement),
            Event::Report(Report::Refused { reason }) => return Err(ShellError::Refused(reason)),
            Event::Report(Report::Exited { exit, left }) => {
                self.exited = Some(End::Exited(exit));
                let kept = leftovers == Leftovers::Keep && self.stopped.is_none();
                let over = left.is_empty() || kept;
                self.left = if kept { left } else { Vec::new() };
                return Ok(over);
            }
            Event::Report(Report::Ended { survivors }) => {
                self.survivors = survivors;
                return Ok(true);
            }
            Event::Over => return self.give_up().map(|()| true),
        }
        Ok(false)
    }

    /// The helper is gone or does not answer: fine when the command's end is known.
    fn give_up(&mut self) -> Result<(), ShellError> {
        if self.exited.is_some() {
            Ok(())
        } else {
            Err(ShellError::HelperLost)
        }
    }

    fn finish(self, took: Duration, watched: Watched) -> Finished {
        let Self {
            mut session,
            mut capture,
            ..
        } = self;
        session.drain(&mut |piece| capture.push(piece));
        let background = if self.left.is_empty() {
            drop(watched);
            None
        } else {
            Some(Background::keep(session, self.left, watched))
        };
        Finished {
            end: self.stopped.or(self.exited).unwrap_or(End::Cancelled),
            output: capture.finish(),
            took,
            confinement: self.started.unwrap_or(Confinement::OPEN),
            background,
            survivors: self.survivors,
        }
    }
}
