//! The command line as typed. The doc comments here and in `commands/` are the help. Never acts:
//! what a command means is in its own file.

use crate::commands::Command;
use crate::output::Color;
use clap::{ArgAction, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// A multi-agent coding fleet for the terminal.
///
/// Write a roster of agents and tasks, let the fleet work on it in worktrees of its own, and look
/// at what it made before you take it over.
#[derive(Debug, Parser)]
#[command(
    name = "codewhale",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "First steps:\n  codewhale doctor                   is everything here that is needed?\n  codewhale fleet init               write a roster for this repository\n  codewhale fleet check roster.toml  see the plan; nothing is written"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) folder: Option<PathBuf>,
    /// Read this configuration instead of the usual one
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Say more on standard error; twice says most
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// Append a trace of what happens to this file
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub(crate) color: Color,
}

/// The option of commands that also print for programs.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct JsonOption {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Whom a command prints for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl JsonOption {
    /// Whom to print for.
    pub(crate) fn format(self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Text
        }
    }
}

/// The colours asked for in arguments that could not be parsed, or that ask for help: what
/// `--color` says there, else the default.
pub(crate) fn color_asked(arguments: &[OsString]) -> Color {
    let texts: Vec<&str> = arguments.iter().filter_map(|a| a.to_str()).collect();
    let joined = texts.iter().find_map(|text| text.strip_prefix("--color="));
    let parted = texts
        .windows(2)
        .find_map(|pair| (pair[0] == "--color").then_some(pair[1]));
    joined
        .or(parted)
        .and_then(|word| <Color as clap::ValueEnum>::from_str(word, false).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn colours_are_found_in_arguments_that_do_not_parse() {
        let check = |arguments: &[&str], expected| {
            let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
            assert_eq!(color_asked(&arguments), expected, "{arguments:?}");
        };
        check(&["codewhale", "--help"], Color::Auto);
        check(&["codewhale", "--color=never", "--help"], Color::Never);
        check(&["codewhale", "x", "--color", "always"], Color::Always);
        check(&["codewhale", "--color", "purple"], Color::Auto);
        check(&["codewhale", "--color"], Color::Auto);
    }
}
