//! A run's ledger, opened for one manager or read by many. Never decides what is written.

use crate::codec::FleetCodec;
use crate::history::Histories;
use chrono::{DateTime, Utc};
use fleet_core::decide::Input;
use fleet_core::record::Record;
use fleet_core::spec::TaskSpec;
use fleet_core::state::{FleetState, IllegalRecord};
use fleet_core::time::Stamp;
use ledger::{Entry, OnDurable, Seq, Writer};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Tasks queued by one line.
const QUEUE_CHUNK: usize = 200;

/// What queues those of the ordered tasks that are not queued yet, line by line.
pub(crate) fn unqueued<'a>(
    state: &FleetState,
    tasks: &'a [TaskSpec],
) -> impl Iterator<Item = Input> + use<'a> {
    let left = tasks.get(state.ordered() as usize..).unwrap_or_default();
    let chunks = left.chunks(QUEUE_CHUNK);
    chunks.map(|chunk| Input::Queue(chunk.to_vec()))
}

/// Where an entry of the file stands, as the fold knows it.
#[must_use]
pub fn stamp_of(seq: u64, epoch: u64, at: DateTime<Utc>) -> Stamp {
    Stamp {
        seq,
        epoch,
        at: crate::clock::timestamp(at),
    }
}

/// Folds an entry into a state.
///
/// # Errors
/// When a record does not fit.
pub fn fold(state: &mut FleetState, entry: &Entry<Record>) -> Result<(), IllegalRecord> {
    let stamp = stamp_of(entry.seq.0, u64::from(entry.epoch.0), entry.at);
    entry
        .records
        .iter()
        .try_for_each(|record| state.apply(stamp, record))
}

/// Reads a run without taking it: what its ledger says, for commands that only show.
///
/// # Errors
/// When there is no ledger, or it is damaged, newer, or does not fit together.
pub fn read(folder: &Path) -> Result<FleetState, ledger::ReplayError> {
    let mut state = FleetState::new();
    ledger::replay(folder, &FleetCodec, &mut |entry| {
        fold(&mut state, &entry).map_err(Into::into)
    })?;
    Ok(state)
}

/// Everything a manager takes over when it opens a run.
pub struct Store {
    pub(crate) folder: PathBuf,
    pub(crate) state: FleetState,
    pub(crate) histories: Histories,
    pub(crate) writer: Writer<FleetCodec>,
    pub(crate) durable: DurableLines,
    left: Option<ledger::Left>,
    torn: Option<PathBuf>,
    head: Option<ledger::Head>,
}

/// What the ledger's writer tells the manager.
#[derive(Debug)]
pub(crate) enum Told {
    /// The last line that is durable now.
    Durable(Seq),
    /// There is little room left, in words for people.
    Filling(String),
    /// Why nothing more is written; at most once, and last.
    Failed(String),
}

/// Tells how far the file is durable.
pub(crate) type DurableLines = mpsc::UnboundedReceiver<Told>;

fn durable_lines() -> (OnDurable, DurableLines) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let tell = Box::new(move |word: ledger::Word<'_>| {
        let told = match word {
            ledger::Word::Durable(seq) => Told::Durable(seq),
            ledger::Word::Filling(filling) => Told::Filling(filling.to_string()),
            ledger::Word::Failed(error) => Told::Failed(error.to_string()),
        };
        // The manager may have ended: then nobody waits.
        let _ = sender.send(told);
    });
    (tell, receiver)
}

impl Store {
    /// Makes the folder of a new run and takes it.
    ///
    /// # Errors
    /// When it exists, is held by another process, or the storage fails.
    pub fn create(
        folder: &Path,
        filesystems: ledger::Filesystems,
    ) -> Result<Self, ledger::OpenError> {
        let (tell, durable) = durable_lines();
        let writer = ledger::create(folder, FleetCodec, filesystems, tell)?;
        Ok(Self {
            folder: folder.to_owned(),
            state: FleetState::new(),
            histories: Histories::default(),
            writer,
            durable,
            left: None,
            torn: None,
            head: None,
        })
    }

    /// Takes an existing run and replays it.
    ///
    /// # Errors
    /// When it is held by another process, damaged, newer, or the storage fails.
    pub fn open(
        folder: &Path,
        filesystems: ledger::Filesystems,
    ) -> Result<Self, ledger::OpenError> {
        let mut state = FleetState::new();
        let mut histories = Histories::default();
        let (tell, durable) = durable_lines();
        let mut on_entry = |entry: Entry<Record>| {
            fold(&mut state, &entry)?;
            entry
                .records
                .iter()
                .for_each(|record| histories.note(record));
            Ok(())
        };
        let opened = ledger::open(folder, FleetCodec, filesystems, &mut on_entry, tell)?;
        Ok(Self {
            folder: folder.to_owned(),
            state,
            histories,
            writer: opened.writer,
            durable,
            left: opened.left,
            torn: opened.torn,
            head: opened.replayed.head,
        })
    }

    /// Who held the run before and ended without saying so.
    #[must_use]
    pub fn left(&self) -> Option<&ledger::Left> {
        self.left.as_ref()
    }

    /// Where the bytes of a torn batch were kept, when there was one.
    #[must_use]
    pub fn torn(&self) -> Option<&Path> {
        self.torn.as_deref()
    }

    /// The last line that was found; its sum covers all before it. `None` for a new run.
    #[must_use]
    pub fn head(&self) -> Option<&ledger::Head> {
        self.head.as_ref()
    }

    /// Lets go of the run without a word.
    ///
    /// # Errors
    /// When the storage fails.
    pub fn let_go(self) -> Result<(), ledger::WriteError> {
        self.writer.close().map(drop)
    }

    /// What the ledger says so far.
    #[must_use]
    pub fn state(&self) -> &FleetState {
        &self.state
    }
}
