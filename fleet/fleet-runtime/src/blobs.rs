//! A run's large contents: moved out of inputs before the manager sees them, and read back for agents
//! and for people. Never decides what is large.

use engine_core::content::{BlobRef, Content};
use engine_core::record::{AgentRecord, Json, Older};
use fleet_core::decide::Input;
use futures_util::future::BoxFuture;
use ledger::{BlobError, Blobs};
use std::path::Path;
use std::sync::Arc;

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
                AgentRecord::ContextCompacted(r) => {
                    if let Older::Replaced { summary, .. } = &mut r.older {
                        *summary = Content::Inline(self.text(summary)?);
                    }
                }
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
}

impl Blobbed for RunBlobs {
    fn externalize(self: Arc<Self>, input: Input) -> BoxFuture<'static, Result<Input, BlobError>> {
        Box::pin(async move {
            if !input.has_large() {
                return Ok(input);
            }
            tokio::task::spawn_blocking(move || input.externalize(&mut |bytes| self.put(bytes)))
                .await
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        })
    }
}
