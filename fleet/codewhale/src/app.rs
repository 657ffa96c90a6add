//! What every command works with: where it was started, what was asked of all commands, and where it
//! prints. Starts no runtime and reads no file until a command asks for it.

use crate::arguments::Globals;
use crate::output::Output;
use crate::places::{self, Located, NoHome};
use crate::report::Report;
use crate::surroundings::Surroundings;
use std::path::{Path, PathBuf};

/// What every command works with.
pub(crate) struct App<'a> {
    /// What the process was started in; its folder is the one of `-C`.
    pub(crate) around: Surroundings,
    /// Where it prints.
    pub(crate) output: &'a Output,
    config: Option<PathBuf>,
    verbose: u8,
}

impl<'a> App<'a> {
    /// The app for these options.
    ///
    /// # Errors
    /// When the folder of `-C` is none.
    pub(crate) fn new(
        mut around: Surroundings,
        globals: Globals,
        output: &'a Output,
    ) -> Result<Self, Report> {
        if let Some(folder) = globals.folder {
            around.folder.push(&folder);
            if !around.folder.is_dir() {
                return Err(
                    Report::usage(format!("`{}` is not a folder", folder.display()))
                        .hint("-C takes the folder to work in"),
                );
            }
        }
        Ok(Self {
            around,
            output,
            config: globals.config,
            verbose: globals.verbose,
        })
    }

    /// A path as the person means it: relative to the folder of `-C`.
    pub(crate) fn path(&self, given: &Path) -> PathBuf {
        self.around.folder.join(given)
    }

    /// True when the person asked to be told more.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// The user's configuration file.
    ///
    /// # Errors
    /// When no variable names a place.
    pub(crate) fn config_file(&self) -> Result<Located, NoHome> {
        places::config(&self.around, self.config.as_deref())
    }
}

impl From<NoHome> for Report {
    fn from(error: NoHome) -> Self {
        Self::usage(error.to_string()).hint("set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Color;

    fn folder_with(given: &str) -> Result<PathBuf, Report> {
        let around = Surroundings::with(&[]);
        let output = Output::of_process(&around, Color::Never);
        let globals = Globals {
            folder: Some(given.into()),
            config: None,
            verbose: 0,
            log: None,
            color: Color::Never,
        };
        App::new(around, globals, &output).map(|app| app.around.folder)
    }

    #[test]
    fn commands_work_in_the_folder_that_was_asked_for() {
        assert_eq!(folder_with("/").expect("a folder"), Path::new("/"));
        let report = folder_with("not-there").expect_err("no folder");
        assert_eq!(report.exit(), crate::exit::Exit::Usage);
    }
}
