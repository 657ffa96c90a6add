//! Reads git's unified diff. Never guesses a name: where two headers disagree, it says so.

use super::hunks::{self, Counts};
use super::{Action, FileChange, FileMode, Hunk, ParseFault, Source, Wanted};
use crate::workspace::names;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How git names the absent side of a new or deleted file.
const NOBODY: &str = "/dev/null";

/// What git puts before the two names of a file, as its settings have it.
const PREFIXES: &[(&str, &str)] = &[
    ("a/", "b/"),
    ("i/", "w/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
];

/// All files of a patch; what cannot be read goes to `faults`.
pub(super) fn parse(source: &Source<'_>, faults: &mut Vec<ParseFault>) -> Vec<FileChange> {
    let mut files = Vec::new();
    let mut index = 0;
    // Text is passed over: before the first file, after a signature, and after what was complained of.
    let mut passing = true;
    while index < source.lines.len() {
        let raw = source.at(index);
        let is_git = raw.starts_with("diff --git ");
        let is_plain = raw.starts_with("--- ") && source.at(index + 1).starts_with("+++ ");
        if is_git || is_plain {
            let known = faults.len();
            let (head, after) = Head::read(source, index);
            let (hunks, after) = read_hunks(source, after, faults);
            passing = faults.len() > known;
            match head.resolve(index + 1, hunks) {
                Ok(change) => files.push(change),
                // Where its hunks cannot be read, that is what is to be said of the file.
                Err(fault) if faults.len() == known => faults.push(fault),
                Err(_) => {}
            }
            index = after;
            continue;
        }
        passing |= raw == "-- ";
        if raw.starts_with("@@") && faults.is_empty() {
            let what = "a hunk of no file; begin with `--- a/path` and `+++ b/path`";
            faults.push(fault(index + 1, what.to_owned()));
        } else if !passing && raw.starts_with(['+', '-', ' ', '\\']) {
            faults.push(fault(
                index + 1,
                "a line that belongs to no hunk".to_owned(),
            ));
            passing = true;
        }
        index += 1;
    }
    files
}

fn fault(line: usize, what: String) -> ParseFault {
    ParseFault { line, what }
}

/// The headers of one file.
#[derive(Default)]
struct Head {
    /// The two names of the `diff --git` line, with their prefixes.
    named: Option<(OsString, OsString)>,
    old: Option<OsString>,
    new: Option<OsString>,
    moved: Option<(OsString, OsString)>,
    copied: Option<(OsString, OsString)>,
    created: bool,
    deleted: bool,
    mode: Option<String>,
    binary: bool,
}

impl Head {
    /// The headers from a line on, and the line after them.
    fn read(source: &Source<'_>, from: usize) -> (Self, usize) {
        let mut head = Self::default();
        let mut index = from;
        if let Some(rest) = source.at(from).strip_prefix("diff --git ") {
            head.named = two_names(rest);
            index += 1;
        }
        while index < source.lines.len()
            && !head.is_over(source, index)
            && head.takes(source.at(index))
        {
            index += 1;
        }
        (head, index)
    }

    /// True where the names of another file begin: a file that git names needs no `---` and `+++`.
    fn is_over(&self, source: &Source<'_>, index: usize) -> bool {
        let old = source.at(index).strip_prefix("--- ").map(one_name);
        let new = source.at(index + 1).strip_prefix("+++ ").map(one_name);
        let bare = self.moved.as_ref().or(self.copied.as_ref());
        let bare = bare.map(|(from, to)| (from.as_os_str(), to.as_os_str()));
        let named = || self.named.as_ref().map(|(a, b)| without_prefixes(a, b));
        let (Some(old), Some(new), Some(own)) = (old, new, bare.or_else(named)) else {
            return false;
        };
        let (old, new) = without_prefixes(&old, &new);
        let is_own = |name: &OsStr, own: &OsStr| name == own || name == NOBODY;
        !(is_own(old, own.0) && is_own(new, own.1))
    }

    /// Takes a header in; false when the line is none.
    fn takes(&mut self, raw: &str) -> bool {
        let after = |word: &str| raw.strip_prefix(word);
        if let Some(name) = after("--- ").filter(|_| self.old.is_none()) {
            self.old = Some(one_name(name));
        } else if let Some(name) = after("+++ ").filter(|_| self.new.is_none()) {
            self.new = Some(one_name(name));
        } else if let Some(name) = after("rename from ") {
            self.moved.get_or_insert_default().0 = one_name(name);
        } else if let Some(name) = after("rename to ") {
            self.moved.get_or_insert_default().1 = one_name(name);
        } else if let Some(name) = after("copy from ") {
            self.copied.get_or_insert_default().0 = one_name(name);
        } else if let Some(name) = after("copy to ") {
            self.copied.get_or_insert_default().1 = one_name(name);
        } else if let Some(mode) = after("new file mode ") {
            (self.created, self.mode) = (true, Some(mode.trim().to_owned()));
        } else if let Some(mode) = after("deleted file mode ") {
            (self.deleted, self.mode) = (true, Some(mode.trim().to_owned()));
        } else if let Some(mode) = after("new mode ") {
            self.mode = Some(mode.trim().to_owned());
        } else if raw.starts_with("GIT binary patch") || raw.starts_with("Binary files ") {
            self.binary = true;
        } else {
            let known = [
                "old mode ",
                "similarity index ",
                "dissimilarity index ",
                "index ",
            ];
            return known.iter().any(|word| raw.starts_with(word));
        }
        true
    }

    /// What the headers and hunks ask for.
    fn resolve(self, line: usize, hunks: Vec<Hunk>) -> Result<FileChange, ParseFault> {
        if self.binary {
            return Err(fault(line, "binary differences are not taken".to_owned()));
        }
        let deleted = self.deleted;
        let mode = self
            .mode
            .as_deref()
            .map(|mode| file_mode(mode, deleted, line));
        let mode = mode.transpose()?.flatten();
        let action = self.action().map_err(|what| fault(line, what))?;
        if hunks.is_empty() && mode.is_none() && matches!(action, Action::Update(_)) {
            return Err(fault(line, "no hunk follows".to_owned()));
        }
        Ok(FileChange {
            line,
            action,
            hunks,
            mode,
        })
    }

    fn action(self) -> Result<Action, String> {
        if let Some((from, to)) = self.moved {
            return Ok(Action::Move {
                from: path(&from)?,
                to: path(&to)?,
            });
        }
        if let Some((from, to)) = self.copied {
            return Ok(Action::Copy {
                from: path(&from)?,
                to: path(&to)?,
            });
        }
        let (named_old, named_new) = self.named.unzip();
        let nobody = || Some(OsString::from(NOBODY));
        let old = self.old.or(if self.created { nobody() } else { named_old });
        let new = self.new.or(if self.deleted { nobody() } else { named_new });
        let (Some(old), Some(new)) = (old, new) else {
            return Err("the file is not named; write `--- a/path` and `+++ b/path`".to_owned());
        };
        let (old, new) = without_prefixes(&old, &new);
        match (old == NOBODY, new == NOBODY) {
            (true, true) => Err("neither side names a file".to_owned()),
            (true, false) => Ok(Action::Create(path(new)?)),
            (false, true) => Ok(Action::Delete(path(old)?)),
            (false, false) if old == new => Ok(Action::Update(path(old)?)),
            (false, false) => Err(format!(
                "the two names differ: `{}` and `{}`; a file is moved with `diff --git`, \
                 `rename from` and `rename to`",
                names::shown(Path::new(old)),
                names::shown(Path::new(new)),
            )),
        }
    }
}

fn path(name: &OsStr) -> Result<String, String> {
    if name.is_empty() {
        return Err("a name is missing".to_owned());
    }
    Ok(names::shown(Path::new(name)))
}

/// The mode that git writes as six octal digits; of a deleted link, none is needed.
fn file_mode(digits: &str, deleted: bool, line: usize) -> Result<Option<FileMode>, ParseFault> {
    match digits {
        _ if deleted => Ok(None),
        "100644" => Ok(Some(FileMode::Plain)),
        "100755" => Ok(Some(FileMode::Executable)),
        "120000" => Err(fault(line, "links are not made by a patch".to_owned())),
        "160000" => Err(fault(
            line,
            "submodules are not changed by a patch".to_owned(),
        )),
        other => Err(fault(line, format!("`{other}` is no mode of a file"))),
    }
}

/// A name as it stands in a header: quoted, or up to a tab and the time that may follow it.
fn one_name(text: &str) -> OsString {
    match names::unquote(text) {
        Some((name, _)) => name,
        None => OsString::from(text.split('\t').next().unwrap_or_default()),
    }
}

/// The two names of a `diff --git` line. Without quotes they are told apart by being the same but for
/// their prefixes; where they are not, other headers name the file.
fn two_names(text: &str) -> Option<(OsString, OsString)> {
    if let Some((old, rest)) = names::unquote(text) {
        return Some((old, one_name(rest.strip_prefix(' ')?)));
    }
    text.match_indices(' ').find_map(|(at, _)| {
        let (old, new) = (&text[..at], &text[at + 1..]);
        if new.starts_with('"') {
            return Some((old.into(), one_name(new)));
        }
        let (bare_old, bare_new) = without_prefixes(OsStr::new(old), OsStr::new(new));
        (bare_old == bare_new).then(|| (old.into(), new.into()))
    })
}

/// The two names without `a/` and `b/`, when both have them.
fn without_prefixes<'n>(old: &'n OsStr, new: &'n OsStr) -> (&'n OsStr, &'n OsStr) {
    let strip = |name: &'n OsStr, prefix: &str| {
        if name == NOBODY {
            return Some(name);
        }
        let rest = name.as_bytes().strip_prefix(prefix.as_bytes())?;
        Some(OsStr::from_bytes(rest))
    };
    let pairs = if old == NOBODY || new == NOBODY {
        &PREFIXES[..1]
    } else {
        PREFIXES
    };
    pairs
        .iter()
        .find_map(|(a, b)| strip(old, a).zip(strip(new, b)))
        .unwrap_or((old, new))
}

/// The hunks from a line on, and the line after them.
fn read_hunks(
    source: &Source<'_>,
    from: usize,
    faults: &mut Vec<ParseFault>,
) -> (Vec<Hunk>, usize) {
    let mut read = Vec::new();
    let mut index = from;
    while source.at(index).starts_with("@@") {
        let line = index + 1;
        let raw = source.at(index);
        if raw.starts_with("@@@") {
            faults.push(fault(
                line,
                "differences of a merge are not taken".to_owned(),
            ));
        }
        let numbers = numbers(raw);
        match hunks::body(source, index + 1, numbers.map(|(_, counts)| counts)) {
            Ok((lines, end)) => {
                index = end;
                read.push(Hunk {
                    line,
                    wanted: wanted(numbers),
                    lines,
                });
            }
            Err(fault) => {
                faults.push(fault);
                index += 1;
            }
        }
        while source.at(index).trim().is_empty() && index < source.lines.len() {
            index += 1;
        }
    }
    (read, index)
}

fn wanted(numbers: Option<(usize, Counts)>) -> Wanted {
    match numbers {
        // Without old lines, the number is that of the line before.
        Some((line, Counts { old: 0, .. })) => Wanted::Line(line),
        Some((line, _)) => Wanted::Line(line.saturating_sub(1)),
        None => Wanted::Anywhere,
    }
}

/// First old line and both counts of a `@@ -1,2 +3,4 @@` line.
fn numbers(raw: &str) -> Option<(usize, Counts)> {
    let mut words = raw.strip_prefix("@@ ")?.split(' ');
    let (line, old) = range(words.next()?.strip_prefix('-')?)?;
    let (_, new) = range(words.next()?.strip_prefix('+')?)?;
    Some((line, Counts { old, new }))
}

fn range(text: &str) -> Option<(usize, usize)> {
    let (line, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((line.parse().ok()?, count.parse().ok()?))
}
