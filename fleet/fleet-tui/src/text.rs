//! Texts from outside made fit for a terminal: control characters become visible, and a cut never
//! halves a character. Never styles: colour is put around a text after it went through here.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Stands at the end of a text that was cut.
const CUT_MARK: &str = "…";

/// Columns that a text takes in a terminal.
///
/// Counted cluster by cluster, as they are drawn; a control character counts as its visible form.
#[must_use]
pub fn columns(text: &str) -> usize {
    one_line(text).graphemes(true).map(cluster_columns).sum()
}

/// A text of one line: every control character, line ends and tabs included, in a visible form.
#[must_use]
pub fn one_line(text: &str) -> String {
    visible(text, Keep::Nothing)
}

/// A text of several lines: as [`one_line`], but line feeds and tabs stay what they are.
#[must_use]
pub fn many_lines(text: &str) -> String {
    visible(text, Keep::LinesAndTabs)
}

/// The start of a text that fits into `room` columns, on one line, marked with `…` when it was cut.
#[must_use]
pub fn fit(text: &str, room: usize) -> String {
    let shown = one_line(text);
    let mut kept = String::with_capacity(shown.len().min(room * 4));
    let mut used = 0;
    let mut end_with_mark = 0;
    for cluster in shown.graphemes(true) {
        let wanted = used + cluster_columns(cluster);
        if wanted > room {
            kept.truncate(end_with_mark);
            if room > 0 {
                kept.push_str(CUT_MARK);
            }
            return kept;
        }
        kept.push_str(cluster);
        used = wanted;
        if used < room {
            end_with_mark = kept.len();
        }
    }
    kept
}

/// [`fit`], then filled with blanks up to `room` columns.
#[must_use]
pub fn pad(text: &str, room: usize) -> String {
    let mut fitted = fit(text, room);
    let missing = room.saturating_sub(columns(&fitted));
    fitted.extend(std::iter::repeat_n(' ', missing));
    fitted
}

/// [`fit`], then moved to the right end of `room` columns: for numbers.
#[must_use]
pub fn pad_left(text: &str, room: usize) -> String {
    let fitted = fit(text, room);
    let missing = room.saturating_sub(columns(&fitted));
    " ".repeat(missing) + &fitted
}

/// Which control characters a text may keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    LinesAndTabs,
}

fn visible(text: &str, keep: Keep) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' if keep == Keep::LinesAndTabs => shown.push(character),
            '\0'..='\x1f' => shown.push(control_picture(character)),
            '\x7f' => shown.push('\u{2421}'),
            hidden if misleads(hidden) => shown.push_str(&format!("<{:04x}>", u32::from(hidden))),
            plain => shown.push(plain),
        }
    }
    shown
}

/// Unicode has a picture for each of the first 32 control characters, in their order.
fn control_picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Characters that steer a terminal, end a line or turn the reading order without being seen.
fn misleads(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

fn cluster_columns(cluster: &str) -> usize {
    cluster.width()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HARD_TEXTS: [&str; 9] = [
        "检查 日本語 ✅ e\u{301} 👩\u{200d}👩\u{200d}👧",
        "界界界界界界界界界界界界界界界界界界界界界界界界界界界界",
        "a\tb",
        "red \u{1b}[31mX",
        "a\rb",
        "zero\u{200b}width",
        "İstanbul",
        "\u{202e}drow\u{2028}next",
        "",
    ];

    fn check_fit(text: &str, room: usize, expected: &str) {
        assert_eq!(fit(text, room), expected, "{text:?} in {room}");
    }

    #[test]
    fn a_cut_never_halves_a_character() {
        check_fit("界界", 4, "界界");
        check_fit("界界", 3, "界…");
        check_fit("界界", 2, "…");
        check_fit("界界", 1, "…");
        check_fit("界界", 0, "");
        check_fit("e\u{301}tude", 2, "e\u{301}…");
        check_fit("👩\u{200d}👩\u{200d}👧 x", 3, "👩\u{200d}👩\u{200d}👧…");
        check_fit("plain", 5, "plain");
        check_fit("plain", 4, "pla…");
    }

    #[test]
    fn control_characters_become_visible() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected, "{text:?}");
        check("a\tb", "a␉b");
        check("red \u{1b}[31mX", "red ␛[31mX");
        check("a\rb\n", "a␍b␊");
        check("\u{9b}31m", "<009b>31m");
        check("\u{202e}x", "<202e>x");
        check("\u{7f}", "␡");
        assert_eq!(many_lines("a\tb\r\nc\u{1b}"), "a\tb␍\nc␛");
    }

    #[test]
    fn padding_fills_to_the_column() {
        assert_eq!(pad("界", 4), "界  ");
        assert_eq!(pad_left("12", 4), "  12");
        assert_eq!(pad_left("123456", 4), "123…");
    }

    #[test]
    fn hard_texts_keep_to_every_width() {
        for text in HARD_TEXTS {
            for room in 0..=20 {
                assert!(columns(&fit(text, room)) <= room, "{text:?} in {room}");
                assert_eq!(columns(&pad(text, room)), room, "{text:?} in {room}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_keeps_to_its_room(text in "\\PC{0,30}|[\\x00-\\x{1f}a界\u{301}\u{200d}👩]{0,20}", room in 0_usize..30) {
            let fitted = fit(&text, room);
            prop_assert!(columns(&fitted) <= room);
            prop_assert!(!fitted.chars().any(char::is_control));
            prop_assert!(columns(&text) > room || fitted == one_line(&text));
        }
    }
}
