//! A run's folder: its ledger and its blobs, opened for one manager. Never decides what is written.

use crate::codec::FleetCodec;
use crate::history::Histories;
use chrono::{DateTime, Utc};
use engine_core::content::{BlobRef, Content};
use engine_core::record::{AgentRecord, Json};
use fleet_core::decide::Input;
use fleet_core::record::{AttemptEnd, Record};
use fleet_core::state::{FleetState, IllegalRecord};
use fleet_core::time::Stamp;
use futures_util::future::BoxFuture;
use ledger::{BlobError, Blobs, Entry, OnDurable, Seq, Writer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

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
}

/// Tells how far the file is durable; at the end at most one failure.
pub(crate) type DurableLines = mpsc::UnboundedReceiver<Result<Seq, String>>;

fn durable_lines() -> (OnDurable, DurableLines) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let tell = Box::new(move |outcome: Result<Seq, &ledger::WriteError>| {
        // The manager may have ended: then nobody waits.
        let _ = sender.send(outcome.map_err(ToString::to_string));
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

    /// What the ledger says so far.
    #[must_use]
    pub fn state(&self) -> &FleetState {
        &self.state
    }
}

/// Keeps large contents out of lines.
pub(crate) trait Blobbed: Send + Sync {
    /// Moves what is too large into blobs; they are durable when it returns.
    fn externalize(self: Arc<Self>, input: Input) -> BoxFuture<'static, Result<Input, BlobError>>;
}

/// A run's blobs. Reads and writes happen on the blocking pool.
#[derive(Clone)]
pub struct RunBlobs(Arc<Blobs>);

impl RunBlobs {
    /// The blobs of the run in `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self(Arc::new(Blobs::of(folder)))
    }

    /// The text of a content, read from its blob where it lies in one.
    ///
    /// # Errors
    /// When the blob is missing or damaged, or is no UTF-8.
    pub fn text(&self, content: &Content) -> Result<String, BlobError> {
        match content {
            Content::Inline(text) => Ok(text.clone()),
            Content::Blob(blob) => self.read(blob),
        }
    }

    /// The JSON of a value, read from its blob where it lies in one.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn json(&self, json: &Json) -> Result<String, BlobError> {
        match json.as_blob() {
            None => Ok(json.text().to_owned()),
            Some(blob) => self.read(&blob),
        }
    }

    fn read(&self, blob: &BlobRef) -> Result<String, BlobError> {
        let bytes = self.0.get(&blob.blob)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn put(&self, bytes: &[u8]) -> Result<BlobRef, BlobError> {
        let blob = self.0.put(bytes)?;
        Ok(BlobRef {
            blob: blob.sha256,
            bytes: blob.bytes,
        })
    }

    /// A history with all its contents inline, as an agent takes it.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub(crate) fn inlined(
        &self,
        mut history: Vec<AgentRecord>,
    ) -> Result<Vec<AgentRecord>, BlobError> {
        for record in &mut history {
            match record {
                AgentRecord::ModelRequested(r) => {
                    for told in &mut r.told {
                        *told = Content::Inline(self.text(told)?);
                    }
                }
                AgentRecord::ModelResponded(r) => {
                    if let Some(blob) = r.answer.as_blob() {
                        let text = self.read(&blob)?;
                        if let Ok(raw) = serde_json::value::RawValue::from_string(text)
                            && let Ok(json) = Json::of(&raw)
                        {
                            r.answer = json;
                        }
                    }
                }
                AgentRecord::ToolFinished(r) => r.text = Content::Inline(self.text(&r.text)?),
                AgentRecord::VerdictGiven(r) => {
                    r.findings = Content::Inline(self.text(&r.findings)?);
                }
                AgentRecord::ModelFailed(_)
                | AgentRecord::ToolStarted(_)
                | AgentRecord::WorkspaceSnapshotted(_) => {}
            }
        }
        Ok(history)
    }

    fn externalize_now(&self, input: Input) -> Result<Input, BlobError> {
        let mut put = |bytes: &[u8]| self.put(bytes);
        Ok(match input {
            Input::Report(records) => {
                let mut kept = Vec::with_capacity(records.len());
                for record in records {
                    let mut record = Record::from(record);
                    record.externalize(&mut put)?;
                    kept.extend(record.into_agent());
                }
                Input::Report(kept)
            }
            Input::Open(opened) => {
                let mut record = Record::RunOpened(opened);
                record.externalize(&mut put)?;
                match record {
                    Record::RunOpened(opened) => Input::Open(opened),
                    other => Input::Outcome(other),
                }
            }
            Input::Admit(mut ask) => {
                for told in &mut ask.told {
                    if told.is_too_large()
                        && let Content::Inline(text) = told
                    {
                        *told = Content::Blob(self.put(text.as_bytes())?);
                    }
                }
                Input::Admit(ask)
            }
            Input::AttemptEnded {
                agent,
                end:
                    AttemptEnd::Finished {
                        text: Content::Inline(text),
                    },
            } if Content::from(text.as_str()).is_too_large() => {
                let text = Content::Blob(self.put(text.as_bytes())?);
                Input::AttemptEnded {
                    agent,
                    end: AttemptEnd::Finished { text },
                }
            }
            Input::Outcome(mut record) => {
                record.externalize(&mut put)?;
                Input::Outcome(record)
            }
            other => other,
        })
    }
}

impl Blobbed for RunBlobs {
    fn externalize(self: Arc<Self>, input: Input) -> BoxFuture<'static, Result<Input, BlobError>> {
        Box::pin(async move {
            if !has_large(&input) {
                return Ok(input);
            }
            tokio::task::spawn_blocking(move || self.externalize_now(input))
                .await
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        })
    }
}

/// A cheap look, so that the usual small input never leaves its thread.
fn has_large(input: &Input) -> bool {
    match input {
        Input::Report(records) => records.iter().any(|record| match record {
            AgentRecord::ModelRequested(r) => r.told.iter().any(Content::is_too_large),
            AgentRecord::ModelResponded(r) => r.answer.is_too_large(),
            AgentRecord::ToolFinished(r) => r.text.is_too_large(),
            AgentRecord::VerdictGiven(r) => r.findings.is_too_large(),
            _ => false,
        }),
        Input::Admit(ask) => ask.told.iter().any(Content::is_too_large),
        Input::AttemptEnded { end, .. } => {
            matches!(end, AttemptEnd::Finished { text } if text.is_too_large())
        }
        Input::Open(_) => true,
        Input::Outcome(Record::CheckFinished(r)) => r.output.is_too_large(),
        _ => false,
    }
}
