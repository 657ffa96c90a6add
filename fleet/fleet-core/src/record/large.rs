//! Contents that are too large for a line: moving them out of their record. Never writes a blob.

use super::{AttemptEnd, Record};
use engine_core::content::{BlobRef, Content};
use engine_core::record::{Json, Older};

impl Record {
    /// Moves its contents of more than `limit` bytes into blobs.
    ///
    /// # Errors
    /// What `put` answers.
    pub fn externalize<E>(
        &mut self,
        limit: usize,
        put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
    ) -> Result<(), E> {
        match self {
            Self::RunOpened(r) => {
                move_json(&mut r.tasks, limit, put)?;
                r.roster
                    .iter_mut()
                    .try_for_each(|text| move_text(text, limit, put))
            }
            Self::ModelRequested(r) => r
                .told
                .iter_mut()
                .try_for_each(|text| move_text(text, limit, put)),
            Self::ModelResponded(r) => move_json(&mut r.answer, limit, put),
            Self::ToolFinished(r) => move_text(&mut r.text, limit, put),
            Self::ContextCompacted(r) => match &mut r.older {
                Older::Cut { .. } => Ok(()),
                Older::Replaced { summary, .. } => move_text(summary, limit, put),
            },
            Self::ReviewGiven(r) => move_text(&mut r.findings, limit, put),
            Self::CheckFinished(r) => move_text(&mut r.output, limit, put),
            Self::LandingConflicted(r) => r
                .returned
                .iter_mut()
                .try_for_each(|returned| move_text(&mut returned.report, limit, put)),
            Self::AttemptFinished(r) => match &mut r.end {
                AttemptEnd::Finished { text } => move_text(text, limit, put),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Moves a text of more than `limit` bytes into a blob.
///
/// # Errors
/// What `put` answers.
pub(crate) fn move_text<E>(
    content: &mut Content,
    limit: usize,
    put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
) -> Result<(), E> {
    if let Content::Inline(text) = content
        && text.len() > limit
    {
        *content = Content::Blob(put(text.as_bytes())?);
    }
    Ok(())
}

fn move_json<E>(
    json: &mut Json,
    limit: usize,
    put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
) -> Result<(), E> {
    if json.text().len() > limit {
        let blob = put(json.text().as_bytes())?;
        *json = Json::of(&blob).expect("a blob reference is plain JSON");
    }
    Ok(())
}
