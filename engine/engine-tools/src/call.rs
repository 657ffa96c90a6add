//! A tool call from its arguments to its answer, as values. Never runs one.

use crate::shell::Confinement;
use crate::tools::git_rules::GitRefusal;
use crate::tools::{edit, git, glob, grep, list, patch, read, shell, todo, write};
use engine_core::ids::CallId;
use engine_core::message::ToolStatus;
use engine_core::tool::EffectClass;

/// Longest summary of a call, in bytes.
pub const SUMMARY_MAX_BYTES: usize = 200;

/// A call that may run: its tool is in the catalog, its arguments are understood.
#[derive(Debug)]
pub struct PreparedCall {
    pub(crate) call: CallId,
    pub(crate) tool: &'static str,
    pub(crate) effect: EffectClass,
    pub(crate) summary: String,
    pub(crate) action: Action,
}

impl PreparedCall {
    /// Which call it is.
    #[must_use]
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Name of its tool.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        self.tool
    }

    /// What it may touch.
    #[must_use]
    pub fn effect(&self) -> EffectClass {
        self.effect
    }

    /// One line for people: the path, the pattern, the command. At most [`SUMMARY_MAX_BYTES`],
    /// without control characters, secrets masked.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }
}

/// What a call does.
#[derive(Debug)]
pub(crate) enum Action {
    Files(OnFiles),
    Git(git::Args),
    Todo(todo::Args),
    Shell(shell::Args),
}

/// What a call does to files, on a thread that may block.
#[derive(Debug)]
pub(crate) enum OnFiles {
    Read(read::Args),
    List(list::Args),
    Glob(glob::Args),
    Grep(grep::Args),
    Write(write::Args),
    Edit(edit::Args),
    Patch(patch::Args),
}

impl Action {
    /// What people want to see of it in one line.
    pub(crate) fn gist(&self) -> String {
        match self {
            Self::Files(files) => files.gist(),
            Self::Git(args) => args.args.join(" "),
            Self::Todo(args) => args.gist(),
            Self::Shell(args) => args.command.clone(),
        }
    }

    /// Whether it may change the workspace: such calls wait for each other.
    pub(crate) fn is_change(&self) -> bool {
        match self {
            Self::Shell(_) => true,
            Self::Git(_) | Self::Todo(_) => false,
            Self::Files(files) => match files {
                OnFiles::Write(_) | OnFiles::Edit(_) | OnFiles::Patch(_) => true,
                OnFiles::Read(_) | OnFiles::List(_) | OnFiles::Glob(_) | OnFiles::Grep(_) => false,
            },
        }
    }
}

impl OnFiles {
    /// What it would write, as the model gave it.
    pub(crate) fn written(&self) -> Option<&str> {
        match self {
            Self::Write(args) => Some(&args.content),
            Self::Edit(args) => Some(&args.new),
            Self::Patch(args) => Some(&args.patch),
            Self::Read(_) | Self::List(_) | Self::Glob(_) | Self::Grep(_) => None,
        }
    }

    fn gist(&self) -> String {
        match self {
            Self::Read(args) => args.path.clone(),
            Self::List(args) => args.path.clone().unwrap_or_else(|| ".".to_owned()),
            Self::Glob(args) => args.pattern.clone(),
            Self::Grep(args) => match &args.path {
                Some(path) => format!("{} in {path}", args.pattern),
                None => args.pattern.clone(),
            },
            Self::Write(args) => args.path.clone(),
            Self::Edit(args) => args.path.clone(),
            Self::Patch(args) => args.gist(),
        }
    }
}

/// Why a call does not run. The text is for the model: it says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The catalog has no such tool.
    #[error("there is no tool `{name}` here{}; there are {known}", did_you_mean(near.as_deref()))]
    UnknownTool {
        /// As the model wrote it.
        name: String,
        /// The nearest name of the catalog.
        near: Option<String>,
        /// All names of the catalog.
        known: String,
    },
    /// The arguments are no JSON object.
    #[error("the arguments of `{tool}` are not a JSON object: {error}")]
    NotAnObject {
        /// The tool.
        tool: String,
        /// What is wrong, with its position.
        error: String,
    },
    /// An argument that the tool does not have.
    #[error("`{tool}` has no argument `{field}`{}; it has {known}", did_you_mean(near.as_deref()))]
    UnknownArgument {
        /// The tool.
        tool: String,
        /// As the model wrote it.
        field: String,
        /// The nearest name.
        near: Option<String>,
        /// All its arguments.
        known: String,
    },
    /// It would write what only stands for a secret where the secret may be.
    #[error(
        "`{stand_in}` only stands for a secret that you do not see, and would take its place; leave \
         the lines that hold it as they are"
    )]
    StandIn {
        /// The text.
        stand_in: String,
    },
    /// An argument is missing or of the wrong type.
    #[error("the arguments of `{tool}` do not fit: {error}")]
    BadArguments {
        /// The tool.
        tool: String,
        /// What is wrong.
        error: String,
    },
    /// A git command line that does more than read.
    #[error("{0}")]
    Git(#[from] GitRefusal),
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The known name nearest to what was written, when it is near enough to be meant.
pub(crate) fn nearest<'n>(
    written: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<String> {
    const NEAR_ENOUGH: f64 = 0.7;
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(written, name), name))
        .filter(|(likeness, _)| *likeness >= NEAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// One line without control characters, at most [`SUMMARY_MAX_BYTES`] long.
pub(crate) fn one_line(text: &str) -> String {
    const CUT: &str = "…";
    let line: String = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.len() <= SUMMARY_MAX_BYTES {
        return line;
    }
    let end = line.floor_char_boundary(SUMMARY_MAX_BYTES - CUT.len());
    format!("{}{CUT}", &line[..end])
}

/// How a call that was given to the toolbox came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// By itself, or through its own time limit.
    Done,
    /// It was cancelled after it had started: it may have had effects.
    Stopped,
    /// It was cancelled before it started.
    NotRun,
}

/// What a call led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// How it came to its end.
    pub end: CallEnd,
    /// Whether it succeeded; what did not come to its end by itself did not.
    pub status: ToolStatus,
    /// What the model reads; of a stopped call, what it had put out. Never blank, secrets masked,
    /// bounded by the toolbox's output cap and a few lines of notes.
    pub text: String,
    /// What the kernel held the command to; `None` when no command was run.
    pub confinement: Option<Confinement>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_bounded_line() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected);
        check(" a\nb\tc\u{1b}[31m ", "a b c [31m");
        check("", "");
        let long = one_line(&"界".repeat(200));
        assert_eq!(long.trim_end_matches('…'), "界".repeat(65));
        assert_eq!(long.len(), 65 * 3 + "…".len());
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let check = |written: &str, expected: Option<&str>| {
            let known = ["path", "offset", "limit"];
            assert_eq!(nearest(written, known).as_deref(), expected);
        };
        check("pth", Some("path"));
        check("file_path", None);
        check("ofset", Some("offset"));
        check("zzz", None);
    }
}
