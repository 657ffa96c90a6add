//! `read`: shows a text file, or a part of it. Never shows a file that `edit` would refuse.

use super::Desk;
use crate::workspace::jail::PathError;
use crate::workspace::text::{LineEnds, NotText, Text, cut, line_ends};
use crate::workspace::view::Stamp;
use serde::Deserialize;
use std::fmt::Write;

pub(crate) const DESCRIPTION: &str = "Read a text file of the workspace. Gives its lines as they \
are, without numbers; a note says when there are more. Line ends are shown as LF. Example: \
{\"path\":\"src/lib.rs\",\"offset\":200,\"limit\":100}";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "Path relative to the workspace"},
    "offset": {"type": "integer", "minimum": 1, "description": "First line, counted from 1"},
    "limit": {"type": "integer", "minimum": 1, "description": "Most lines; default 2000"}
  },
  "required": ["path"],
  "additionalProperties": false
}"#;

/// Lines shown unless the call says otherwise.
const LINES_DEFAULT: usize = 2000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) path: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("`{path}` {why}")]
    NotText { path: String, why: NotText },
    #[error("`{path}` has only {lines} lines")]
    BeyondEnd { path: String, lines: usize },
}

pub(crate) fn run(args: &Args, desk: &Desk) -> Result<String, ReadError> {
    let (place, bytes) = desk.jail.read_file(&args.path)?;
    let stamp = Stamp::of(&bytes);
    let text = Text::parse(bytes).map_err(|why| ReadError::NotText {
        path: place.shown(),
        why,
    })?;
    let shown = show(args, &desk.mask.text(&text.text), desk.output_bytes)?;
    desk.view.saw(&place.path, stamp);
    Ok(shown)
}

fn show(args: &Args, text: &str, max_bytes: usize) -> Result<String, ReadError> {
    if text.is_empty() {
        return Ok("(empty file)".to_owned());
    }
    let total = text.lines().count();
    let first = args.offset.unwrap_or(1).max(1);
    if first > total {
        return Err(ReadError::BeyondEnd {
            path: args.path.clone(),
            lines: total,
        });
    }
    let limit = args.limit.unwrap_or(LINES_DEFAULT).max(1);
    let mut shown = String::new();
    let mut last = first - 1;
    for line in text.lines().skip(first - 1).take(limit) {
        if !shown.is_empty() && shown.len() + line.len() >= max_bytes {
            break;
        }
        last += 1;
        let part = cut(line, max_bytes);
        shown.push_str(part);
        shown.push('\n');
        if part.len() < line.len() {
            let rest = line.len() - part.len();
            let _ = writeln!(shown, "[… {rest} more bytes in line {last} …]");
        }
    }
    if first > 1 || last < total {
        let _ = write!(shown, "[lines {first} to {last} of {total}");
        if last < total {
            let _ = write!(shown, "; go on with offset {}", last + 1);
        }
        shown.push_str("]\n");
    }
    match line_ends(text) {
        LineEnds::CrLf => shown.push_str("[line ends: CR LF]\n"),
        LineEnds::Mixed => shown.push_str("[line ends: CR LF and LF mixed]\n"),
        LineEnds::Lf | LineEnds::None => {}
    }
    Ok(shown)
}
