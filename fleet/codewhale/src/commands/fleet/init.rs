//! `codewhale fleet init`: a commented roster to start from. Never overwrites a file.

use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use roster::RepoFacts;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Write a commented roster for this repository
///
/// Nothing is overwritten. The file can be checked as it is; what to edit is marked in it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale fleet init                  writes roster.toml\n  codewhale fleet init fleets/docs.toml"
)]
pub(crate) struct Init {
    /// Where to write it; folders that are missing are made
    #[arg(value_name = "FILE", default_value = "roster.toml")]
    file: PathBuf,
}

/// How a repository is put to the test, by a file in its top folder.
const CHECKS: [(&str, &str); 6] = [
    ("Cargo.toml", "cargo test -q"),
    ("go.mod", "go test ./..."),
    ("package.json", "npm test"),
    ("pyproject.toml", "python3 -m pytest -q"),
    ("mix.exs", "mix test"),
    ("Makefile", "make test"),
];

impl Init {
    /// Does what was asked.
    ///
    /// # Errors
    /// When the file is there already or cannot be written.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let shown = self.file.display();
        let top = top_folder(app);
        let text = roster::template(&RepoFacts {
            folder: top.file_name().and_then(|name| name.to_str()),
            check: usual_check(&top),
        });
        write_new(&app.path(&self.file), &text).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Report::usage(format!("`{shown}` is there already"))
                .hint("name another file: codewhale fleet init FILE"),
            _ => Report::storage(format!("`{shown}` cannot be written"))
                .because(&error)
                .hint("name a file in a folder of yours: codewhale fleet init FILE"),
        })?;
        app.output.line(shown.to_string());
        app.output.say(format!(
            "Next: edit the lines marked with <- in {shown}, then look at the plan:"
        ));
        app.output.say(format!("  codewhale fleet check {shown}"));
        Ok(Exit::Done)
    }
}

/// The top folder of the repository around, else the current folder.
fn top_folder(app: &App) -> PathBuf {
    let folder = std::path::absolute(&app.around.folder);
    let folder = folder.unwrap_or_else(|_| app.around.folder.clone());
    folder
        .ancestors()
        .find(|above| above.join(".git").exists())
        .map_or_else(|| folder.clone(), Path::to_owned)
}

fn usual_check(top: &Path) -> Option<&'static str> {
    CHECKS
        .iter()
        .find(|(file, _)| top.join(file).is_file())
        .map(|(_, command)| *command)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
