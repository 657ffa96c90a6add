//! `git`: reads history and state of the repository. Never writes: its rules refuse what could, and
//! the sandbox lets it write nowhere.

use serde::Deserialize;
use std::ffi::OsString;

pub(crate) const DESCRIPTION: &str = "Run a reading git command in the workspace: status, log, \
show, diff, blame, grep, ls-files, ls-tree, cat-file, rev-parse, rev-list, merge-base, describe, \
shortlog, branch --list, tag --list. Nothing is written.";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "args": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "description": "The arguments after `git`, for instance [\"log\", \"--oneline\", \"-5\"]"
    }
  },
  "required": ["args"],
  "additionalProperties": false
}"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) args: Vec<String>,
}

/// Settings that keep git from running anything else, whatever the repository's own settings say.
const QUIET: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "color.ui=never",
    "-c",
    "protocol.allow=never",
];

/// Subcommands that show differences, and so would run external drivers.
const SHOWS_DIFFERENCES: &[&str] = &["log", "show", "diff"];

/// The whole command line after `git`. The arguments have passed the rules.
pub(crate) fn command_line(args: &Args) -> Vec<OsString> {
    let mut line: Vec<OsString> = QUIET.iter().map(OsString::from).collect();
    let mut rest = args.args.iter();
    if let Some(subcommand) = rest.next() {
        line.push(subcommand.into());
        if SHOWS_DIFFERENCES.contains(&subcommand.as_str()) {
            line.extend(["--no-ext-diff", "--no-textconv"].map(OsString::from));
        }
        if subcommand == "blame" {
            line.push("--no-textconv".into());
        }
    }
    line.extend(rest.map(OsString::from));
    line
}
