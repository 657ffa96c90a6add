//! `grep`: finds lines by a regular expression. Never searches what `read` would refuse as binary.

use super::glob::PathGlob;
use super::{Desk, Kept, Lines};
use crate::workspace::jail::{FILE_MAX_BYTES, Found, PathError};
use crate::workspace::names;
use crate::workspace::text::{Text, cut, shortened};
use crate::workspace::walk::{self, Depth};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use serde::Deserialize;
use std::io::{self, Read, Seek};
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(crate) const DESCRIPTION: &str = "Search the lines of the workspace's text files for a regular \
expression (Rust syntax; `(?i)` ignores case), without what git ignores. Gives `path:line:text`. \
Example: {\"pattern\":\"fn \\\\w+_test\",\"glob\":\"*.rs\"}";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "Regular expression"},
    "path": {"type": "string", "description": "File or folder to search; default: the workspace"},
    "glob": {"type": "string", "description": "Only files whose path matches, for instance `*.rs`"}
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#;

/// Most matching lines shown.
const LINES_MAX: usize = 200;

/// Most bytes of a line shown.
const LINE_MAX_BYTES: usize = 500;

/// Most memory for one file: beyond it, a file is one line too long to search.
const HEAP_MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GrepError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("{0}")]
    Pattern(#[from] grep_regex::Error),
    #[error("{0}")]
    Glob(#[from] globset::Error),
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    #[error("the search was stopped")]
    Stopped,
}

pub(crate) fn run(
    args: &Args,
    desk: &Desk,
    cancel: &CancellationToken,
) -> Result<String, GrepError> {
    let mut search = Search::new(args, desk)?;
    let path = args.path.as_deref().unwrap_or(".");
    let place = desk.jail.find(path)?;
    match place.found {
        Found::Nothing => return Err(PathError::Missing(path.to_owned()).into()),
        Found::Link | Found::Other => return Err(GrepError::NotAFile(path.to_owned())),
        Found::File => search.file(&place.shown(), &mut place.open(path)?),
        Found::Folder => {
            for entry in walk::entries(&desk.jail, &place.path, Depth::All) {
                if cancel.is_cancelled() {
                    return Err(GrepError::Stopped);
                }
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    continue;
                }
                let path = walk::relative(&desk.jail, &entry);
                match search
                    .wants(path)
                    .then(|| std::fs::File::open(entry.path()))
                {
                    Some(Ok(mut file)) => search.file(&names::shown(path), &mut file),
                    Some(Err(_)) => search.unreadable += 1,
                    None => {}
                }
            }
        }
    }
    Ok(search.into_text())
}

/// A search over several files.
struct Search<'d> {
    desk: &'d Desk,
    matcher: RegexMatcher,
    glob: Option<PathGlob>,
    searcher: Searcher,
    lines: Lines,
    files_left_out: usize,
    unreadable: usize,
    /// Files with a match that `read` would refuse.
    not_text: usize,
}

impl<'d> Search<'d> {
    fn new(args: &Args, desk: &'d Desk) -> Result<Self, GrepError> {
        Ok(Self {
            desk,
            matcher: RegexMatcherBuilder::new().crlf(true).build(&args.pattern)?,
            glob: args.glob.as_deref().map(PathGlob::new).transpose()?,
            searcher: SearcherBuilder::new()
                .line_number(true)
                .line_terminator(LineTerminator::crlf())
                .bom_sniffing(false)
                .binary_detection(BinaryDetection::quit(0))
                .heap_limit(Some(HEAP_MAX_BYTES))
                .build(),
            lines: Lines::new(LINES_MAX, desk.output_bytes),
            files_left_out: 0,
            unreadable: 0,
            not_text: 0,
        })
    }

    fn wants(&self, path: &Path) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.matches(path))
    }

    fn file(&mut self, path: &str, file: &mut std::fs::File) {
        let mut found = Matches::default();
        let searched = self
            .searcher
            .search_reader(&self.matcher, &mut *file, &mut found);
        if searched.is_err() {
            self.unreadable += 1;
            return;
        }
        if found.lines.is_empty() {
            return;
        }
        if found.binary || !is_text(file) {
            self.not_text += 1;
            return;
        }
        let mut any_left_out = found.more > 0;
        for line in &found.lines {
            let text = self.desk.mask.text(&line.text);
            let text = shortened(&text, line.rest_bytes, LINE_MAX_BYTES);
            let line = format!("{path}:{}:{text}", line.number);
            any_left_out |= self.lines.push(&line) == Kept::No;
        }
        self.lines.leave_out(found.more);
        self.files_left_out += usize::from(any_left_out);
    }

    fn into_text(self) -> String {
        let left_out = self.lines.left_out();
        let mut text = self.lines.into_text();
        if text.is_empty() {
            "no matches\n".clone_into(&mut text);
        }
        if left_out > 0 {
            let files = self.files_left_out;
            text.push_str(&format!(
                "[… {left_out} more matching lines in {files} files left out …]\n"
            ));
        }
        if self.not_text > 0 {
            let files = self.not_text;
            text.push_str(&format!("[{files} files match that are not text]\n"));
        }
        if self.unreadable > 0 {
            let files = self.unreadable;
            text.push_str(&format!("[{files} files could not be searched]\n"));
        }
        text
    }
}

/// Whether a file that was searched is one that `read` shows. Larger ones than it reads are taken as
/// they come.
fn is_text(file: &mut std::fs::File) -> bool {
    let mut bytes = Vec::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Ok(size) if size as u64 > FILE_MAX_BYTES => true,
        Ok(_) => Text::parse(bytes).is_ok(),
        Err(_) => false,
    }
}

/// The matching lines of one file: as many as can be shown, and how many more.
#[derive(Default)]
struct Matches {
    lines: Vec<Match>,
    more: usize,
    binary: bool,
}

/// A matching line, or as much of it as can be shown.
struct Match {
    number: u64,
    text: String,
    /// Bytes that are not in `text`.
    rest_bytes: usize,
}

impl Sink for Matches {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.lines.len() == LINES_MAX {
            self.more += 1;
            return Ok(true);
        }
        let line = String::from_utf8_lossy(found.bytes());
        let line = line.trim_end_matches(['\r', '\n']);
        // A little more than is shown, so that a secret at the cut is masked whole.
        let text = cut(line, 8 * LINE_MAX_BYTES);
        self.lines.push(Match {
            number: found.line_number().unwrap_or(0),
            text: text.to_owned(),
            rest_bytes: line.len() - text.len(),
        });
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
