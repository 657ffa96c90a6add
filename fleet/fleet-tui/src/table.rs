//! Columns that fit themselves into a room: each is as wide as its texts, and the least important go
//! first when there is too little. Never wraps a row.

use crate::line::{Line, Tone};
use crate::text;

/// Blanks between two columns.
const GAP: usize = 2;

/// The last column, of free text, is cut down to this before other columns go.
const LEAST_OF_LAST: usize = 20;

/// One column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its texts, one for each row.
    pub cells: Vec<(Tone, String)>,
    /// Where its texts stand.
    pub side: Side,
    /// Widest it may be.
    pub most: usize,
    /// The larger, the longer it stays when room is scarce. The largest never goes.
    pub rank: u8,
}

/// Where the texts of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At the left, as words.
    Left,
    /// At the right, as numbers.
    Right,
}

impl Column {
    fn columns(&self) -> usize {
        let widest = self.cells.iter().map(|(_, cell)| text::columns(cell)).max();
        widest.unwrap_or(0).min(self.most)
    }
}

/// The rows of a table in `room` columns. The last column takes what is left.
#[must_use]
pub fn rows(columns: Vec<Column>, room: usize) -> Vec<Line> {
    let count = columns.iter().map(|column| column.cells.len()).max();
    let kept = fitting(columns, room);
    (0..count.unwrap_or(0))
        .map(|row| one_row(&kept, row).cut(room).trimmed())
        .collect()
}

/// The columns that fit, each with its width.
fn fitting(columns: Vec<Column>, room: usize) -> Vec<(Column, usize)> {
    let mut kept: Vec<(Column, usize)> = columns
        .into_iter()
        .map(|column| {
            let width = column.columns();
            (column, width)
        })
        .filter(|(_, width)| *width > 0)
        .collect();
    loop {
        let gaps = GAP * kept.len().saturating_sub(1);
        let wanted = gaps + kept.iter().map(|(_, width)| width).sum::<usize>();
        if wanted <= room || kept.len() <= 1 {
            return kept;
        }
        if let Some((_, last)) = kept.last_mut()
            && *last + room >= wanted + LEAST_OF_LAST
        {
            *last -= wanted - room;
            return kept;
        }
        let least = (0..kept.len())
            .min_by_key(|at| kept[*at].0.rank)
            .unwrap_or(0);
        kept.remove(least);
    }
}

fn one_row(columns: &[(Column, usize)], row: usize) -> Line {
    let mut line = Line::new();
    for (at, (column, width)) in columns.iter().enumerate() {
        let Some((tone, cell)) = column.cells.get(row) else {
            continue;
        };
        if at > 0 {
            line.push(Tone::Plain, &" ".repeat(GAP));
        }
        let is_last = at + 1 == columns.len();
        let cell = match column.side {
            Side::Left if is_last => text::fit(cell, *width),
            Side::Left => text::pad(cell, *width),
            Side::Right => text::pad_left(cell, *width),
        };
        line.push(*tone, &cell);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str], side: Side, rank: u8) -> Column {
        Column {
            cells: cells
                .iter()
                .map(|c| (Tone::Plain, (*c).to_owned()))
                .collect(),
            side,
            most: 30,
            rank,
        }
    }

    fn check(room: usize, expected: &[&str]) {
        let columns = vec![
            column(&["a", "bcd"], Side::Left, 9),
            column(&["7", "1234"], Side::Right, 1),
            column(&["a long text at the end", "x"], Side::Left, 5),
        ];
        let shown: Vec<String> = rows(columns, room).iter().map(Line::plain).collect();
        assert_eq!(shown, expected, "{room}");
    }

    #[test]
    fn columns_are_as_wide_as_their_texts() {
        check(40, &["a       7  a long text at the end", "bcd  1234  x"]);
    }

    #[test]
    fn the_last_column_is_cut_before_others_go() {
        check(32, &["a       7  a long text at the e…", "bcd  1234  x"]);
    }

    #[test]
    fn the_least_important_goes_first() {
        check(30, &["a    a long text at the end", "bcd  x"]);
        check(6, &["a", "bcd"]);
        check(2, &["a", "b…"]);
        check(0, &["", ""]);
    }

    #[test]
    fn a_column_without_texts_takes_no_room() {
        let columns = vec![
            column(&["a"], Side::Left, 9),
            column(&[""], Side::Left, 8),
            column(&["b"], Side::Left, 7),
        ];
        assert_eq!(rows(columns, 10)[0].plain(), "a  b");
    }
}
