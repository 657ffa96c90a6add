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
    use clap::{Command as Shown, CommandFactory as _};

    /// Every command, the one at the top first, as its help shows it.
    fn commands() -> Vec<Shown> {
        let mut top = Arguments::command();
        top.build();
        let mut all = vec![top];
        for at in 0.. {
            let Some(command) = all.get(at) else { break };
            let below: Vec<Shown> = command.get_subcommands().cloned().collect();
            all.extend(below);
        }
        all
    }

    fn path_of(command: &Shown) -> &str {
        command.get_bin_name().unwrap_or_else(|| command.get_name())
    }

    /// The words of each `codewhale …` in the examples of a help text, without what a shell does
    /// with them and without the remark at the end of the line.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let lines = help.lines().filter(|line| line.starts_with("  "));
        let typed = lines.filter_map(|line| line.trim_start().split("  ").next());
        let orders = typed.flat_map(|line| line.split(['|', '>']));
        let ours = orders.filter(|order| order.trim_start().starts_with("codewhale "));
        ours.map(words).collect()
    }

    fn words(order: &str) -> Vec<String> {
        let parts = order.trim().split('"').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[test]
    fn the_tree_of_commands_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples_of_itself_that_parse() {
        for command in commands() {
            let path = path_of(&command);
            let help = command.get_after_help().map(ToString::to_string);
            let found = examples(&help.unwrap_or_default());
            let of_itself = found.iter().any(|words| words.join(" ").starts_with(path));
            assert!(of_itself, "`{path}` shows no example of itself");
            for words in found {
                let parsed = Arguments::try_parse_from(&words);
                assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn every_command_and_option_says_what_it_is_in_one_line() {
        let is_right = |text: Option<String>| {
            text.is_some_and(|text| {
                let first = text.chars().next();
                first.is_some_and(char::is_uppercase) && !text.ends_with('.') && text.len() < 100
            })
        };
        for command in commands() {
            let path = path_of(&command);
            let is_top = command.get_name() == "codewhale";
            let about = command.get_about().map(ToString::to_string);
            assert!(is_top || is_right(about), "about `{path}`");
            for option in command.get_arguments() {
                let help = option.get_help().map(ToString::to_string);
                assert!(is_right(help), "`{path}`: {}", option.get_id());
            }
        }
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
