//! `list`: names what lies in one folder. Never goes deeper.

use super::{Desk, Lines};
use crate::workspace::jail::{Found, PathError};
use crate::workspace::names;
use crate::workspace::walk::{self, Depth};
use serde::Deserialize;
use std::path::Path;

pub(crate) const DESCRIPTION: &str = "List a folder of the workspace, without what git ignores. \
Folders end in `/`; links show where they point. Names with line breaks and the like are quoted as \
git does; every tool takes them so.";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "Folder relative to the workspace; default: its top"}
  },
  "required": [],
  "additionalProperties": false
}"#;

/// Most entries shown.
const ENTRIES_MAX: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    pub(crate) path: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("`{0}` is not a folder")]
    NotAFolder(String),
}

pub(crate) fn run(args: &Args, desk: &Desk) -> Result<String, ListError> {
    let path = args.path.as_deref().unwrap_or(".");
    let place = desk.jail.find(path)?;
    match place.found {
        Found::Folder => {}
        Found::Nothing => return Err(PathError::Missing(path.to_owned()).into()),
        Found::File | Found::Link | Found::Other => {
            return Err(ListError::NotAFolder(path.to_owned()));
        }
    }
    let mut lines = Lines::new(ENTRIES_MAX, desk.output_bytes);
    for entry in walk::entries(&desk.jail, &place.path, Depth::Here) {
        let name = names::shown(Path::new(entry.file_name()));
        lines.push(&match entry.file_type() {
            Some(kind) if kind.is_dir() => format!("{name}/"),
            Some(kind) if kind.is_symlink() => match std::fs::read_link(entry.path()) {
                Ok(target) => format!("{name} -> {}", names::shown(&target)),
                Err(_) => name,
            },
            _ => name,
        });
    }
    let left_out = lines.left_out();
    let mut text = lines.into_text();
    if text.is_empty() {
        return Ok("(empty folder)".to_owned());
    }
    if left_out > 0 {
        text.push_str(&format!("[… {left_out} more entries left out …]\n"));
    }
    Ok(text)
}
