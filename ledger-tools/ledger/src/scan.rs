//! A segment cut into lines, with places, in bounded memory. Never judges a line.

use crate::disk::DiskFile;
use crate::format::LINE_MAX_BYTES;
use std::io::{self, BufRead, BufReader, Read};

const BUFFER_BYTES: usize = 256 * 1024;

/// What lies between two line feeds.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    /// Where it begins.
    pub(crate) byte: u64,
    /// Its length in the file, line feed included.
    pub(crate) length: u64,
    /// Without the line feed; of a piece that is too long only the beginning.
    pub(crate) bytes: &'a [u8],
    /// Whether a line feed ends it; only the last piece may lack one.
    pub(crate) ended: bool,
}

impl Piece<'_> {
    /// True when it is longer than a line may be.
    pub(crate) fn is_too_long(&self) -> bool {
        self.length > LINE_MAX_BYTES as u64
    }
}

/// Reads the lines of a file from one place to another.
pub(crate) struct Lines<'f> {
    reader: BufReader<Section<'f>>,
    byte: u64,
    line: Vec<u8>,
}

impl<'f> Lines<'f> {
    /// The lines from `start` to `end`. Fixing the end first is what makes reading beside a writer
    /// safe: a line that is being written can only be the last one.
    pub(crate) fn new(file: &'f dyn DiskFile, start: u64, end: u64) -> Self {
        let section = Section {
            file,
            offset: start,
            end,
        };
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, section),
            byte: start,
            line: Vec::new(),
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        self.line.clear();
        let mut limited = self.reader.by_ref().take(LINE_MAX_BYTES as u64 + 1);
        limited.read_until(b'\n', &mut self.line)?;
        let mut length = self.line.len() as u64;
        let mut ended = self.line.last() == Some(&b'\n');
        if ended {
            self.line.pop();
        } else if length > LINE_MAX_BYTES as u64 {
            let skipped = self.reader.skip_until(b'\n')?;
            length += skipped as u64;
            ended = skipped > 0;
        }
        if length == 0 {
            return Ok(None);
        }
        let byte = self.byte;
        self.byte += length;
        Ok(Some(Piece {
            byte,
            length,
            bytes: &self.line,
            ended,
        }))
    }
}

/// A part of a file as a reader.
struct Section<'f> {
    file: &'f dyn DiskFile,
    offset: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let read = self.file.read_at(&mut buffer[..room], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
