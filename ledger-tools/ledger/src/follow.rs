//! Following a ledger as it grows: whole, durable lines only, each once. Never changes a byte, never
//! shows a line that a crash could still take back.
//!
//! A line is shown once the file `durable`, or the watermark of a whole line after it, vouches for it.
//! The last batch of a writer that died is therefore shown when the next writer has taken over.

use crate::chain::Chain;
use crate::codec::{Codec, Entry, decode, writer_version};
use crate::disk::{Disk, DiskFile, FileId, Mode, RealDisk};
use crate::error::{Damage, Place, ReplayError};
use crate::filesystem::foreign;
use crate::format::{SEGMENT, Seq};
use crate::hint::Hint;
use crate::replay::refusal;
use crate::scan::Lines;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// How often the file is looked at on a file system whose changes by other machines the system does not tell.
const LOOK: Duration = Duration::from_secs(1);

/// Most entries held at once.
const AHEAD_MAX: usize = 1024;

/// Why a ledger can no longer be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// It cannot be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The system does not tell about changes.
    #[error("cannot watch {path}: {source}")]
    Watch {
        /// The run's folder.
        path: PathBuf,
        /// Why not.
        source: notify::Error,
    },
}

/// An endless iterator over the durable entries of a ledger. `next` blocks until there is one; it ends
/// after an error and after [`StopHandle::stop`].
pub struct Follower<C: Codec> {
    disk: RealDisk,
    codec: C,
    after: Seq,
    segment: Option<Segment>,
    /// Whether there has been a segment.
    is_begun: bool,
    /// How far it has been shown.
    chain: Chain,
    byte: u64,
    /// Product version that the first line names.
    writer: Option<String>,
    ready: VecDeque<Entry<C::Record>>,
    failed: Option<FollowError>,
    is_over: bool,
    stop: Arc<AtomicBool>,
    wakes: Receiver<()>,
    /// How long one waits at most before looking by oneself; `None`: changes are told.
    look: Option<Duration>,
    /// Kept alive: dropping it ends the watch.
    _watcher: RecommendedWatcher,
}

struct Segment {
    file: Box<dyn DiskFile>,
    id: FileId,
}

/// Ends a [`Follower`] from another thread.
#[derive(Debug, Clone)]
pub struct StopHandle {
    stop: Arc<AtomicBool>,
    wake: SyncSender<()>,
}

impl StopHandle {
    /// Makes the follower's next, or waiting, `next` answer `None`.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        wake(&self.wake);
    }
}

/// A wake that is already waiting to be seen stands for this one too; a follower that is gone needs none.
fn wake(sender: &SyncSender<()>) {
    let _ = sender.try_send(());
}

impl<C: Codec> Follower<C> {
    /// Follows the ledger in `folder`, beginning after the line `after`. The folder must exist; the ledger may
    /// come later.
    ///
    /// # Errors
    /// When the folder cannot be watched.
    pub fn start(folder: &Path, codec: C, after: Seq) -> Result<(Self, StopHandle), FollowError> {
        let failed = |source| FollowError::Watch {
            path: folder.to_owned(),
            source,
        };
        let (sender, wakes) = sync_channel(1);
        let told = sender.clone();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // Reading is an event too: waking for it would never end.
                if event.map_or(true, |event| !event.kind.is_access()) {
                    wake(&told);
                }
            })
            .map_err(failed)?;
        watcher
            .watch(folder, RecursiveMode::NonRecursive)
            .map_err(failed)?;
        let is_told = foreign(folder).is_ok_and(|kind| kind.is_none());
        let look = (!is_told).then_some(LOOK);
        let stop = Arc::new(AtomicBool::new(false));
        let handle = StopHandle {
            stop: Arc::clone(&stop),
            wake: sender,
        };
        let follower = Self {
            disk: RealDisk::new(folder),
            codec,
            after,
            segment: None,
            is_begun: false,
            chain: Chain { head: None },
            byte: 0,
            writer: None,
            ready: VecDeque::new(),
            failed: None,
            is_over: false,
            stop,
            wakes,
            look,
            _watcher: watcher,
        };
        Ok((follower, handle))
    }

    /// Takes in what has become durable since the last time.
    fn read_more(&mut self) -> Result<(), ReplayError> {
        let failed = || ReplayError::io(self.disk.path(SEGMENT));
        // Hint first, then the end: a hint read later could speak of lines beyond that end.
        let hint = Hint::read(&self.disk).map_err(failed())?;
        let segment = match current(&self.disk, self.segment.take()) {
            // Not created yet. One that was there and is gone is another matter.
            Err(ReplayError::Missing(_)) if !self.is_begun => return Ok(()),
            found => found?,
        };
        self.is_begun = true;
        let end = segment.file.length().map_err(failed())?;
        let hinted = hint.map_or(Seq(0), |hint| hint.seq);
        let result = self.read_until(&*segment.file, end, hinted);
        self.segment = Some(segment);
        result
    }

    fn read_until(
        &mut self,
        file: &dyn DiskFile,
        end: u64,
        hinted: Seq,
    ) -> Result<(), ReplayError> {
        let path = self.disk.path(SEGMENT);
        let mut lines = Lines::new(file, self.byte, end);
        let mut chain = self.chain;
        let mut known = hinted;
        // Lines that nothing vouches for yet.
        let mut waiting = VecDeque::new();
        while self.ready.len() < AHEAD_MAX {
            let seq = chain.next_seq();
            let Some(piece) = lines.next().map_err(ReplayError::io(path.clone()))? else {
                return self.nothing_is_missing(seq, hinted, end);
            };
            let after = piece.byte + piece.length;
            let place = Place {
                segment: path.clone(),
                line: seq.0,
                byte: piece.byte,
            };
            let envelope = match chain.accept(&piece) {
                Ok(envelope) if piece.ended => envelope,
                Err(fault) if seq <= known => {
                    let (expected, found) = (fault.expected(seq), fault.found());
                    return Err(Damage {
                        place,
                        expected,
                        found,
                    }
                    .into());
                }
                // Being written, or torn: the writer, or the next one, will tell.
                Ok(_) | Err(_) => return Ok(()),
            };
            known = known.max(envelope.durable);
            if seq == Seq(1) {
                self.writer = writer_version(envelope.records);
            }
            let entry = decode(&self.codec, &envelope)
                .map_err(|error| refusal(error, place, self.writer.as_ref()));
            waiting.push_back(Waiting {
                entry,
                chain,
                after,
            });
            self.show(&mut waiting, known)?;
        }
        Ok(())
    }

    /// Waits until something has changed, or may have.
    fn wait(&mut self) {
        let is_cut_off = match self.look {
            Some(look) => self.wakes.recv_timeout(look) == Err(RecvTimeoutError::Disconnected),
            None => self.wakes.recv().is_err(),
        };
        if is_cut_off {
            self.failed = Some(FollowError::Watch {
                path: self.disk.path(""),
                source: notify::Error::generic("the watch has ended"),
            });
        }
    }

    /// Makes ready what `known` vouches for.
    fn show(
        &mut self,
        waiting: &mut VecDeque<Waiting<C::Record>>,
        known: Seq,
    ) -> Result<(), ReplayError> {
        while waiting
            .front()
            .is_some_and(|line| line.chain.next_seq() <= known.next())
            && let Some(line) = waiting.pop_front()
        {
            let entry = line.entry?;
            (self.chain, self.byte) = (line.chain, line.after);
            if entry.seq > self.after {
                self.ready.push_back(entry);
            }
        }
        Ok(())
    }

    /// What has been shown, or is known to be durable, must be in the file.
    fn nothing_is_missing(&self, next: Seq, hinted: Seq, end: u64) -> Result<(), ReplayError> {
        if end >= self.byte && next > hinted {
            return Ok(());
        }
        let place = Place {
            segment: self.disk.path(SEGMENT),
            line: next.0,
            byte: end,
        };
        let expected = format!("the lines up to {}", hinted.max(Seq(next.0 - 1)));
        Err(Damage {
            place,
            expected,
            found: "the end of the file".to_owned(),
        }
        .into())
    }
}

/// A whole line that nothing vouches for yet.
struct Waiting<R> {
    entry: Result<Entry<R>, ReplayError>,
    /// The chain with this line in it.
    chain: Chain,
    /// Where the line ends.
    after: u64,
}

/// The segment that stands under the name now: the next writer of a suspect run puts another in place.
fn current(disk: &RealDisk, held: Option<Segment>) -> Result<Segment, ReplayError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReplayError::Missing(disk.path("")),
        _ => ReplayError::io(disk.path(SEGMENT))(error),
    };
    let id = disk.id(SEGMENT).map_err(failed)?;
    match held {
        Some(segment) if segment.id == id => Ok(segment),
        _ => {
            let file = disk.open(SEGMENT, Mode::Read).map_err(failed)?;
            let id = file.id().map_err(failed)?;
            Ok(Segment { file, id })
        }
    }
}

impl<C: Codec> Iterator for Follower<C> {
    type Item = Result<Entry<C::Record>, FollowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.is_over || self.stop.load(Ordering::Acquire) {
                return None;
            }
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            if let Some(error) = self.failed.take() {
                self.is_over = true;
                return Some(Err(error));
            }
            let before = self.byte;
            match self.read_more() {
                Err(error) => self.failed = Some(error.into()),
                Ok(()) if self.byte == before => self.wait(),
                Ok(()) => {}
            }
        }
    }
}

impl<C: Codec> std::fmt::Debug for Follower<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower")
            .field("folder", &self.disk.path(""))
            .finish_non_exhaustive()
    }
}
