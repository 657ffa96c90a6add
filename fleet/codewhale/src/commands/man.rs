//! `codewhale man`: the manual pages, one for each command. Made from the one definition of the commands;
//! never writes without `--output`.

use crate::app::App;
use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::report::Report;
use clap::CommandFactory as _;
use clap_mangen::Man as Page;
use std::io;
use std::path::{Path, PathBuf};

/// Print the manual, or write its pages
///
/// Without --output the page of codewhale itself is printed. With it, the folder gets a page for each
/// command, and is made when it is missing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale man | man -l -\n  codewhale man --output ~/.local/share/man/man1    then: man codewhale-fleet-run"
)]
pub(crate) struct Man {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Man {
    /// Does what was asked.
    ///
    /// # Errors
    /// When a page cannot be written.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let mut top = Arguments::command();
        top.build();
        let Some(given) = &self.output else {
            app.output.ready_made(&text_of(&top)?);
            return Ok(Exit::Done);
        };
        let folder = app.path(given);
        std::fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
        for (name, text) in pages(&top)? {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| unwritten(&path, &error))?;
            app.output.line(path.display().to_string());
        }
        Ok(Exit::Done)
    }
}

/// The page of a command and those of all below it, each with the name of its file.
fn pages(command: &clap::Command) -> Result<Vec<(String, String)>, Report> {
    let mut pages = vec![(page(command).get_filename(), text_of(command)?)];
    for below in command.get_subcommands() {
        pages.extend(self::pages(below)?);
    }
    Ok(pages)
}

fn page(command: &clap::Command) -> Page {
    let source = format!("codewhale {}", env!("CARGO_PKG_VERSION"));
    Page::new(command.clone()).source(source)
}

fn text_of(command: &clap::Command) -> Result<String, Report> {
    let unmade =
        |error: &dyn std::error::Error| Report::storage("The manual cannot be made").because(error);
    let mut text = Vec::new();
    page(command)
        .render(&mut text)
        .map_err(|error| unmade(&error))?;
    String::from_utf8(text).map_err(|error| unmade(&error))
}

fn unwritten(path: &Path, error: &io::Error) -> Report {
    Report::storage(format!("`{}` cannot be written", path.display()))
        .because(error)
        .hint("name a folder of yours with --output")
}
