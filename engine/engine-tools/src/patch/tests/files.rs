//! Files in memory, as a plan sees them, and a patch applied to them.

use crate::patch::parse;
use crate::patch::plan::{File, Files, Found, Links, ModeOf, Plan, What, plan};
use crate::workspace::view::StaleView;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files by path. Those that the agent has read are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    unread: Vec<String>,
    links: BTreeMap<String, String>,
}

impl Memory {
    pub(super) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let own = |(path, text): (&str, &str)| (path.to_owned(), text.as_bytes().to_vec());
        Self {
            files: files.into_iter().map(own).collect(),
            ..Self::default()
        }
    }

    pub(super) fn unread(mut self, path: &str) -> Self {
        self.unread.push(path.to_owned());
        self
    }

    pub(super) fn with_link(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.to_owned(), target.to_owned());
        self
    }

    /// What a patch makes of them, or everything that is in its way, a line each.
    pub(super) fn patched(&self, patch: &str) -> Result<Self, String> {
        let mut after = self.clone();
        for outcome in self.planned(patch)?.outcomes {
            let path = outcome.key.to_str().unwrap().to_owned();
            after.links.remove(&path);
            match outcome.after {
                Some(file) => after.files.insert(path, file.bytes),
                None => after.files.remove(&path),
            };
        }
        Ok(after)
    }

    pub(super) fn planned(&self, patch: &str) -> Result<Plan, String> {
        let lines = |faults: Vec<String>| faults.join("\n");
        let patch = parse(patch)
            .map_err(|faults| lines(faults.iter().map(ToString::to_string).collect()))?;
        plan(&patch, &mut self.clone())
            .map_err(|faults| lines(faults.iter().map(ToString::to_string).collect()))
    }
}

impl Files for Memory {
    fn look(&mut self, path: &str, links: Links) -> Result<Found, String> {
        let key = match (links, self.links.get(path)) {
            (Links::Followed, Some(target)) => target.clone(),
            _ => path.to_owned(),
        };
        let what = if let Some(bytes) = self.files.get(&key) {
            let known = match self.unread.contains(&key) {
                true => Err(StaleView::NeverRead),
                false => Ok(()),
            };
            let like = Some(PathBuf::from(&key));
            What::File(File {
                bytes: bytes.clone(),
                known,
                mode: ModeOf { like, set: None },
            })
        } else if let Some(target) = self.links.get(&key) {
            What::Link(target.clone())
        } else {
            What::Nothing
        };
        let key = PathBuf::from(key);
        Ok(Found { key, what })
    }
}

/// The text of the file `f` after a patch whose headers are added here.
pub(super) fn of_one(text: &str, hunks: &str) -> Result<String, String> {
    let patch = format!("--- a/f\n+++ b/f\n{hunks}");
    let after = Memory::of([("f", text)]).patched(&patch)?;
    Ok(String::from_utf8(after.files["f"].clone()).unwrap())
}
