//! What a patch means to the files that are there: which of them become what, or everything that is
//! in its way. Never touches a file: it asks for them, one at a time, through [`Files`].
//!
//! Sections apply one after the other, each to what the one before made of the files. A file that is
//! made must not be there; one that is deleted, changed or moved must. What is matched by its lines may
//! have changed since it was read; a file that is deleted without naming its lines must be known.

use super::weave::{HunkFault, weave};
use super::{Action, FileChange, FileMode, Patch, Sign};
use crate::workspace::text::{Mark, NotText, Text};
use crate::workspace::view::StaleView;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A byte-order mark, as it stands in a line of a patch.
const MARK: char = '\u{FEFF}';

/// Where the plan learns what is there.
pub(crate) trait Files {
    /// What a path names; one sentence when that may not be touched.
    fn look(&mut self, path: &str, links: Links) -> Result<Found, String>;
}

/// Whether the last part of a path is followed when it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Followed,
    Themselves,
}

/// Something that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Where it really lies: two paths of one file have the same.
    pub(crate) key: PathBuf,
    pub(crate) what: What,
}

/// What lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Nothing,
    File(File),
    /// A link, with its target.
    Link(String),
}

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    /// Whether the agent knows these bytes.
    pub(crate) known: Result<(), StaleView>,
    /// Whose mode it has.
    pub(crate) mode: ModeOf,
}

/// The mode of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModeOf {
    /// That of the file that lies here on disk; of a new one when there is none.
    pub(crate) like: Option<PathBuf>,
    /// What is then made of it.
    pub(crate) set: Option<FileMode>,
}

/// What a patch comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The files that end up different, each once.
    pub(crate) outcomes: Vec<Outcome>,
    /// What was done, section by section.
    pub(crate) told: Vec<Told>,
}

/// What becomes of one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) key: PathBuf,
    pub(crate) after: Option<File>,
}

/// One section, as it was done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) action: Action,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) notes: Vec<String>,
}

/// What is in a patch's way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanFault {
    #[error("{0}")]
    Path(String),
    #[error("there is no `{0}`")]
    Missing(String),
    #[error("`{0}` exists already; a patch makes only files that are not there")]
    Exists(String),
    #[error("`{0}` is a link; a patch only deletes links")]
    IsALink(String),
    #[error("`{path}` {why}")]
    NotText { path: String, why: NotText },
    #[error("`{path}` {why}")]
    Unknown { path: String, why: StaleView },
    #[error("`{path}`: {why}")]
    Hunk { path: String, why: HunkFault },
    #[error(
        "`{path}` would keep lines that the patch does not remove; name all of its lines, or none"
    )]
    NotWhole { path: String },
    #[error("the patch changes nothing")]
    Nothing,
}

/// What a patch comes to, or everything that is in its way.
pub(crate) fn plan(patch: &Patch, files: &mut dyn Files) -> Result<Plan, Vec<PlanFault>> {
    let mut desk = Desk {
        files,
        states: HashMap::new(),
        order: Vec::new(),
        faults: Vec::new(),
    };
    let told: Vec<Told> = patch
        .files
        .iter()
        .filter_map(|change| desk.apply(change))
        .collect();
    let outcomes: Vec<Outcome> = desk.outcomes();
    if desk.faults.is_empty() && outcomes.is_empty() {
        desk.faults.push(PlanFault::Nothing);
    }
    if desk.faults.is_empty() {
        Ok(Plan { outcomes, told })
    } else {
        Err(desk.faults)
    }
}

/// A place as it was, and as it is by now.
struct State {
    before: What,
    now: What,
    /// A section about it failed: later ones have nothing to say.
    spoilt: bool,
}

struct Desk<'f> {
    files: &'f mut dyn Files,
    states: HashMap<PathBuf, State>,
    order: Vec<PathBuf>,
    faults: Vec<PlanFault>,
}

impl Desk<'_> {
    /// Does one section; `None` when something is in its way.
    fn apply(&mut self, change: &FileChange) -> Option<Told> {
        let added = change.hunks.iter().map(|hunk| hunk.count(Sign::Add)).sum();
        let removed = change
            .hunks
            .iter()
            .map(|hunk| hunk.count(Sign::Remove))
            .sum();
        let notes = match &change.action {
            Action::Create(path) => self.create(path, change),
            Action::Delete(path) => self.delete(path, change),
            Action::Update(path) => self.update(path, change),
            Action::Move { from, to } => self.carry(from, to, change, Source::Goes),
            Action::Copy { from, to } => self.carry(from, to, change, Source::Stays),
        };
        Some(Told {
            action: change.action.clone(),
            added,
            removed,
            notes: notes?,
        })
    }

    fn create(&mut self, path: &str, change: &FileChange) -> Option<Vec<String>> {
        let key = self.room_for(path);
        let (bytes, notes) = self.woven(path, &[], change)?;
        let key = key?;
        self.put(
            &key,
            What::File(File {
                bytes,
                known: Ok(()),
                mode: ModeOf {
                    like: None,
                    set: change.mode,
                },
            }),
        );
        Some(notes)
    }

    fn update(&mut self, path: &str, change: &FileChange) -> Option<Vec<String>> {
        let (key, file) = self.file(path, Links::Followed)?;
        let Some((bytes, notes)) = self.woven(path, &file.bytes, change) else {
            self.spoil(&key);
            return None;
        };
        let mode = ModeOf {
            set: change.mode.or(file.mode.set),
            ..file.mode
        };
        self.put(
            &key,
            What::File(File {
                bytes,
                mode,
                ..file
            }),
        );
        Some(notes)
    }

    fn carry(
        &mut self,
        from: &str,
        to: &str,
        change: &FileChange,
        source: Source,
    ) -> Option<Vec<String>> {
        let room = self.room_for(to);
        let (key, file) = self.file(from, Links::Themselves)?;
        let (bytes, notes) = self.woven(from, &file.bytes, change)?;
        let room = room?;
        if source == Source::Goes {
            self.put(&key, What::Nothing);
        }
        let mode = ModeOf {
            set: change.mode.or(file.mode.set),
            ..file.mode
        };
        self.put(
            &room,
            What::File(File {
                bytes,
                mode,
                ..file
            }),
        );
        Some(notes)
    }

    fn delete(&mut self, path: &str, change: &FileChange) -> Option<Vec<String>> {
        let (key, what) = self.look(path, Links::Themselves)?;
        let rest = match what {
            What::Nothing => {
                self.faults.push(PlanFault::Missing(path.to_owned()));
                return None;
            }
            What::Link(_) if change.hunks.is_empty() => Vec::new(),
            What::Link(target) => self.woven(path, target.as_bytes(), change)?.0,
            What::File(file) if change.hunks.is_empty() => self.known_or_empty(path, file)?,
            What::File(file) => self.woven(path, &file.bytes, change)?.0,
        };
        if !rest.is_empty() {
            let path = path.to_owned();
            self.faults.push(PlanFault::NotWhole { path });
            return None;
        }
        self.put(&key, What::Nothing);
        Some(Vec::new())
    }

    /// Nothing, for a file whose content the agent knows or that has none.
    fn known_or_empty(&mut self, path: &str, file: File) -> Option<Vec<u8>> {
        if file.bytes.is_empty() {
            return Some(file.bytes);
        }
        let path = path.to_owned();
        let fault = match (file.known, Text::parse(file.bytes)) {
            (Ok(()), _) => return Some(Vec::new()),
            (Err(_), Err(why)) => PlanFault::NotText { path, why },
            (Err(why), Ok(_)) => PlanFault::Unknown { path, why },
        };
        self.faults.push(fault);
        None
    }

    /// The bytes after the hunks of a section.
    fn woven(
        &mut self,
        path: &str,
        bytes: &[u8],
        change: &FileChange,
    ) -> Option<(Vec<u8>, Vec<String>)> {
        if change.hunks.is_empty() {
            return Some((bytes.to_owned(), Vec::new()));
        }
        let Text { mark, text } = match Text::parse(bytes.to_owned()) {
            Ok(text) => text,
            Err(why) => {
                let path = path.to_owned();
                self.faults.push(PlanFault::NotText { path, why });
                return None;
            }
        };
        // Git shows the mark as a part of the first line.
        let shows_mark = change.hunks.iter().flat_map(|hunk| hunk.old());
        let shows_mark = shows_mark
            .into_iter()
            .any(|line| line.text.starts_with(MARK));
        let (mark, text) = match mark {
            Mark::Present if shows_mark => (Mark::Absent, format!("{MARK}{text}")),
            mark => (mark, text),
        };
        match weave(&text, &change.hunks) {
            Ok(woven) if woven.text.is_empty() => Some((Vec::new(), woven.notes)),
            Ok(woven) => {
                let mark = if woven.text.starts_with(MARK) {
                    Mark::Absent
                } else {
                    mark
                };
                let text = woven.text;
                Some((Text { mark, text }.to_bytes(), woven.notes))
            }
            Err(faults) => {
                let told = |why| PlanFault::Hunk {
                    path: path.to_owned(),
                    why,
                };
                self.faults.extend(faults.into_iter().map(told));
                None
            }
        }
    }

    /// A place where nothing is.
    fn room_for(&mut self, path: &str) -> Option<PathBuf> {
        match self.look(path, Links::Followed)? {
            (key, What::Nothing) => Some(key),
            _ => {
                self.faults.push(PlanFault::Exists(path.to_owned()));
                None
            }
        }
    }

    fn file(&mut self, path: &str, links: Links) -> Option<(PathBuf, File)> {
        let fault = match self.look(path, links)? {
            (key, What::File(file)) => return Some((key, file)),
            (_, What::Nothing) => PlanFault::Missing(path.to_owned()),
            (_, What::Link(_)) => PlanFault::IsALink(path.to_owned()),
        };
        self.faults.push(fault);
        None
    }

    /// What lies at a path by now; `None` when it may not be touched, or an earlier section failed.
    fn look(&mut self, path: &str, links: Links) -> Option<(PathBuf, What)> {
        let found = match self.files.look(path, links) {
            Ok(found) => found,
            Err(sentence) => {
                self.faults.push(PlanFault::Path(sentence));
                return None;
            }
        };
        let state = self.states.entry(found.key.clone()).or_insert_with(|| {
            self.order.push(found.key.clone());
            State {
                now: found.what.clone(),
                before: found.what,
                spoilt: false,
            }
        });
        (!state.spoilt).then(|| (found.key, state.now.clone()))
    }

    fn put(&mut self, key: &Path, what: What) {
        if let Some(state) = self.states.get_mut(key) {
            state.now = what;
        }
    }

    fn spoil(&mut self, key: &Path) {
        if let Some(state) = self.states.get_mut(key) {
            state.spoilt = true;
        }
    }

    fn outcomes(&mut self) -> Vec<Outcome> {
        let states = &mut self.states;
        let changed = self.order.iter().filter_map(|key| {
            let state = states.remove(key)?;
            (state.now != state.before).then(|| Outcome {
                key: key.clone(),
                after: match state.now {
                    What::File(file) => Some(file),
                    What::Nothing | What::Link(_) => None,
                },
            })
        });
        changed.collect()
    }
}

/// What becomes of the file that another is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Goes,
    Stays,
}
