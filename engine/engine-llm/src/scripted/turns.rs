//! The file of turns: JSON lines, one answer each. Every field that is not known is an error.
//!
//! ```json
//! {"task":"tests","turn":1,"text":"I look.","calls":[{"name":"read","arguments":{"path":"a.rs"}}]}
//! {"task":"tests","attempt":2,"turn":2,"text":"Done.","usage":{"input":900,"output":12},"delay_ms":50}
//! {"task":"slow","turn":1,"error":{"status":429,"message":"slow down","retry_after_secs":1,"times":2},"text":"Now."}
//! ```

use engine_core::ids::Tokens;
use engine_core::message::{Stop, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_jsonlines::BufReadExt as _;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::AtomicU32;

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {path} cannot be read: {cause}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A line is not a turn.
    #[error("{path}:{line}: {cause}")]
    BadLine {
        /// The file.
        path: String,
        /// Its line, from 1.
        line: usize,
        /// What is wrong, with its column where there is one.
        cause: String,
    },
}

/// One line of a script. Times are in milliseconds, usage in tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// The task it is for.
    task: String,
    /// The attempt it is for; absent: any that has no line of its own.
    attempt: Option<u32>,
    /// Which answer of the attempt, from 1.
    pub(super) turn: u32,
    #[serde(default)]
    pub(super) reasoning: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) calls: Vec<ScriptedCall>,
    /// Absent: `calls` when there are calls, else `end`.
    pub(super) stop: Option<Stop>,
    /// Absent: none is reported.
    #[serde(default, deserialize_with = "usage")]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// Answers with a failure first.
    pub(super) error: Option<ScriptedFailure>,
    /// How often it has failed in this process.
    #[serde(skip)]
    pub(super) failed: AtomicU32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// An object, or a text that is taken for what the model wrote, valid or not.
    arguments: Box<RawValue>,
}

impl ScriptedCall {
    pub(super) fn arguments_text(&self) -> String {
        let raw = self.arguments.get();
        serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedFailure {
    /// HTTP status of the failure.
    pub(super) status: u16,
    #[serde(default)]
    pub(super) message: String,
    pub(super) retry_after_secs: Option<u64>,
    /// How often it fails before it answers; absent: always.
    pub(super) times: Option<u32>,
}

fn usage<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Usage>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        input: Tokens,
        output: Tokens,
        #[serde(default)]
        cached: Tokens,
    }
    let written = Option::<Written>::deserialize(deserializer)?;
    Ok(written.map(|usage| Usage {
        input: usage.input,
        output: usage.output,
        cached: usage.cached,
    }))
}

/// Which turn: task, attempt where one is named, number.
type Place = (String, Option<u32>, u32);

/// All turns of a script.
#[derive(Debug, Default)]
pub(super) struct Turns(HashMap<Place, Turn>);

impl Turns {
    pub(super) fn read(path: &Path) -> Result<Self, ScriptError> {
        let unreadable = |cause| ScriptError::Unreadable {
            path: path.display().to_string(),
            cause,
        };
        let file = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut turns = Self::default();
        let mut lines: HashMap<Place, usize> = HashMap::new();
        for (at, read) in file.json_lines::<Turn>().enumerate() {
            let line = at + 1;
            let bad_line = |cause: String| ScriptError::BadLine {
                path: path.display().to_string(),
                line,
                cause,
            };
            let turn = read.map_err(|error| match explain(&error) {
                Some(explained) => bad_line(explained),
                None => unreadable(error),
            })?;
            if turn.turn == 0 {
                return Err(bad_line("turns are counted from 1".to_owned()));
            }
            let place = (turn.task.clone(), turn.attempt, turn.turn);
            if let Some(first) = lines.insert(place.clone(), line) {
                let cause = format!("this turn is already written in line {first}");
                return Err(bad_line(cause));
            }
            turns.0.insert(place, turn);
        }
        Ok(turns)
    }

    /// The turn written for this attempt, else the one written for any.
    pub(super) fn find(&self, task: &str, attempt: u32, turn: u32) -> Option<&Turn> {
        let place = |attempt| (task.to_owned(), attempt, turn);
        let own = self.0.get(&place(Some(attempt)));
        own.or_else(|| self.0.get(&place(None)))
    }
}

/// What is wrong with a line, without the line number that is always 1 for a single line.
fn explain(error: &std::io::Error) -> Option<String> {
    let json = error.get_ref()?.downcast_ref::<serde_json::Error>()?;
    let text = json.to_string();
    let cause = &text[..text.find(" at line ").unwrap_or(text.len())];
    Some(match json.column() {
        0 => cause.to_owned(),
        column => format!("{cause} (column {column})"),
    })
}
