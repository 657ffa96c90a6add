//! What meanings look like: the one mapping from tone to style, and from style to escape sequence.
//! Never decides whether colours are wanted.

use crate::line::{Line, Tone};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text as drawn;
use ratatui::widgets::Widget;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// Ends every style.
const PLAIN: &str = "\u{1b}[0m";

/// How a meaning is drawn. Only the 16 colours of every terminal, which its owner has chosen.
#[must_use]
pub fn style(tone: Tone) -> Style {
    let style = Style::new();
    match tone {
        Tone::Plain => style,
        Tone::Strong => style.add_modifier(Modifier::BOLD),
        Tone::Faint => style.add_modifier(Modifier::DIM),
        Tone::Good => style.fg(Color::Green),
        Tone::Live => style.fg(Color::Cyan),
        Tone::Warn => style.fg(Color::Yellow),
        Tone::Bad => style.fg(Color::Red),
    }
}

/// A line with escape sequences, without a line end.
#[must_use]
pub fn ansi(line: &Line) -> String {
    let mut text = String::new();
    for piece in line.pieces() {
        push(&mut text, style(piece.tone()), piece.text());
    }
    text
}

/// Lines as a widget: one row each, cut at the edges of its area.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a>(pub &'a [Line]);

impl Widget for Picture<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for (y, line) in (area.top()..area.bottom()).zip(self.0) {
            let spans = line.pieces().iter();
            let spans = spans.map(|piece| drawn::Span::styled(piece.text(), style(piece.tone())));
            let line = drawn::Line::from_iter(spans);
            buffer.set_line(area.x, y, &line, area.width);
        }
    }
}

/// The rows of a buffer with escape sequences, without blanks at their ends.
#[must_use]
pub fn rows(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let row = |y| {
        let mut text = String::new();
        let mut blanks = String::new();
        let mut x = area.left();
        while x < area.right() {
            let cell = &buffer[(x, y)];
            let style = Style::new().fg(cell.fg).add_modifier(cell.modifier);
            if cell.symbol() == " " {
                blanks.push(' ');
            } else {
                text.push_str(&std::mem::take(&mut blanks));
                push(&mut text, style, cell.symbol());
            }
            x += u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
        }
        text
    };
    (area.top()..area.bottom()).map(row).collect()
}

fn push(text: &mut String, style: Style, symbol: &str) {
    let codes = codes(style);
    if codes.is_empty() {
        text.push_str(symbol);
    } else if let Some(open) = text.strip_suffix(PLAIN).map(str::len)
        && text[..open]
            .rfind("\u{1b}[")
            .is_some_and(|at| text[at..].starts_with(&format!("\u{1b}[{codes}m")))
    {
        text.truncate(open);
        text.push_str(symbol);
        text.push_str(PLAIN);
    } else {
        // Writing to a String cannot fail.
        let _ = write!(text, "\u{1b}[{codes}m{symbol}{PLAIN}");
    }
}

/// The numbers of a style in an SGR sequence; empty for plain text.
fn codes(style: Style) -> &'static str {
    if style.add_modifier.contains(Modifier::BOLD) {
        return "1";
    }
    if style.add_modifier.contains(Modifier::DIM) {
        return "2";
    }
    match style.fg {
        Some(Color::Red) => "31",
        Some(Color::Green) => "32",
        Some(Color::Yellow) => "33",
        Some(Color::Cyan) => "36",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    const HARD_TEXTS: [&str; 6] = [
        "检查 日本語 ✅ e\u{301} 👩\u{200d}👩\u{200d}👧",
        "a\tb",
        "red \u{1b}[31mX",
        "a\rb",
        "zero\u{200b}width",
        "界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界",
    ];

    fn hard_lines() -> Vec<Line> {
        let line = |text: &&str| Line::new().and(Tone::Good, "● ").and(Tone::Plain, text);
        HARD_TEXTS.iter().map(line).collect()
    }

    fn buffer_of(lines: &[Line], width: u16, height: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        Picture(lines).render(buffer.area, &mut buffer);
        buffer
    }

    #[test]
    fn every_tone_but_plain_has_its_own_escape() {
        let tones = [
            Tone::Strong,
            Tone::Faint,
            Tone::Good,
            Tone::Live,
            Tone::Warn,
            Tone::Bad,
        ];
        let mut seen = std::collections::BTreeSet::new();
        for tone in tones {
            let text = ansi(&Line::new().and(tone, "x"));
            assert!(text.starts_with("\u{1b}[") && text.ends_with("x\u{1b}[0m"));
            assert!(seen.insert(text), "{tone:?} looks like another");
        }
        assert_eq!(ansi(&Line::from("x")), "x");
    }

    #[test]
    fn neighbours_of_one_style_share_an_escape() {
        let line = Line::new()
            .and(Tone::Good, "ab")
            .and(Tone::Bad, "c")
            .and(Tone::Plain, " d");
        let expected = "\u{1b}[32mab\u{1b}[0m\u{1b}[31mc\u{1b}[0m d";
        assert_eq!(ansi(&line), expected);
        assert_eq!(rows(&buffer_of(&[line], 9, 1)), [expected]);
    }

    #[test]
    fn no_cell_holds_a_control_character_in_any_window() {
        let lines = hard_lines();
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        for (width, height) in [
            (80, 24),
            (1, 1),
            (2, 2),
            (3, 10),
            (20, 5),
            (1, 24),
            (80, 24),
        ] {
            terminal.backend_mut().resize(width, height);
            terminal
                .draw(|frame| frame.render_widget(Picture(&lines), frame.area()))
                .expect("a frame");
            let buffer = terminal.backend().buffer();
            for cell in buffer.content() {
                assert!(!cell.symbol().chars().any(char::is_control), "{cell:?}");
            }
        }
    }

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        for width in 1..=20 {
            for row in rows(&buffer_of(&hard_lines(), width, 6)) {
                let plain = row.replace("\u{1b}[32m", "").replace(PLAIN, "");
                assert!(
                    crate::text::columns(&plain) <= usize::from(width),
                    "{plain:?}"
                );
            }
        }
    }
}
