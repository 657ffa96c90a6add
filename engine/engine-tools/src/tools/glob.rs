//! `glob`: finds files by the shape of their path. Never looks into them.

use super::{Desk, Lines};
use crate::workspace::names;
use crate::workspace::walk::{self, Depth};
use globset::GlobBuilder;
use serde::Deserialize;
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(crate) const DESCRIPTION: &str = "Find files of the workspace by a glob, without what git \
ignores. `*` stays within a folder, `**` goes through folders; a pattern without `/` is matched \
against file names at any depth.";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "For instance `src/**/*.rs` or `Cargo.toml`"}
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#;

/// Most files named.
const FILES_MAX: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) pattern: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GlobError {
    #[error("{0}")]
    Pattern(#[from] globset::Error),
    #[error("the search was stopped")]
    Stopped,
}

/// A glob over paths relative to the root.
pub(crate) struct PathGlob {
    matcher: globset::GlobMatcher,
    names_only: bool,
}

impl PathGlob {
    pub(crate) fn new(pattern: &str) -> Result<Self, globset::Error> {
        let matcher = GlobBuilder::new(pattern.strip_prefix("./").unwrap_or(pattern))
            .literal_separator(true)
            .build()?
            .compile_matcher();
        Ok(Self {
            matcher,
            names_only: !pattern.contains('/'),
        })
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        if self.names_only {
            path.file_name()
                .is_some_and(|name| self.matcher.is_match(name))
        } else {
            self.matcher.is_match(path)
        }
    }
}

pub(crate) fn run(
    args: &Args,
    desk: &Desk,
    cancel: &CancellationToken,
) -> Result<String, GlobError> {
    let glob = PathGlob::new(&args.pattern)?;
    let mut lines = Lines::new(FILES_MAX, desk.output_bytes);
    for entry in walk::entries(&desk.jail, Path::new(""), Depth::All) {
        if cancel.is_cancelled() {
            return Err(GlobError::Stopped);
        }
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = walk::relative(&desk.jail, &entry);
        if glob.matches(path) {
            lines.push(&names::shown(path));
        }
    }
    let left_out = lines.left_out();
    let mut text = lines.into_text();
    if text.is_empty() {
        return Ok("no files match".to_owned());
    }
    if left_out > 0 {
        text.push_str(&format!("[… {left_out} more files left out …]\n"));
    }
    Ok(text)
}
