//! The manager's loop: take an input, decide, append, apply, start what is newly owed. It waits for
//! inputs, for the disk and for a stop, and for nothing else.
//!
//! - An effect starts only when the line that announced it is durable, and a reply is given only then.
//! - The loop never waits for its own queue, for a disk or for an effect.
//! - After a failed write nothing more is appended or started; every waiter learns that it is unknown
//!   what became of its input.

mod effects;
mod job;

pub use job::{AgentJob, CheckJob, CommitJob, Job, LandJob, LandingJob, PrepareJob};

use crate::blobs::{Blobbed, RunBlobs};
use crate::clock::Clock;
use crate::control::{Control, StopRequest};
use crate::hands::Hands;
use crate::history::Histories;
use crate::mailbox::{Letter, Mailbox};
use crate::socket::{Folders, Server};
use crate::store::{DurableLines, Store, Told, stamp_of, unqueued};
use effects::Effects;
use fleet_core::decide::{Ask, Decline, Input, Reply, Wish, decide};
use fleet_core::record::{Record, RunEnded, RunOpened};
use fleet_core::spec::TaskSpec;
use fleet_core::state::{FleetState, IllegalRecord, RunStatus};
use fleet_core::time::Stamp;
use ledger::{AppendError, Seq};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Inputs taken before the loop looks at anything else.
const DRAIN_MAX: usize = 256;
/// How long running effects get to end when the run stops.
/// More than an agent takes, so that it can say what it left.
const STOP_GRACE: Duration = Duration::from_millis(4_600);
/// A longer wall limit is none: a year.
const WALL_MAX_SECS: u64 = 365 * 24 * 60 * 60;

/// A run to be managed.
pub struct Managed {
    /// Its folder, opened.
    pub store: Store,
    /// How it begins.
    pub beginning: Beginning,
    /// What performs its effects.
    pub hands: Arc<dyn Hands>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where its control socket may lie; nobody can reach it from outside when there is no such place.
    pub control: Folders,
}

/// How the manager begins.
pub enum Beginning {
    /// A new run.
    Open {
        /// Its first record.
        opened: Box<RunOpened>,
        /// Its tasks, each after what it needs.
        tasks: Vec<TaskSpec>,
    },
    /// An existing run is taken over.
    Resume {
        /// Version of the product.
        version: String,
        /// Process id of this manager.
        pid: u32,
        /// The ordered tasks, as `run.opened` keeps them.
        tasks: Vec<TaskSpec>,
    },
}

/// A managed run, seen from its front.
pub struct Running {
    /// Every durable line, as it becomes durable. Dropping it does not stop the run.
    pub lines: mpsc::UnboundedReceiver<Line>,
    /// Stops it.
    pub control: Control,
    /// Its end.
    pub done: JoinHandle<Result<RunEnded, RunError>>,
}

/// A durable line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Where it stands.
    pub stamp: Stamp,
    /// What it says.
    pub records: Arc<[Record]>,
}

/// Why a manager could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The storage failed. What was not durable before is unknown.
    #[error("the ledger could not be written: {0}; nothing more was started")]
    Storage(String),
    /// A large content could not be kept.
    #[error(transparent)]
    Blob(#[from] ledger::BlobError),
    /// The storage failed before, and its reason is on its way.
    #[error("the ledger takes no more lines; nothing more was started")]
    Closed,
    /// The records of one decision do not fit a line.
    #[error("a line could not be appended: {0}")]
    Append(String),
    /// A decision does not fit the state: a defect of this program.
    #[error("internal: {0}")]
    Illegal(#[from] IllegalRecord),
}

/// Starts the manager on the current runtime.
#[must_use]
pub fn start(managed: Managed) -> Running {
    let (control, stop) = Control::new();
    let (lines, receiver) = mpsc::unbounded_channel();
    let done = tokio::spawn(manage(managed, lines, stop));
    Running {
        lines: receiver,
        control,
        done,
    }
}

async fn manage(
    managed: Managed,
    lines: mpsc::UnboundedSender<Line>,
    stop: watch::Receiver<Option<StopRequest>>,
) -> Result<RunEnded, RunError> {
    let blobs = Arc::new(RunBlobs::new(&managed.store.folder));
    let (mailbox, letters) = Mailbox::new(blobs.clone());
    let socket = listen(&managed.control, &managed.store.folder, &mailbox);
    let Store {
        state,
        histories,
        writer,
        durable,
        ..
    } = managed.store;
    let manager = Manager {
        state,
        histories,
        writer,
        lines,
        clock: managed.clock,
        effects: Effects::new(managed.hands, mailbox),
        replies: VecDeque::new(),
        unannounced: VecDeque::new(),
        parked: Vec::new(),
        appended: Seq(0),
        durable: Seq(0),
        stopping: None,
        socket,
    };
    manager
        .run(
            managed.beginning,
            blobs,
            Sources {
                letters,
                durable,
                stop,
            },
        )
        .await
}

/// Lets other processes of the person ask something of the run. It goes on without when that fails.
fn listen(folders: &Folders, run: &Path, mailbox: &Mailbox) -> Option<AbortOnDropHandle<()>> {
    if folders.0.is_empty() {
        return None;
    }
    let server = Server::bind(folders, run)
        .inspect_err(|error| tracing::warn!(%error, "there is no control socket"))
        .ok()?;
    let serving = tokio::spawn(server.serve(mailbox.clone()));
    Some(AbortOnDropHandle::new(serving))
}

/// What the loop waits for.
struct Sources {
    letters: mpsc::Receiver<Letter>,
    durable: DurableLines,
    stop: watch::Receiver<Option<StopRequest>>,
}

struct Manager {
    state: FleetState,
    histories: Histories,
    writer: ledger::Writer<crate::codec::FleetCodec>,
    lines: mpsc::UnboundedSender<Line>,
    clock: Arc<dyn Clock>,
    effects: Effects,
    /// Replies that wait for their line to be durable, in line order.
    replies: VecDeque<(Seq, oneshot::Sender<Reply>, Reply)>,
    /// Lines that nobody may see before they are durable.
    unannounced: VecDeque<Line>,
    /// Requests that fit once something under way is settled.
    parked: Vec<(Ask, oneshot::Sender<Reply>)>,
    appended: Seq,
    durable: Seq,
    stopping: Option<(StopRequest, Instant)>,
    socket: Option<AbortOnDropHandle<()>>,
}

impl Manager {
    async fn run(
        mut self,
        beginning: Beginning,
        blobs: Arc<RunBlobs>,
        mut sources: Sources,
    ) -> Result<RunEnded, RunError> {
        let outcome = match self.begin(beginning, blobs).await {
            Ok(()) => self.serve(&mut sources).await,
            Err(error) => Err(error),
        };
        self.effects.abort_all();
        // Before the run is let go: the next manager's socket has the same name.
        if let Some(serving) = self.socket.take() {
            serving.abort();
            let _ = serving.await;
        }
        match outcome {
            Err(RunError::Closed) => Err(why_closed(&mut sources.durable).await),
            Ok(ended) => {
                if !ended.outcome.is_resumable() {
                    self.effects.finish().await;
                }
                let writer = self.writer;
                tokio::task::spawn_blocking(move || writer.close())
                    .await
                    .map_err(|error| RunError::Storage(error.to_string()))?
                    .map_err(|error| RunError::Storage(error.to_string()))?;
                Ok(ended)
            }
            Err(error) => Err(error),
        }
    }

    async fn begin(&mut self, beginning: Beginning, blobs: Arc<RunBlobs>) -> Result<(), RunError> {
        let tasks = match beginning {
            Beginning::Open { opened, tasks } => {
                let input = blobs.externalize(Input::Open(opened)).await?;
                self.input(input)?;
                tasks
            }
            Beginning::Resume {
                version,
                pid,
                tasks,
            } => {
                if self.state.is_unfinished() {
                    self.input(Input::Resume { version, pid })?;
                }
                tasks
            }
        };
        for input in unqueued(&self.state, &tasks) {
            self.input(input)?;
        }
        self.advance()
    }

    /// The loop, until the end of the run is durable.
    async fn serve(&mut self, sources: &mut Sources) -> Result<RunEnded, RunError> {
        let wall = self.wall_deadline();
        loop {
            if let Some(ended) = self.ended() {
                return Ok(ended);
            }
            let stop_deadline = self.stopping.as_ref().map(|(_, deadline)| *deadline);
            tokio::select! {
                biased;
                told = sources.durable.recv() => {
                    self.on_told(told.unwrap_or_else(|| Told::Failed("its writer ended".to_owned())))?;
                }
                Some(finished) = self.effects.finished() => self.effects.forget(finished),
                Some(letter) = sources.letters.recv() => {
                    self.on_letter(letter)?;
                    for _ in 0..DRAIN_MAX {
                        let Ok(letter) = sources.letters.try_recv() else { break };
                        self.on_letter(letter)?;
                    }
                }
                Ok(asked) = sources.stop.wait_for(Option::is_some), if self.stopping.is_none() => {
                    let request = asked.clone().expect("waited until it is there");
                    self.begin_stop(request);
                }
                () = tokio::time::sleep_until(wall), if self.stopping.is_none() => {
                    self.begin_stop(self.wall_request());
                }
                () = tokio::time::sleep_until(stop_deadline.unwrap_or(wall)), if stop_deadline.is_some() && !self.effects.is_idle() => {
                    self.effects.abort_all();
                }
            }
            self.finish_stop()?;
        }
    }

    /// The end, once it is recorded, durable, and nothing runs any more.
    fn ended(&self) -> Option<RunEnded> {
        let RunStatus::Ended(ended) = &self.state.run()?.status else {
            return None;
        };
        (self.durable >= self.appended && self.effects.is_idle()).then(|| ended.clone())
    }

    fn on_letter(&mut self, letter: Letter) -> Result<(), RunError> {
        let (input, reply) = match letter {
            Letter::Input(input, reply) => (input, reply),
            Letter::Broken(error) => return Err(RunError::Blob(error)),
            Letter::Halt(request) => {
                if self.stopping.is_none() {
                    self.begin_stop(request);
                }
                return Ok(());
            }
        };
        // Nothing may stand behind the end of a run that this manager stated.
        if matches!(input, Input::Wish(_)) && !self.is_open() {
            self.reply_when_durable(reply, Reply::Declined(Decline::RunEnded));
            return Ok(());
        }
        let ask = match &input {
            Input::Admit(ask) => Some(ask.clone()),
            _ => None,
        };
        let told = match &input {
            Input::Wish(Wish::Tell { task, text }) => Some((task.clone(), text.clone())),
            _ => None,
        };
        let answer = self.input(input)?;
        if let (Some((task, text)), Reply::Accepted) = (told, &answer)
            && let Some((ix, _)) = self.state.find(&task)
        {
            // It may act on it before the line is durable: whatever it sends stands in a later one.
            self.effects.tell(ix, text);
        }
        if let Reply::Late(misfit) = &answer {
            tracing::warn!(%misfit, "an input came too late and is not recorded");
        }
        match (answer, ask) {
            (Reply::Wait, Some(ask)) => self.parked.push((ask, reply)),
            (answer, _) => self.reply_when_durable(reply, answer),
        }
        self.advance()
    }

    fn reply_when_durable(&mut self, reply: oneshot::Sender<Reply>, answer: Reply) {
        if self.durable >= self.appended {
            // Whoever asked may be gone.
            let _ = reply.send(answer);
        } else {
            self.replies.push_back((self.appended, reply, answer));
        }
    }

    /// Decides, appends and applies one input.
    fn input(&mut self, input: Input) -> Result<Reply, RunError> {
        let decision = decide(&self.state, input);
        if !decision.records.is_empty() {
            self.append(decision.records)?;
        }
        Ok(decision.reply)
    }

    /// Records what the fleet states of its own accord, then starts what is newly owed.
    fn advance(&mut self) -> Result<(), RunError> {
        if self.stopping.is_none() {
            while let Some(records) = self.state.advance() {
                self.append(records)?;
            }
            self.unpark()?;
            let (state, histories) = (&self.state, &mut self.histories);
            self.effects.owe(state, histories, self.appended);
            self.effects.start_durable(self.durable);
        }
        Ok(())
    }

    /// Asks again for requests that waited for a reservation to be settled.
    fn unpark(&mut self) -> Result<(), RunError> {
        for (ask, reply) in std::mem::take(&mut self.parked) {
            if reply.is_closed() {
                continue;
            }
            match self.input(Input::Admit(ask.clone()))? {
                Reply::Wait => self.parked.push((ask, reply)),
                answer => self.reply_when_durable(reply, answer),
            }
        }
        Ok(())
    }

    fn append(&mut self, records: Vec<Record>) -> Result<(), RunError> {
        let at = self.clock.now();
        let seq = self
            .writer
            .append(at, &records)
            .map_err(|error| match error {
                AppendError::Closed => RunError::Closed,
                other => RunError::Append(other.to_string()),
            })?;
        let stamp = stamp_of(seq.0, u64::from(self.writer.epoch().0), at);
        for record in &records {
            self.state.apply(stamp, record)?;
        }
        self.appended = seq;
        self.unannounced.push_back(Line {
            stamp,
            records: records.into(),
        });
        Ok(())
    }

    /// A disk that is filling ends the run while its end can still be recorded.
    fn on_told(&mut self, told: Told) -> Result<(), RunError> {
        match told {
            Told::Durable(seq) => self.on_durable(seq),
            Told::Filling(reason) if self.stopping.is_none() => {
                self.begin_stop(StopRequest::of_place(reason));
            }
            Told::Filling(_) => {}
            Told::Failed(why) => return Err(RunError::Storage(why)),
        }
        Ok(())
    }

    fn on_durable(&mut self, durable: Seq) {
        self.durable = self.durable.max(durable);
        while self
            .unannounced
            .front()
            .is_some_and(|line| line.stamp.seq <= self.durable.0)
        {
            // The front may have stopped listening; the run goes on.
            let _ = self
                .unannounced
                .pop_front()
                .map(|line| self.lines.send(line));
        }
        while self
            .replies
            .front()
            .is_some_and(|(seq, ..)| *seq <= self.durable)
        {
            if let Some((_, reply, answer)) = self.replies.pop_front() {
                let _ = reply.send(answer);
            }
        }
        if self.stopping.is_none() {
            self.effects.start_durable(self.durable);
        }
    }

    fn begin_stop(&mut self, request: StopRequest) {
        tracing::info!(reason = request.reason, "stopping");
        self.effects.cancel_all();
        self.parked.clear();
        self.stopping = Some((request, Instant::now() + STOP_GRACE));
    }

    fn is_open(&self) -> bool {
        let run = self.state.run();
        run.is_some_and(|run| run.status == RunStatus::Open)
    }

    /// Records the stop once nothing runs any more.
    fn finish_stop(&mut self) -> Result<(), RunError> {
        if self.is_open()
            && self.effects.is_idle()
            && let Some((request, _)) = &self.stopping
        {
            let StopRequest { reason, exit } = request.clone();
            self.input(Input::Stop { reason, exit })?;
        }
        Ok(())
    }

    /// The limit counts for each manager anew: whoever resumes a run wants it to go on.
    fn wall_deadline(&self) -> Instant {
        let limit = self.state.run().map_or(0, |run| run.plan.limits.wall_secs);
        let limit = Duration::from_secs(limit.min(WALL_MAX_SECS));
        Instant::from_std(self.clock.instant()) + limit
    }

    fn wall_request(&self) -> StopRequest {
        let limit = self.state.run().map_or(0, |run| run.plan.limits.wall_secs);
        StopRequest {
            reason: format!("the wall limit of {limit} s is reached"),
            exit: self.state.exit_at_limit(),
        }
    }
}

/// What the writer says of its failure.
async fn why_closed(durable: &mut DurableLines) -> RunError {
    while let Some(told) = durable.recv().await {
        if let Told::Failed(why) = told {
            return RunError::Storage(why);
        }
    }
    RunError::Closed
}

#[cfg(test)]
mod tests;
