//! The one writer of a ledger: takes lines without blocking, and a thread that drains the queue, writes
//! once, syncs once, then announces. Never retries, never goes on after an error.

use crate::codec::Codec;
use crate::error::{AppendError, WriteError};
use crate::format::{ENVELOPE_MAX_BYTES, Epoch, Head, LINE_MAX_BYTES, Seq};
use crate::lock::Lock;
use crate::log::{Log, Queued};
use crate::queue::{Next, Queue};
use crate::room::Filling;
use chrono::{DateTime, Utc};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the writer's thread tells.
#[derive(Debug, Clone, Copy)]
pub enum Word<'a> {
    /// The last line that is durable now; told each time that changes.
    Durable(Seq),
    /// There is little room left: the run should end in order while it can. Told once at most.
    Filling(&'a Filling),
    /// Why nothing more is written. Told last.
    Failed(&'a WriteError),
}

/// Told from the writer's thread. It must not block and must not call the writer's `close`.
pub type OnDurable = Box<dyn FnMut(Word<'_>) + Send>;

/// How long nothing must come before the last batch gets its witness line.
const QUIET: Duration = Duration::from_millis(100);

/// The writer of a ledger. Dropping it without [`Writer::close`] ends as a crash would: lines that are
/// still queued are forgotten, and the run is marked as one that did not end cleanly.
#[derive(Debug)]
pub struct Writer<C> {
    codec: C,
    epoch: Epoch,
    queue: Arc<Queue>,
    /// `None` after `close`.
    thread: Option<JoinHandle<Result<Option<Head>, WriteError>>>,
}

impl<C: Codec> Writer<C> {
    pub(crate) fn start(
        codec: C,
        epoch: Epoch,
        log: Log,
        lock: Option<Lock>,
        on_durable: OnDurable,
    ) -> Result<Self, WriteError> {
        let last = log.head().map_or(Seq(0), |head| head.seq);
        let queue = Arc::new(Queue::after(last));
        let drain = Drain {
            queue: Arc::clone(&queue),
            log,
            lock,
            on_durable,
        };
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || drain.run())
            .map_err(WriteError::io(
                "start the thread for",
                std::path::Path::new("ledger"),
            ))?;
        Ok(Self {
            codec,
            epoch,
            queue,
            thread: Some(thread),
        })
    }

    /// The epoch of every line of this writer. It belongs into the names of what the run makes outside
    /// the ledger.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Queues one line with these records: all of them become durable, or none. Answers its number at
    /// once and never waits for the disk; lines are numbered in the order of the calls. `at` is kept
    /// to the millisecond.
    ///
    /// # Errors
    /// When writing has failed before, or the records do not fit a line. Nothing is queued then.
    pub fn append(&self, at: DateTime<Utc>, records: &[C::Record]) -> Result<Seq, AppendError> {
        let mut json = Vec::new();
        for record in records {
            if !json.is_empty() {
                json.push(b',');
            }
            self.codec.encode(record, &mut json);
        }
        let limit = LINE_MAX_BYTES - ENVELOPE_MAX_BYTES;
        if json.len() > limit {
            return Err(AppendError::TooLong {
                bytes: json.len(),
                limit,
            });
        }
        if json.iter().any(|byte| matches!(byte, 0 | b'\n')) {
            return Err(AppendError::NotOneLine);
        }
        self.queue.push(at, json).ok_or(AppendError::Closed)
    }

    /// Writes and syncs what is queued, marks the run as ended cleanly and lets go of the lock. Answers
    /// the last line, whose sum covers all before it.
    ///
    /// # Errors
    /// What writing failed with, now or before.
    pub fn close(mut self) -> Result<Option<Head>, WriteError> {
        self.queue.close();
        let thread = self
            .thread
            .take()
            .expect("the thread is taken only here and in drop");
        thread.join().unwrap_or(Err(WriteError::Panicked))
    }
}

impl<C> Drop for Writer<C> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.queue.abandon();
            // Its outcome has been told through the callback; joining only makes sure that the lock is
            // free when this returns.
            drop(thread.join());
        }
    }
}

/// The thread's side.
struct Drain {
    queue: Arc<Queue>,
    log: Log,
    /// Held until the thread ends, so that nothing is ever written without it.
    lock: Option<Lock>,
    on_durable: OnDurable,
}

impl Drain {
    fn run(mut self) -> Result<Option<Head>, WriteError> {
        let _last_word = LastWord(Arc::clone(&self.queue));
        let result = self.drain();
        if let Err(error) = &result {
            self.queue.end();
            (self.on_durable)(Word::Failed(error));
        }
        result.map(|()| self.log.head())
    }

    fn drain(&mut self) -> Result<(), WriteError> {
        let mut witness_due = None;
        loop {
            match self.queue.next(witness_due) {
                Next::Lines(lines) => {
                    self.write(&lines)?;
                    witness_due = Some(Instant::now() + QUIET);
                }
                Next::Witness(seq) => {
                    self.witness(seq)?;
                    witness_due = None;
                }
                Next::Close(owed) => {
                    if let Some(seq) = owed {
                        self.witness(seq)?;
                    }
                    self.log.close()?;
                    return self.lock.take().map_or(Ok(()), Lock::release);
                }
                Next::Stop => return Ok(()),
            }
        }
    }

    fn write(&mut self, mut lines: &[Queued]) -> Result<(), WriteError> {
        while !lines.is_empty() {
            let taken = self.log.append(lines)?;
            (self.on_durable)(Word::Durable(lines[taken - 1].seq));
            if let Some(filling) = self.log.filling() {
                (self.on_durable)(Word::Filling(&filling));
            }
            lines = &lines[taken..];
        }
        Ok(())
    }

    /// An empty line whose watermark vouches for the batch before it. It repeats that batch's instant.
    fn witness(&mut self, seq: Seq) -> Result<(), WriteError> {
        let at = self
            .log
            .last_at()
            .expect("a witness is owed only after a batch");
        self.write(&[Queued {
            seq,
            at,
            records: Vec::new(),
        }])
    }
}

/// Ends the queue however the thread ends, so that nothing is queued for nobody.
struct LastWord(Arc<Queue>);

impl Drop for LastWord {
    fn drop(&mut self) {
        self.0.end();
    }
}
