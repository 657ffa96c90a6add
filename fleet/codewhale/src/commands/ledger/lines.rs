//! Whole lines on their way to the output, or to a file that was asked for. Never writes over a file.

use crate::arguments::Format;
use crate::output::Output;
use crate::report::Report;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Hands whole lines on to the output. Stops its writer once the reader of data has gone away.
pub(super) struct Lines<'a> {
    output: &'a Output,
    format: Format,
    begun: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(output: &'a Output, format: Format) -> Self {
        Self {
            output,
            format,
            begun: Vec::new(),
        }
    }

    fn hand_on(&mut self) {
        let text = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun.clear();
        match self.format {
            Format::Text => self.output.text(&text),
            Format::Json => self.output.ready_made(&text),
        }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.output.is_closed() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun
                .extend_from_slice(piece.strip_suffix(b"\n").unwrap_or(piece));
            if piece.ends_with(b"\n") {
                self.hand_on();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            self.hand_on();
        }
    }
}

/// A file that was asked for. It must not exist: nothing is written over, least of all a ledger.
pub(super) struct NewFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl NewFile {
    pub(super) fn create(path: &Path) -> Result<Self, Report> {
        let shown = path.display();
        let file = File::create_new(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Report::usage(format!("`{shown}` is there already"))
                .hint("name another file, or take that one away"),
            _ => Report::storage(format!("`{shown}` cannot be written")).because(&error),
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
        })
    }

    /// Makes sure that all of it is there.
    pub(super) fn finish(mut self) -> Result<(), Report> {
        let flushed = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        flushed.map_err(|error| {
            Report::storage(format!("`{}` cannot be written", self.path.display())).because(&error)
        })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
