//! Where hunks belong, and what several files come to.

use super::files::{Memory, of_one};

#[track_caller]
fn check(text: &str, hunks: &str, expected: Result<&str, &str>) {
    let found = of_one(text, hunks);
    assert_eq!(
        found.as_deref(),
        expected.map_err(str::to_owned).as_deref(),
        "{text:?} {hunks:?}"
    );
}

#[test]
fn lines_are_found_where_they_are() {
    check(
        "x\na\nb\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\n",
        Ok("x\na\nB\n"),
    );
    check("a\nb\n", "@@ -7,2 +7,2 @@\n a\n-b\n+B\n", Ok("a\nB\n"));
    check("a\nb\n", "@@\n a\n-b\n+B\n", Ok("a\nB\n"));
    check("a\nb\n", "@@ fn main @@\n a\n-b\n+B\n", Ok("a\nB\n"));
    // The place that is named comes first, although the lines stand elsewhere too.
    check("a\nx\na\n", "@@ -3 +3 @@\n-a\n+A\n", Ok("a\nx\nA\n"));
    // What moved the first hunk moves the second.
    check(
        "new\n1\na\n2\na\n3\na\n",
        "@@ -1,2 +1,2 @@\n 1\n-a\n+A\n@@ -4 +4 @@\n-a\n+B\n",
        Ok("new\n1\nA\n2\nB\n3\na\n"),
    );
}

#[test]
fn of_several_places_none_is_taken_by_chance() {
    check(
        "a\nx\na\n",
        "@@ -2 +2 @@\n-a\n+A\n",
        Err(
            "`f`: hunk 1 (line 3 of the patch): its lines stand in 2 places (lines 1, 3); give more lines around it",
        ),
    );
    check(
        "a\na\na\na\na\na\na\n",
        "@@\n-a\n+A\n",
        Err(
            "`f`: hunk 1 (line 3 of the patch): its lines stand in more than 5 places (lines 1, 2, 3, 4, 5, …); give more lines around it",
        ),
    );
}

#[test]
fn blanks_at_line_ends_are_left_aside_where_that_is_unambiguous() {
    check(
        "a  \nb\t\nc\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\n",
        Ok("a  \nB\nc\n"),
    );
    check(
        "a\n\nb\n",
        "@@ -1,3 +1,3 @@\n a\n  \n-b\n+B\n",
        Ok("a\n\nB\n"),
    );
    check(
        "a \nx\na\t\n",
        "@@ -1 +1 @@\n-a\n+A\n",
        Err(
            "`f`: hunk 1 (line 3 of the patch): its lines stand in 2 places (lines 1, 3); give more lines around it",
        ),
    );
    // Blanks at the beginning of a line mean something.
    check(
        "  a\n",
        "@@ -1 +1 @@\n-a\n+A\n",
        Err(
            "`f`: hunk 1 (line 3 of the patch): its lines are not in the file; the first of them is `a`",
        ),
    );
}

#[test]
fn what_was_forgiven_is_told() {
    let files = Memory::of([("f", "x\na \nb\n")]);
    let plan = files
        .planned("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n")
        .unwrap();
    let expected =
        "hunk 1 was found 1 line further down than it says, with other blanks at the ends of lines";
    assert_eq!(plan.told[0].notes, [expected]);
    assert_eq!((plan.told[0].added, plan.told[0].removed), (1, 1));
}

#[test]
fn every_hunk_that_does_not_fit_is_named() {
    check(
        "a\nb\n",
        "@@ -1 +1 @@\n-x\n+X\n@@ -2 +2 @@\n-b\n+B\n@@ -9,0 +9 @@\n+z\n@@ -2 +2 @@\n-b\n+C\n",
        Err(
            "`f`: hunk 1 (line 3 of the patch): its lines are not in the file; the first of them is `x`\n\
             `f`: hunk 3 (line 9 of the patch): the file has only 2 lines\n\
             `f`: hunk 4 (line 11 of the patch): it stands for lines that another hunk changes too",
        ),
    );
    check(
        "a\n",
        "@@\n+z\n",
        Err(
            "`f`: hunk 1 (line 3 of the patch): it only adds lines and names no place; give lines around it",
        ),
    );
}

#[track_caller]
fn several(files: &Memory, patch: &str, expected: Result<&Memory, &str>) {
    let found = files.patched(patch);
    assert_eq!(found, expected.cloned().map_err(str::to_owned), "{patch}");
}

#[test]
fn a_patch_does_not_run_over_other_files() {
    let files = Memory::of([("a.txt", "a\n"), ("b.txt", "b\n")]);
    several(
        &files,
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n\
         --- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n\
         --- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n",
        Err(
            "`b.txt` exists already; a patch makes only files that are not there\nthere is no `c.txt`",
        ),
    );
    several(
        &files,
        "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n",
        Err("`b.txt` exists already; a patch makes only files that are not there"),
    );
}

#[test]
fn sections_build_on_each_other() {
    let files = Memory::of([("a.txt", "a\n"), ("b.txt", "b\n")]);
    let change =
        |old: &str, new: &str| format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{old}\n+{new}\n");
    several(
        &files,
        &format!("{}{}", change("a", "A"), change("A", "AA")),
        Ok(&Memory::of([("a.txt", "AA\n"), ("b.txt", "b\n")])),
    );
    // Two files change places.
    several(
        &files,
        "diff --git a/a.txt b/t\nrename from a.txt\nrename to t\n\
         diff --git a/b.txt b/a.txt\nrename from b.txt\nrename to a.txt\n\
         diff --git a/t b/b.txt\nrename from t\nrename to b.txt\n",
        Ok(&Memory::of([("a.txt", "b\n"), ("b.txt", "a\n")])),
    );
    several(
        &files,
        &format!("{}{}", change("a", "A"), change("A", "a")),
        Err("the patch changes nothing"),
    );
    // What failed once is not complained of again.
    several(
        &files,
        &format!("{}{}", change("z", "A"), change("A", "AA")),
        Err(
            "`a.txt`: hunk 1 (line 3 of the patch): its lines are not in the file; the first of them is `z`",
        ),
    );
}

#[test]
fn a_file_is_moved_changed_and_copied() {
    let files = Memory::of([("a", "1\n2\n")]);
    several(
        &files,
        "diff --git a/a b/new/b\nsimilarity index 50%\nrename from a\nrename to new/b\n--- a/a\n+++ b/new/b\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n",
        Ok(&Memory::of([("new/b", "1\ntwo\n")])),
    );
    several(
        &files,
        "diff --git a/a b/b\ncopy from a\ncopy to b\n",
        Ok(&Memory::of([("a", "1\n2\n"), ("b", "1\n2\n")])),
    );
}

#[test]
fn only_what_is_known_is_deleted() {
    let files = Memory::of([("read", "r\n"), ("unread", "u\n"), ("empty", "")]);
    let files = files.unread("unread").unread("empty");
    let whole = "--- a/unread\n+++ /dev/null\n@@ -1 +0,0 @@\n-u\n";
    let part = "--- a/unread\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let bare = |name: &str| format!("diff --git a/{name} b/{name}\ndeleted file mode 100644\n");
    let without = |name: &str| {
        let all = [("read", "r\n"), ("unread", "u\n"), ("empty", "")];
        let left: Vec<_> = all.into_iter().filter(|(n, _)| *n != name).collect();
        Memory::of(<[(&str, &str); 2]>::try_from(left).unwrap())
            .unread("unread")
            .unread("empty")
    };
    several(&files, whole, Ok(&without("unread")));
    several(&files, &bare("read"), Ok(&without("read")));
    several(&files, &bare("empty"), Ok(&without("empty")));
    several(
        &files,
        &bare("unread"),
        Err("`unread` exists and you have not read it; read it first, or use edit"),
    );
    several(
        &files,
        part,
        Err(
            "`unread`: hunk 1 (line 3 of the patch): its lines are not in the file; the first of them is `x`",
        ),
    );
    let two = Memory::of([("f", "1\n2\n")]);
    several(
        &two,
        "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n",
        Err("`f` would keep lines that the patch does not remove; name all of its lines, or none"),
    );
}

#[test]
fn a_link_is_deleted_and_nothing_else_is_done_to_it() {
    let files = Memory::of([("real", "r\n")]).with_link("link", "real");
    let gone = Memory::of([("real", "r\n")]);
    several(
        &files,
        "diff --git a/link b/link\ndeleted file mode 120000\n",
        Ok(&gone),
    );
    several(
        &files,
        "diff --git a/link b/link\ndeleted file mode 120000\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-real\n\\ No newline at end of file\n",
        Ok(&gone),
    );
    several(
        &files,
        "diff --git a/link b/x\nrename from link\nrename to x\n",
        Err("`link` is a link; a patch only deletes links"),
    );
    several(
        &files,
        "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-r\n+R\n",
        Ok(&Memory::of([("real", "R\n")]).with_link("link", "real")),
    );
}
