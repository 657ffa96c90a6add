//! What an agent has seen of each file, so that it never overwrites what it has not. Compares
//! contents, never times.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Identity of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp([u8; 32]);

impl Stamp {
    /// The stamp of a content.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// The files that one agent has seen, as it saw them last.
#[derive(Debug, Default)]
pub(crate) struct FileView {
    seen: Mutex<HashMap<PathBuf, Stamp>>,
}

/// Why a file must not be overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StaleView {
    #[error("exists and you have not read it; read it first, or use edit")]
    NeverRead,
    #[error("changed since you read it; read it again first")]
    Changed,
}

impl FileView {
    /// The agent has seen this content.
    pub(crate) fn saw(&self, path: &Path, content: Stamp) {
        self.lock().insert(path.to_owned(), content);
    }

    /// Whether the agent knows the content that it is about to overwrite.
    pub(crate) fn check(&self, path: &Path, content: Stamp) -> Result<(), StaleView> {
        match self.lock().get(path) {
            None => Err(StaleView::NeverRead),
            Some(seen) if *seen == content => Ok(()),
            Some(_) => Err(StaleView::Changed),
        }
    }

    /// The agent changed a part of a file. It knows the whole only if it knew the whole before.
    pub(crate) fn changed(&self, path: &Path, before: Stamp, after: Stamp) {
        if self.check(path, before).is_ok() {
            self.saw(path, after);
        }
    }

    /// The file is not there any more.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Stamp>> {
        // A map of stamps is whole after every step: a panic elsewhere does not spoil it.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_content_that_was_seen_may_be_overwritten() {
        let view = FileView::default();
        let (f, a, b) = (Path::new("f"), Stamp::of(b"a"), Stamp::of(b"b"));
        assert_eq!(view.check(f, a), Err(StaleView::NeverRead));
        view.changed(f, a, b);
        assert_eq!(view.check(f, b), Err(StaleView::NeverRead));
        view.saw(f, a);
        assert_eq!(view.check(f, a), Ok(()));
        assert_eq!(view.check(f, b), Err(StaleView::Changed));
        view.changed(f, a, b);
        assert_eq!(view.check(f, b), Ok(()));
        view.changed(f, a, a);
        assert_eq!(view.check(f, a), Err(StaleView::Changed));
    }
}
