//! `edit`: replaces a piece of a file. Works on the file as it is now, whatever was read before.

use super::Desk;
use crate::workspace::diff;
use crate::workspace::edit::{EditError, Occurrences, replace_piece};
use crate::workspace::jail::PathError;
use crate::workspace::replace::replace;
use crate::workspace::text::{NotText, Text};
use crate::workspace::view::Stamp;
use serde::Deserialize;

pub(crate) const DESCRIPTION: &str = "Replace a piece of a file of the workspace. `old` must match \
the file exactly, blanks included, and occur once unless `all` is set. Line ends are matched and \
kept whatever they are. Example: {\"path\":\"src/a.rs\",\"old\":\"let x = 1;\",\"new\":\"let x = 2;\"}";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "Path relative to the workspace"},
    "old": {"type": "string", "description": "The piece to replace"},
    "new": {"type": "string", "description": "What stands there afterwards"},
    "all": {"type": "boolean", "description": "Replace every occurrence; default false"}
  },
  "required": ["path", "old", "new"],
  "additionalProperties": false
}"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) path: String,
    old: String,
    pub(crate) new: String,
    #[serde(default)]
    all: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EditFileError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("`{0}` belongs to git itself and is not edited")]
    GitsOwn(String),
    #[error("`{path}` {why}")]
    NotText { path: String, why: NotText },
    #[error("`{path}`: {why}")]
    Edit { path: String, why: EditError },
    #[error("`{path}` could not be written: {error}")]
    Io { path: String, error: std::io::Error },
}

pub(crate) fn run(args: &Args, desk: &Desk) -> Result<String, EditFileError> {
    let (place, bytes) = desk.jail.read_file(&args.path)?;
    let path = place.shown();
    if place.is_gits_own() {
        return Err(EditFileError::GitsOwn(path));
    }
    let stamp_before = Stamp::of(&bytes);
    let before = Text::parse(bytes).map_err(|why| EditFileError::NotText {
        path: path.clone(),
        why,
    })?;
    let occurrences = if args.all {
        Occurrences::All
    } else {
        Occurrences::One
    };
    let text = replace_piece(&before.text, &args.old, &args.new, occurrences).map_err(|why| {
        EditFileError::Edit {
            path: path.clone(),
            why,
        }
    })?;
    let shown = diff::show(&desk.mask.text(&before.text), &desk.mask.text(&text));
    let after = Text { text, ..before }.to_bytes();
    replace(&place, &after).map_err(|error| EditFileError::Io {
        path: path.clone(),
        error,
    })?;
    desk.view
        .changed(&place.path, stamp_before, Stamp::of(&after));
    let (added, removed, lines) = (shown.added, shown.removed, shown.lines);
    Ok(format!("edited {path}: +{added} -{removed}\n{lines}"))
}
