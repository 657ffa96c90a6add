//! `write`: gives a file its whole content. Never overwrites a content that the agent has not seen.

use super::Desk;
use crate::workspace::diff;
use crate::workspace::jail::{Found, PathError};
use crate::workspace::replace::replace;
use crate::workspace::text::{NotText, Text};
use crate::workspace::view::{StaleView, Stamp};
use serde::Deserialize;

pub(crate) const DESCRIPTION: &str = "Write a whole file of the workspace, making folders as \
needed. An existing file must have been read before. A byte-order mark and uniform CR LF line ends \
of an existing file are kept.";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "Path relative to the workspace"},
    "content": {"type": "string", "description": "The whole content"}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) path: String,
    pub(crate) content: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("`{0}` belongs to git itself and is not written")]
    GitsOwn(String),
    #[error("`{0}` is a folder or a special file")]
    NotAFile(String),
    #[error("`{path}` {why}")]
    Stale { path: String, why: StaleView },
    #[error("`{path}` {why}")]
    NotText { path: String, why: NotText },
    #[error("`{path}` could not be written: {error}")]
    Io { path: String, error: std::io::Error },
}

pub(crate) fn run(args: &Args, desk: &Desk) -> Result<String, WriteError> {
    let place = desk.jail.find(&args.path)?;
    let path = place.shown();
    if place.is_gits_own() {
        return Err(WriteError::GitsOwn(path));
    }
    let (before, after) = match place.found {
        Found::Folder | Found::Link | Found::Other => return Err(WriteError::NotAFile(path)),
        Found::Nothing => (None, args.content.clone().into_bytes()),
        Found::File => {
            let (_, bytes) = desk.jail.read_file(&args.path)?;
            let checked = desk.view.check(&place.path, Stamp::of(&bytes));
            checked.map_err(|why| WriteError::Stale {
                path: path.clone(),
                why,
            })?;
            let before = Text::parse(bytes).map_err(|why| WriteError::NotText {
                path: path.clone(),
                why,
            })?;
            let after = before.dress(&args.content).to_bytes();
            (Some(before), after)
        }
    };
    replace(&place, &after).map_err(|error| WriteError::Io {
        path: path.clone(),
        error,
    })?;
    desk.view.saw(&place.path, Stamp::of(&after));
    let lines = args.content.lines().count();
    Ok(match before {
        None => format!("wrote {path}: new, {lines} lines"),
        Some(before) => {
            let after = String::from_utf8_lossy(&after);
            let after = after.strip_prefix('\u{FEFF}').unwrap_or(&after);
            let shown = diff::show(&desk.mask.text(&before.text), &desk.mask.text(after));
            format!(
                "wrote {path}: +{} -{}\n{}",
                shown.added, shown.removed, shown.lines
            )
        }
    })
}
