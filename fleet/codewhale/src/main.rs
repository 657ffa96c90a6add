//! The `codewhale` binary: the only place where the rooms are put together. Read it as a table of
//! contents; what a command does is in its file under `commands/`.

mod app;
mod arguments;
mod attend;
mod cap;
mod commands;
mod config;
mod exit;
mod json;
mod launch;
mod logging;
mod output;
mod places;
mod record_line;
mod report;
mod repository;
mod roster_file;
mod runs;
mod surroundings;
mod wishes;

use app::App;
use arguments::{Arguments, Format};
use clap::Parser as _;
use exit::Exit;
use output::{Output, Paint};
use std::ffi::OsString;
use std::process::ExitCode;
use surroundings::Surroundings;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(end) = engine_tools::helper::run_if_asked(arguments.iter().cloned()) {
        return end;
    }
    run(&arguments, Surroundings::read()).into()
}

/// Parses, sets up, runs the command, and tells what went wrong.
fn run(arguments: &[OsString], around: Surroundings) -> Exit {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => return explain(&error, arguments, &around),
    };
    let output = Output::of_process(&around, parsed.globals.color);
    let format = parsed.command.format();
    let result = logging::start(&parsed.globals, &around)
        .and_then(|()| App::new(around, parsed.globals, &output))
        .and_then(|app| parsed.command.run(&app));
    let exit = result.unwrap_or_else(|report| output.report(&report, format));
    ended(&output, exit)
}

/// What clap has to say: help and the version are data, a mistake is talk.
fn explain(error: &clap::Error, arguments: &[OsString], around: &Surroundings) -> Exit {
    let output = Output::of_process(around, arguments::color_asked(arguments));
    let text = error.render();
    if error.use_stderr() {
        output.say_ready_made(&match output.talk_paint() {
            Paint::Ansi => text.ansi().to_string(),
            Paint::Plain => text.to_string(),
        });
        return Exit::Usage;
    }
    output.ready_made(&match output.data_paint() {
        Paint::Ansi => text.ansi().to_string(),
        Paint::Plain => text.to_string(),
    });
    ended(&output, Exit::Done)
}

/// The exit, unless the data did not get where it should.
fn ended(output: &Output, exit: Exit) -> Exit {
    match output.finish() {
        Ok(()) => exit,
        Err(report) => exit.or_worse(output.report(&report, Format::Text)),
    }
}
