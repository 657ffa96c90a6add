//! `codewhale completions`: what a shell needs to complete the command line. Made from the one definition
//! of the commands; never installs anything.

use crate::app::App;
use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::report::Report;
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Print the completions of a shell
///
/// Put them where your shell looks for completions, and make them anew after an update.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale completions bash > ~/.local/share/bash-completion/completions/codewhale\n  codewhale completions zsh > ~/.zfunc/_codewhale            with ~/.zfunc in your fpath\n  codewhale completions fish > ~/.config/fish/completions/codewhale.fish"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

impl Completions {
    /// Does what was asked.
    ///
    /// # Errors
    /// When the completions are no text.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut Arguments::command(),
            "codewhale",
            &mut script,
        );
        let script = String::from_utf8(script)
            .map_err(|error| Report::storage("The completions cannot be made").because(&error))?;
        app.output.ready_made(&script);
        Ok(Exit::Done)
    }
}
