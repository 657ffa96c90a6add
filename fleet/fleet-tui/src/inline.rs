//! A view that is drawn again and again at the end of what a terminal shows. It moves relative to the
//! cursor only: it never asks the terminal a question, changes its mode or hides the cursor, so there
//! is nothing to restore, and a run put into the background is not stopped by it.

use crate::line::Line;
use crate::paint::{self, Picture};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use std::io::{self, Write};

/// Terminals that know it show everything up to [`SHOW`] at once; others pass over it.
const HOLD: &str = "\u{1b}[?2026h";
const SHOW: &str = "\u{1b}[?2026l";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// The view. Dropping it takes it off the screen.
#[derive(Debug)]
pub struct Inline<W: Write> {
    writer: W,
    shown: Vec<Line>,
    width: u16,
}

impl<W: Write> Inline<W> {
    /// A view of nothing yet.
    pub fn new(writer: W) -> Self {
        Self {
            writer,
            shown: Vec::new(),
            width: 0,
        }
    }

    /// Replaces what is shown, in a terminal of `width` columns. The caller keeps the lines fewer than
    /// the terminal has, and no wider.
    ///
    /// # Errors
    /// When the terminal cannot be written.
    pub fn draw(&mut self, lines: Vec<Line>, width: u16) -> io::Result<()> {
        let erased = self.erasing(width);
        self.shown = lines;
        self.width = width;
        let painted = self.painted();
        self.put(&[HOLD, &erased, &painted, SHOW])
    }

    /// Leaves lines above the view that stay when it goes.
    ///
    /// # Errors
    /// When the terminal cannot be written.
    pub fn leave(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut left = String::new();
        for line in lines {
            left.push_str(&paint::ansi(line));
            left.push_str("\r\n");
        }
        let erased = self.erasing(self.width);
        let painted = self.painted();
        self.put(&[HOLD, &erased, &left, &painted, SHOW])
    }

    /// Takes the view off the screen.
    ///
    /// # Errors
    /// When the terminal cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        let erased = self.erasing(self.width);
        self.shown.clear();
        self.put(&[&erased])
    }

    /// Moves to where the view starts and clears from there. A terminal that became narrower has
    /// broken the lines anew, so each may take several rows by now.
    fn erasing(&self, width: u16) -> String {
        let width = usize::from(width.max(1));
        let drawn = self
            .shown
            .iter()
            .map(|line| line.columns().min(usize::from(self.width)));
        match drawn.map(|columns| columns.div_ceil(width).max(1)).sum() {
            0_usize => String::new(),
            1 => format!("\r{CLEAR_BELOW}"),
            rows => format!("\r\u{1b}[{}A{CLEAR_BELOW}", rows - 1),
        }
    }

    fn painted(&self) -> String {
        let height = u16::try_from(self.shown.len()).unwrap_or(u16::MAX);
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.width, height));
        Picture(&self.shown).render(buffer.area, &mut buffer);
        paint::rows(&buffer).join("\r\n")
    }

    fn put(&mut self, parts: &[&str]) -> io::Result<()> {
        self.writer.write_all(parts.concat().as_bytes())?;
        self.writer.flush()
    }
}

impl<W: Write> Drop for Inline<W> {
    fn drop(&mut self) {
        // The terminal may be gone by now, and with it what was to be cleared.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests;
