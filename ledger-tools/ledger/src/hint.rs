//! The file `durable`: the last line known to be on disk, written after each sync and not synced
//! itself. It may be old or torn, never ahead; what does not fit its own check counts as absent.

use crate::disk::{Disk, DiskFile, Mode, read_small, write_all_at};
use crate::error::WriteError;
use crate::format::{DURABLE, Head, SUM_BYTES, Seq, Sum};
use std::io;
use std::path::PathBuf;

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    /// The last durable line.
    pub(crate) seq: Seq,
    /// Its sum.
    pub(crate) sum: Sum,
}

/// Longest text of a hint: one with a number of 20 digits.
const HINT_MAX_BYTES: u64 = 120;

const CHECK_KEY: &str = r#","check":""#;

impl Hint {
    fn text(&self) -> String {
        let Self { seq, sum } = self;
        let body = format!(r#"{{"seq":{seq},"sum":"{sum}""#);
        let check = Sum::chained(None, body.as_bytes());
        format!("{body}{CHECK_KEY}{check}\"}}\n")
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (body, check) = text.split_once(CHECK_KEY)?;
        let check = check.strip_suffix("\"}\n")?;
        if Sum::chained(None, body.as_bytes()).as_str() != check {
            return None;
        }
        let (seq, sum) = body.strip_prefix(r#"{"seq":"#)?.split_once(r#","sum":""#)?;
        let sum = Sum::parse(sum.as_bytes().get(..SUM_BYTES)?)?;
        Some(Self {
            seq: Seq(seq.parse().ok()?),
            sum,
        })
    }

    /// Reads the hint of a folder.
    pub(crate) fn read(disk: &dyn Disk) -> io::Result<Option<Self>> {
        Ok(read_small(disk, DURABLE)?.and_then(|text| Self::parse(&text)))
    }
}

/// The file, held open by a writer.
pub(crate) struct HintFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
}

impl HintFile {
    /// Opens the file. It keeps what it says until [`Self::say`], unless it is longer than any hint.
    pub(crate) fn open(disk: &dyn Disk) -> Result<Self, WriteError> {
        let path = disk.path(DURABLE);
        let open = || {
            disk.open(DURABLE, Mode::CreateOrKeep)
                .map_err(WriteError::io("open", &path))
        };
        let mut file = open()?;
        let length = file.length().map_err(WriteError::io("look at", &path))?;
        if length > HINT_MAX_BYTES {
            disk.remove(DURABLE)
                .map_err(WriteError::io("remove", &path))?;
            file = open()?;
        }
        Ok(Self { file, path })
    }

    /// Writes that `head` is durable. Numbers only grow, so the text never gets shorter.
    pub(crate) fn say(&self, head: &Head) -> Result<(), WriteError> {
        let hint = Hint {
            seq: head.seq,
            sum: head.sum,
        };
        write_all_at(&*self.file, hint.text().as_bytes(), 0)
            .map_err(WriteError::io("write", &self.path))
    }

    /// Makes what was last said durable.
    pub(crate) fn sync(&self) -> Result<(), WriteError> {
        self.file.sync().map_err(WriteError::io("sync", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::Hint;
    use crate::format::{Seq, Sum};

    #[test]
    fn a_hint_is_read_back_and_any_change_makes_it_absent() {
        let hint = Hint {
            seq: Seq(412),
            sum: Sum::chained(None, b"x"),
        };
        let text = hint.text();
        insta::assert_snapshot!(text, @r#"{"seq":412,"sum":"2d711642b726b04401627ca9fbac32f5","check":"8d0208995ac020ac5a945621a0f237b1"}"#);
        assert_eq!(Hint::parse(text.as_bytes()), Some(hint));
        for index in 0..text.len() {
            assert_eq!(
                Hint::parse(&text.as_bytes()[..index]),
                None,
                "cut at {index}"
            );
            let mut flipped = text.clone().into_bytes();
            flipped[index] ^= 1;
            assert_eq!(Hint::parse(&flipped), None, "flipped at {index}");
        }
    }
}
