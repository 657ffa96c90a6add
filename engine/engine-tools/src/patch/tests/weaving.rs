//! Bytes: line ends, the last newline, the byte-order mark, and patches as git would make them.

use super::files::{Memory, of_one};
use proptest::prelude::*;
use similar::TextDiff;

#[track_caller]
fn check(text: &str, hunks: &str, expected: &str) {
    assert_eq!(
        of_one(text, hunks).as_deref(),
        Ok(expected),
        "{text:?} {hunks:?}"
    );
}

#[test]
fn line_ends_are_those_of_the_text() {
    check(
        "alpha\r\nbeta\r\ngamma\r\n",
        "@@ -1,2 +1,3 @@\n-alpha\n-beta\n+alpha\n+BETA\n+new\n",
        "alpha\r\nBETA\r\nnew\r\ngamma\r\n",
    );
    check(
        "a\nb\r\nc\n",
        "@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
        "A\nb\r\nc\n",
    );
    check(
        "a\nb\r\nc\n",
        "@@ -2 +2,2 @@\n-b\n+B1\n+B2\n",
        "a\nB1\r\nB2\r\nc\n",
    );
    check(
        "50%\r100%\nend\n",
        "@@ -2 +2 @@\n-end\n+END\n",
        "50%\r100%\nEND\n",
    );
    check(
        "one\ntwo\n",
        "@@ -1,2 +1,2 @@\n-one\r\n-two\r\n+1\r\n+2\r\n",
        "1\n2\n",
    );
    check(
        "a\r\nb\r\n",
        "@@ -1,2 +1,3 @@\n a\n+new\n b\n",
        "a\r\nnew\r\nb\r\n",
    );
    check("a\r\nb\r\n", "@@ -1,0 +2 @@\n+new\n", "a\r\nnew\r\nb\r\n");
    check("a\r\nb\r\n", "@@ -0,0 +1 @@\n+new\n", "new\r\na\r\nb\r\n");
}

#[test]
fn a_patch_that_knows_the_line_ends_may_change_them() {
    check("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n", "a\r\nb\n");
    check(
        "a\r\nb\r\n",
        "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n",
        "a\nb\r\n",
    );
    check("a\r\r\nb\n", "@@ -1 +1 @@\n-a\r\r\n+A\r\r\n", "A\r\r\nb\n");
}

#[test]
fn a_whole_patch_in_cr_lf_is_read_as_one_in_lf() {
    let patch = "--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n";
    let check = |text: &str, expected: &str| {
        let after = Memory::of([("f", text)]).patched(patch);
        assert_eq!(after, Ok(Memory::of([("f", expected)])));
    };
    check("a\n", "b\n");
    check("a\r\n", "b\r\n");
}

#[test]
fn the_last_newline_is_the_files_own_business() {
    check(
        "one\ntwo",
        "@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n",
        "ONE\ntwo",
    );
    check(
        "one\ntwo",
        "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
        "one\nTWO",
    );
    check(
        "one\ntwo\n\n",
        "@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n",
        "ONE\ntwo\n\n",
    );
    check(
        "ONE\ntwo\n\n",
        "@@ -1,2 +1,2 @@\n-ONE\n+one\n two\n",
        "one\ntwo\n\n",
    );
    check(
        "one\ntwo",
        "@@ -1,2 +1,3 @@\n one\n two\n+three\n",
        "one\ntwo\nthree",
    );
    check(
        "one\r\ntwo",
        "@@ -1,2 +1,3 @@\n one\n two\n+three\n",
        "one\r\ntwo\r\nthree",
    );
    check("one\ntwo", "@@ -1,2 +1 @@\n one\n-two\n", "one\n");
    check("", "@@ -0,0 +1 @@\n+x\n", "x\n");
    check("", "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n", "x");
}

#[test]
fn a_note_about_the_last_newline_is_obeyed() {
    let note = "\\ No newline at end of file\n";
    check("one\n", &format!("@@ -1 +1 @@\n-one\n+one\n{note}"), "one");
    check("one", &format!("@@ -1 +1 @@\n-one\n{note}+one\n"), "one\n");
    check(
        "one",
        &format!("@@ -1 +1 @@\n-one\n{note}+two\n{note}"),
        "two",
    );
    check(
        "a\r\nb",
        &format!("@@ -1,2 +1,2 @@\n-a\n+A\n b\n{note}"),
        "A\r\nb",
    );
    check(
        "a\r\nb",
        &format!("@@ -1,2 +1,2 @@\n a\n-b\n{note}+B\n"),
        "a\r\nB\r\n",
    );
    check(
        "a\r\nb\r\n",
        &format!("@@ -2 +2 @@\n-b\n+B\n{note}"),
        "a\r\nB",
    );
    check(
        "a\nx\r",
        &format!("@@ -2 +2 @@\n-x\r\n{note}+y\r\n{note}"),
        "a\ny\r",
    );
}

#[test]
fn a_byte_order_mark_stays_whether_the_patch_shows_it_or_not() {
    check("\u{FEFF}a\n", "@@ -1 +1 @@\n-a\n+b\n", "\u{FEFF}b\n");
    check(
        "\u{FEFF}a\n",
        "@@ -1 +1 @@\n-\u{FEFF}a\n+\u{FEFF}b\n",
        "\u{FEFF}b\n",
    );
    check("\u{FEFF}a\n", "@@ -1 +1 @@\n-\u{FEFF}a\n+b\n", "b\n");
    check("a\n", "@@ -1 +1 @@\n-a\n+\u{FEFF}a\n", "\u{FEFF}a\n");
}

#[test]
fn several_hunks_go_to_their_places_in_any_order() {
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let first = "@@ -2 +2,2 @@\n-2\n+two\n+more\n";
    let last = "@@ -8,2 +9 @@\n 8\n-9\n";
    let expected = "1\ntwo\nmore\n3\n4\n5\n6\n7\n8\n";
    check(text, &format!("{first}{last}"), expected);
    check(text, &format!("{last}{first}"), expected);
}

fn text() -> impl Strategy<Value = String> {
    let line = "(a|b|b |\\+a|-|--- b|\\\\ x|@@|)(\r\n|\n)";
    let whole = proptest::collection::vec(line, 0..12);
    (whole, "(a|b)?").prop_map(|(lines, last)| lines.concat() + &last)
}

proptest! {
    /// What a program finds to be the difference, the patch puts in: byte for byte, whatever the line
    /// ends are, and whatever the lines look like.
    #[test]
    fn a_difference_that_is_applied_gives_the_other_text(
        before in text(),
        after in text(),
        context in 1usize..4,
    ) {
        prop_assume!(before != after);
        let diff = TextDiff::from_lines(&before, &after);
        let hunks = diff.unified_diff().context_radius(context).to_string();
        prop_assert_eq!(of_one(&before, &hunks), Ok(after));
    }

    /// The same with lines put before what was compared: the numbers are wrong, the lines are right.
    #[test]
    fn what_is_found_elsewhere_is_right_or_refused(
        above in proptest::collection::vec("(x|y)\n", 1..4),
        before in text(),
        after in text(),
    ) {
        prop_assume!(before != after && !before.is_empty());
        let diff = TextDiff::from_lines(&before, &after);
        let hunks = diff.unified_diff().context_radius(3).to_string();
        let above = above.concat();
        if let Ok(patched) = of_one(&format!("{above}{before}"), &hunks) {
            prop_assert_eq!(patched, format!("{above}{after}"));
        }
    }

    #[test]
    fn nothing_that_is_given_breaks_the_reader(patch in "(\\PC|\n|\r|diff --git a/f b/f\n|--- a/f\n\\+\\+\\+ b/f\n|@@ -1,2 \\+1 @@\n|@@\n|[-+ ]a\n|\\\\ N\n|\\*\\*\\* Begin Patch\n|\\*\\*\\* Update File: f\n){0,30}") {
        let _ = Memory::of([("f", "a\na\n")]).patched(&patch);
    }
}
