//! Shows what a change really changed, in few lines. Never shows a line that stayed.

use super::text::shortened;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;
use std::time::Duration;

/// Most bytes of a shown change.
const SHOWN_MAX_BYTES: usize = 8 * 1024;

/// Most bytes of one shown line.
const LINE_MAX_BYTES: usize = 500;

/// Beyond this the smallest difference is no longer looked for.
const SEARCH_MAX: Duration = Duration::from_millis(200);

/// A change of a text: how many lines came and went, and which.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Lines added.
    pub(crate) added: usize,
    /// Lines removed.
    pub(crate) removed: usize,
    /// Hunks without context, bounded, with a note of how many lines are not shown.
    pub(crate) lines: String,
}

/// The difference between two texts.
pub(crate) fn show(before: &str, after: &str) -> Shown {
    let diff = TextDiff::configure()
        .timeout(SEARCH_MAX)
        .diff_lines(before, after);
    let mut shown = Shown {
        added: 0,
        removed: 0,
        lines: String::new(),
    };
    let mut left_out = 0usize;
    for hunk in diff.unified_diff().context_radius(0).iter_hunks() {
        let mut pending = Some(hunk.header().to_string());
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => continue,
            };
            if sign == '+' {
                shown.added += 1;
            } else {
                shown.removed += 1;
            }
            if shown.lines.len() > SHOWN_MAX_BYTES {
                left_out += 1;
                continue;
            }
            if let Some(header) = pending.take() {
                shown.lines.push_str(header.trim_end());
                shown.lines.push('\n');
            }
            let line = change.value().trim_end_matches(['\r', '\n']);
            shown.lines.push(sign);
            shown.lines.push_str(&shortened(line, 0, LINE_MAX_BYTES));
            shown.lines.push('\n');
        }
    }
    if left_out > 0 {
        let _ = writeln!(shown.lines, "[… {left_out} more changed lines …]");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_real_change_is_shown() {
        let shown = show("a\r\nb\r\nc\r\n", "a\r\nB\r\nnew\r\nc\r\n");
        insta::assert_snapshot!(shown.lines, @r"
        @@ -2 +2,2 @@
        -b
        +B
        +new
        ");
        assert_eq!((shown.added, shown.removed), (2, 1));
    }

    #[test]
    fn a_large_change_is_bounded_and_counted_whole() {
        let after: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        let shown = show("", &after);
        assert_eq!((shown.added, shown.removed), (5000, 0));
        assert!(shown.lines.len() < SHOWN_MAX_BYTES + 100);
        let lines = shown.lines.matches("\n+").count();
        let note = format!("[… {} more changed lines …]\n", 5000 - lines);
        assert!(shown.lines.ends_with(&note), "{}", shown.lines);
    }
}
