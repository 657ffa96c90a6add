//! The view on a screen that understands what the view writes, and nothing else.

use super::*;
use std::cell::RefCell;
use std::rc::Rc;

/// A screen without an upper end: rows of text and a cursor. It panics over what it does not know.
#[derive(Default)]
struct Screen {
    rows: Vec<String>,
    row: usize,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Screen>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).expect("whole characters");
        self.0.borrow_mut().take(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    fn take(&mut self, text: &str) {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            rest = &rest[next.len_utf8()..];
            match next {
                '\u{1b}' => rest = self.escape(rest),
                '\r' => {}
                '\n' => self.row += 1,
                plain => self.at_cursor().push(plain),
            }
        }
    }

    fn escape<'a>(&mut self, rest: &'a str) -> &'a str {
        let rest = rest.strip_prefix('[').expect("only CSI sequences");
        let end = rest
            .find(|c: char| c.is_ascii_alphabetic())
            .expect("an end");
        let (numbers, command) = (&rest[..end], &rest[end..=end]);
        match command {
            "A" => self.row -= numbers.parse::<usize>().expect("a number"),
            "J" => {
                self.rows.truncate(self.row);
            }
            "h" | "l" => assert_eq!(numbers, "?2026", "a mode that must be restored"),
            "m" => {}
            other => panic!("unknown sequence {other}"),
        }
        &rest[end + 1..]
    }

    fn at_cursor(&mut self) -> &mut String {
        if self.rows.len() <= self.row {
            self.rows.resize(self.row + 1, String::new());
        }
        &mut self.rows[self.row]
    }

    fn text(&self) -> String {
        self.rows.join("|")
    }
}

fn lines(texts: &[&str]) -> Vec<Line> {
    texts.iter().map(|text| Line::from(*text)).collect()
}

#[test]
fn a_view_replaces_itself_and_leaves_nothing() {
    let screen = Shared::default();
    let shown = || screen.0.borrow().text();
    let mut view = Inline::new(screen.clone());
    view.draw(lines(&["one", "two", "three"]), 20)
        .expect("drawn");
    assert_eq!(shown(), "one|two|three");
    view.draw(lines(&["1", "2"]), 20).expect("drawn");
    assert_eq!(shown(), "1|2");
    view.draw(lines(&["1", "2", "3", "4"]), 20).expect("drawn");
    assert_eq!(shown(), "1|2|3|4");
    drop(view);
    assert_eq!(shown(), "");
}

#[test]
fn lines_left_above_stay() {
    let screen = Shared::default();
    let shown = || screen.0.borrow().text();
    let mut view = Inline::new(screen.clone());
    view.draw(lines(&["one", "two"]), 20).expect("drawn");
    view.leave(&lines(&["done: a"])).expect("left");
    assert_eq!(shown(), "done: a|one|two");
    view.leave(&lines(&["done: b"])).expect("left");
    assert_eq!(shown(), "done: a|done: b|one|two");
    view.clear().expect("cleared");
    assert_eq!(shown(), "done: a|done: b");
}

#[test]
fn a_narrower_terminal_has_more_rows_to_clear() {
    let view = Inline {
        writer: io::sink(),
        shown: lines(&["0123456789", "界界界", ""]),
        width: 10,
    };
    let check = |width, expected: &str| assert_eq!(view.erasing(width), expected, "{width}");
    check(10, "\r\u{1b}[2A\u{1b}[J");
    check(5, "\r\u{1b}[4A\u{1b}[J");
    check(80, "\r\u{1b}[2A\u{1b}[J");
    check(0, "\r\u{1b}[16A\u{1b}[J");
}

#[test]
fn a_line_wider_than_the_terminal_is_cut() {
    let screen = Shared::default();
    let mut view = Inline::new(screen.clone());
    view.draw(lines(&["0123456789"]), 4).expect("drawn");
    assert_eq!(screen.0.borrow().text(), "0123");
    view.draw(lines(&["0123456789"]), 80).expect("drawn");
    assert_eq!(screen.0.borrow().text(), "0123456789");
}
