//! A file cut at its line feeds, in bounded memory. Never judges what it cuts.

use std::io::{self, BufRead, BufReader, Read, Take};

/// Longest line that the format allows, line feed included.
pub(crate) const LINE_MAX_BYTES: u64 = 1024 * 1024;

/// What lies between two line feeds.
pub(crate) struct Piece<'a> {
    /// Which piece of the file, counted from 1.
    pub(crate) number: u64,
    /// Where it begins.
    pub(crate) byte: u64,
    /// Its length, line feed included.
    pub(crate) length: u64,
    /// Without the line feed; only the beginning of one that is too long.
    pub(crate) bytes: &'a [u8],
}

/// A piece that is held.
#[derive(Default)]
struct Held {
    number: u64,
    byte: u64,
    length: u64,
    bytes: Vec<u8>,
}

/// The pieces of a file, each together with the one after it.
pub(crate) struct Pieces {
    reader: BufReader<Take<Box<dyn Read>>>,
    current: Held,
    ahead: Held,
}

impl Pieces {
    /// The pieces of the first `length` bytes of `file`; what a writer adds meanwhile is not looked at.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn of(file: Box<dyn Read>, length: u64) -> io::Result<Self> {
        let mut pieces = Self {
            reader: BufReader::with_capacity(256 * 1024, file.take(length)),
            current: Held::default(),
            ahead: Held::default(),
        };
        pieces.look_ahead()?;
        Ok(pieces)
    }

    /// The next piece, and the one after it.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Piece<'_>, Option<Piece<'_>>)>> {
        if self.ahead.length == 0 {
            return Ok(None);
        }
        std::mem::swap(&mut self.current, &mut self.ahead);
        self.look_ahead()?;
        let ahead = (self.ahead.length > 0).then(|| self.ahead.piece());
        Ok(Some((self.current.piece(), ahead)))
    }

    /// Reads the piece after the current one; at the end of the file it has no length.
    fn look_ahead(&mut self) -> io::Result<()> {
        let Held {
            number,
            byte,
            length,
            bytes,
        } = &mut self.ahead;
        *number = self.current.number + 1;
        *byte = self.current.byte + self.current.length;
        bytes.clear();
        let mut limited = self.reader.by_ref().take(LINE_MAX_BYTES + 1);
        *length = limited.read_until(b'\n', bytes)? as u64;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if *length > LINE_MAX_BYTES {
            *length += self.reader.skip_until(b'\n')? as u64;
        }
        Ok(())
    }
}

impl Held {
    fn piece(&self) -> Piece<'_> {
        Piece {
            number: self.number,
            byte: self.byte,
            length: self.length,
            bytes: &self.bytes,
        }
    }
}
