//! The lock for life on the file `lock`: the system's exclusive lock says who may write, the text in
//! the file is for people. A dead process holds nothing, whatever its text says. Never signals a
//! process, never removes the file: two processes could then hold two locks of one name.

use crate::error::{OpenError, WriteError};
use crate::format::{Epoch, LOCK};
use fs2::FileExt as _;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that holds, or held, a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since the boot. A reused pid has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Which boot of the machine it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The machine's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The epoch of the lines it writes, once it knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u32>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {}", self.pid)?;
        match &self.host {
            Some(host) if self.host != read_line("/proc/sys/kernel/hostname") => {
                write!(f, " on {host}")
            }
            _ => Ok(()),
        }
    }
}

impl Holder {
    fn this_process(epoch: Option<Epoch>) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start: start_of(pid),
            boot: read_line("/proc/sys/kernel/random/boot_id"),
            host: read_line("/proc/sys/kernel/hostname"),
            epoch: epoch.map(|epoch| epoch.0),
        }
    }

    /// True unless it is known to be gone.
    fn may_live(&self) -> bool {
        let same_boot =
            self.boot.is_none() || self.boot == read_line("/proc/sys/kernel/random/boot_id");
        same_boot && (self.start.is_none() || self.start == start_of(self.pid))
    }
}

/// Start time of a living process: field 22 of `/proc/<pid>/stat`, counted after the name in
/// parentheses, which may itself hold spaces and parentheses. A process that has ended is listed, in
/// state `Z` or `X`, until its parent collects it: it holds nothing any more.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?.parse().ok()?;
    (!has_ended).then_some(start)
}

fn read_line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim_end().to_owned())
}

/// What the holder before left behind because it did not close the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It said who it was.
    By(Holder),
    /// Its text says nothing.
    Unknown,
}

/// Text of a lock that was let go.
const RELEASED: &str = "released\n";

/// The lock while it is held.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of a run's folder; answers what the holder before left, if it did not let go.
    pub(crate) fn take(folder: &Path) -> Result<(Self, Option<Left>), OpenError> {
        let path = folder.join(LOCK);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(WriteError::io("open", &path))?;
        match claim(&mut file) {
            Ok(Claim::Taken) => {}
            Ok(Claim::Held(holder)) => {
                return Err(OpenError::Held {
                    path: folder.to_owned(),
                    holder,
                });
            }
            Err(error) => return Err(WriteError::io("lock", &path)(error).into()),
        }
        let left = left_behind(&text_of(&mut file));
        let mut lock = Self { file, path };
        lock.say(None)?;
        Ok((lock, left))
    }

    /// Writes who holds it.
    pub(crate) fn say(&mut self, epoch: Option<Epoch>) -> Result<(), WriteError> {
        let holder = Holder::this_process(epoch);
        let mut text = serde_json::to_string(&holder).expect("texts and numbers are JSON");
        text.push('\n');
        self.replace(&text)
    }

    /// Marks it as let go; dropping it then lets go.
    pub(crate) fn release(mut self) -> Result<(), WriteError> {
        self.replace(RELEASED)
    }

    fn replace(&mut self, text: &str) -> Result<(), WriteError> {
        let mut write = || {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(text.as_bytes())?;
            self.file.set_len(text.len() as u64)
        };
        write().map_err(WriteError::io("write", &self.path))
    }
}

/// Who holds the ledger in `folder`: by its own words, and only when that process lives. Touches no
/// lock, so that looking never keeps a writer from taking it.
#[must_use]
pub fn holder(folder: &Path) -> Option<Holder> {
    let mut file = File::open(folder.join(LOCK)).ok()?;
    match left_behind(&text_of(&mut file)) {
        Some(Left::By(holder)) if holder.may_live() => Some(holder),
        _ => None,
    }
}

fn text_of(file: &mut File) -> String {
    const TEXT_MAX_BYTES: u64 = 4096;
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(TEXT_MAX_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

fn left_behind(text: &str) -> Option<Left> {
    match serde_json::from_str(text) {
        Ok(holder) => Some(Left::By(holder)),
        Err(_) if text == RELEASED => None,
        Err(_) => Some(Left::Unknown),
    }
}

/// What trying to take the lock led to.
enum Claim {
    /// It is taken.
    Taken,
    /// Somebody has it; says who, when they say so.
    Held(Option<Holder>),
}

/// Takes the lock, or finds who has it. While it is taken and names no living process it is tried
/// again for a second: a holder that has just taken it may not have written its name yet, and a child
/// that a dead or finished holder was about to start keeps the lock until it runs its own program.
fn claim(file: &mut File) -> std::io::Result<Claim> {
    const TRIES: usize = 100;
    const PAUSE: Duration = Duration::from_millis(10);
    for _ in 0..TRIES {
        match file.try_lock_exclusive() {
            Ok(()) => return Ok(Claim::Taken),
            Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => {}
            Err(error) => return Err(error),
        }
        if let Some(Left::By(holder)) = left_behind(&text_of(file))
            && holder.may_live()
        {
            return Ok(Claim::Held(Some(holder)));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Claim::Held(None))
}
