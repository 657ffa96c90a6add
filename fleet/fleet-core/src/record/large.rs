//! Contents that are too large for a line: which they are, and moving them out. Never writes a blob.

use super::{AttemptEnd, Record};
use engine_core::content::{BlobRef, Content};
use engine_core::record::Json;

impl Record {
    /// True when a content of it must become a blob before it is recorded.
    #[must_use]
    pub fn has_large(&self) -> bool {
        match self {
            Self::RunOpened(r) => {
                r.tasks.is_too_large() || r.roster.as_ref().is_some_and(Content::is_too_large)
            }
            Self::ModelRequested(r) => r.told.iter().any(Content::is_too_large),
            Self::ModelResponded(r) => r.answer.is_too_large(),
            Self::ToolFinished(r) => r.text.is_too_large(),
            Self::ReviewGiven(r) => r.findings.is_too_large(),
            Self::CheckFinished(r) => r.output.is_too_large(),
            Self::AttemptFinished(r) => {
                matches!(&r.end, AttemptEnd::Finished { text } if text.is_too_large())
            }
            _ => false,
        }
    }

    /// Moves what is too large for a line into blobs.
    ///
    /// # Errors
    /// What `put` answers.
    pub fn externalize<E>(
        &mut self,
        put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
    ) -> Result<(), E> {
        match self {
            Self::RunOpened(r) => {
                move_json(&mut r.tasks, put)?;
                r.roster
                    .iter_mut()
                    .try_for_each(|text| move_text(text, put))
            }
            Self::ModelRequested(r) => r.told.iter_mut().try_for_each(|text| move_text(text, put)),
            Self::ModelResponded(r) => move_json(&mut r.answer, put),
            Self::ToolFinished(r) => move_text(&mut r.text, put),
            Self::ReviewGiven(r) => move_text(&mut r.findings, put),
            Self::CheckFinished(r) => move_text(&mut r.output, put),
            Self::AttemptFinished(r) => match &mut r.end {
                AttemptEnd::Finished { text } => move_text(text, put),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Moves a text into a blob when it is too large for a line.
///
/// # Errors
/// What `put` answers.
pub(crate) fn move_text<E>(
    content: &mut Content,
    put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
) -> Result<(), E> {
    if content.is_too_large()
        && let Content::Inline(text) = content
    {
        *content = Content::Blob(put(text.as_bytes())?);
    }
    Ok(())
}

fn move_json<E>(
    json: &mut Json,
    put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
) -> Result<(), E> {
    if json.is_too_large() {
        let blob = put(json.text().as_bytes())?;
        *json = Json::of(&blob).expect("a blob reference is plain JSON");
    }
    Ok(())
}
