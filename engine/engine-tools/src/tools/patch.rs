//! `patch`: changes several files at once, or none. What a patch means is decided elsewhere; this
//! finds the files beneath the workspace and carries out what was decided.

use super::Desk;
use crate::patch::plan::{self, File, Files, Found, Links, ModeOf, Plan, PlanFault, Told, What};
use crate::patch::{Action, FileMode, ParseFault};
use crate::workspace::jail::{self, Place};
use crate::workspace::names;
use crate::workspace::transaction::{self, Execution, NewFile, Step, TransactionError};
use crate::workspace::view::Stamp;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) const DESCRIPTION: &str = "Change several files at once with a git unified diff: change, \
make, delete, rename. All of it is applied or nothing. Line numbers may be wrong; the lines around a \
change must be those of the file. Example:
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,3 +1,3 @@
 fn main() {
-    old();
+    new();
 }
A new file has `--- /dev/null`, a deleted one `+++ /dev/null`; a rename is `diff --git a/x b/y`, \
`rename from x`, `rename to y`. `*** Begin Patch` envelopes are read too.";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "patch": {"type": "string", "description": "The diff"}
  },
  "required": ["patch"],
  "additionalProperties": false
}"#;

/// Faults named at once.
const FAULTS_MAX: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) patch: String,
}

impl Args {
    /// What the patch is about, for people.
    pub(crate) fn gist(&self) -> String {
        let Ok(patch) = crate::patch::parse(&self.patch) else {
            return "(cannot be read)".to_owned();
        };
        let asked = patch.files.iter().map(|file| match &file.action {
            Action::Create(path) => format!("new {path}"),
            Action::Delete(path) => format!("delete {path}"),
            Action::Update(path) => path.clone(),
            Action::Move { from, to } => format!("move {from} to {to}"),
            Action::Copy { from, to } => format!("copy {from} to {to}"),
        });
        asked.collect::<Vec<_>>().join(", ")
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchError {
    #[error("the patch cannot be read, nothing was changed:\n{}", lines(.0))]
    Parse(Vec<ParseFault>),
    #[error("the patch does not fit, nothing was changed:\n{}", lines(.0))]
    Plan(Vec<PlanFault>),
    #[error("{0}")]
    Io(#[from] TransactionError),
}

/// The faults, one a line, and how many more there are.
fn lines<F: std::fmt::Display>(faults: &[F]) -> String {
    let mut lines: Vec<String> = faults
        .iter()
        .take(FAULTS_MAX)
        .map(|fault| format!("- {fault}"))
        .collect();
    if faults.len() > FAULTS_MAX {
        lines.push(format!("[… {} more faults …]", faults.len() - FAULTS_MAX));
    }
    lines.join("\n")
}

pub(crate) fn run(args: &Args, desk: &Desk) -> Result<String, PatchError> {
    let patch = crate::patch::parse(&args.patch).map_err(PatchError::Parse)?;
    let mut files = OnDisk {
        desk,
        places: HashMap::new(),
    };
    let plan = plan::plan(&patch, &mut files).map_err(PatchError::Plan)?;
    let steps: Vec<Step<'_>> = plan
        .outcomes
        .iter()
        .map(|outcome| Step {
            place: &files.places[&outcome.key],
            after: outcome.after.as_ref().map(|file| NewFile {
                bytes: &file.bytes,
                like: file.mode.like.as_ref().map(|key| &files.places[key]),
                execution: match file.mode.set {
                    None => Execution::AsItIs,
                    Some(FileMode::Executable) => Execution::Allowed,
                    Some(FileMode::Plain) => Execution::Forbidden,
                },
            }),
        })
        .collect();
    transaction::carry_out(&steps)?;
    remember(&plan, desk);
    Ok(told(&plan.told))
}

/// What the agent knows of the files from now on.
fn remember(plan: &Plan, desk: &Desk) {
    for outcome in &plan.outcomes {
        match &outcome.after {
            Some(file) if file.known.is_ok() => desk.view.saw(&outcome.key, Stamp::of(&file.bytes)),
            Some(_) => {}
            None => desk.view.forget(&outcome.key),
        }
    }
}

fn told(all: &[Told]) -> String {
    let mut text = String::new();
    for told in all {
        text.push_str(&head(&told.action));
        if told.added + told.removed > 0 {
            text.push_str(&format!(": +{} -{}", told.added, told.removed));
        }
        text.push('\n');
        for note in &told.notes {
            text.push_str(&format!("  {note}\n"));
        }
    }
    text
}

fn head(action: &Action) -> String {
    match action {
        Action::Create(path) => format!("made {path}"),
        Action::Delete(path) => format!("deleted {path}"),
        Action::Update(path) => format!("changed {path}"),
        Action::Move { from, to } => format!("moved {from} to {to}"),
        Action::Copy { from, to } => format!("copied {from} to {to}"),
    }
}

/// The files beneath the workspace, each with the place where it was found.
struct OnDisk<'d> {
    desk: &'d Desk,
    places: HashMap<PathBuf, Place>,
}

impl Files for OnDisk<'_> {
    fn look(&mut self, path: &str, links: Links) -> Result<Found, String> {
        let jail = &self.desk.jail;
        let place = match links {
            Links::Followed => jail.find(path),
            Links::Themselves => jail.find_itself(path),
        };
        let place = place.map_err(|error| error.to_string())?;
        if place.is_gits_own() {
            return Err(format!("`{path}` belongs to git itself and is not changed"));
        }
        let what = self.what(&place, path)?;
        let key = place.path.clone();
        self.places.entry(key.clone()).or_insert(place);
        Ok(Found { key, what })
    }
}

impl OnDisk<'_> {
    fn what(&self, place: &Place, path: &str) -> Result<What, String> {
        match place.found {
            jail::Found::Nothing => Ok(What::Nothing),
            jail::Found::Folder => Err(format!("`{path}` is a folder")),
            jail::Found::Other => Err(format!("`{path}` is not a regular file")),
            jail::Found::Link => {
                let target = place.target(path).map_err(|error| error.to_string())?;
                Ok(What::Link(link_text(&target)))
            }
            jail::Found::File => {
                let (_, bytes) = self.desk.jail.read_file(path).map_err(|e| e.to_string())?;
                let known = self.desk.view.check(&place.path, Stamp::of(&bytes));
                Ok(What::File(File {
                    bytes,
                    known,
                    mode: ModeOf {
                        like: Some(place.path.clone()),
                        set: None,
                    },
                }))
            }
        }
    }
}

/// A link's target as the one line that git shows of it.
fn link_text(target: &Path) -> String {
    match target.to_str() {
        Some(text) => text.to_owned(),
        None => names::shown(target),
    }
}
