//! What is read in a text, in both forms, and what is refused.

use super::files::Memory;
use crate::patch::{Action, FileMode, parse};

#[track_caller]
fn reads(patch: &str, expected: &[Action]) {
    let read = parse(patch).map(|patch| {
        patch
            .files
            .into_iter()
            .map(|f| f.action)
            .collect::<Vec<_>>()
    });
    assert_eq!(read.as_deref(), Ok(expected), "{patch}");
}

#[track_caller]
fn refuses(patch: &str, expected: &[&str]) {
    let faults: Vec<String> = parse(patch)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(faults, expected, "{patch}");
}

fn update(path: &str) -> Action {
    Action::Update(path.to_owned())
}

fn moved(from: &str, to: &str) -> Action {
    Action::Move {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn names_are_read_in_every_way_that_git_writes_them() {
    let named = |old: &str, new: &str, expected: &str| {
        reads(
            &format!("--- {old}\n+++ {new}\n{HUNK}"),
            &[update(expected)],
        );
        reads(
            &format!("diff --git {old} {new}\nindex 1..2 100644\n--- {old}\n+++ {new}\n{HUNK}"),
            &[update(expected)],
        );
    };
    named("a/x", "b/x", "x");
    named("x", "x", "x");
    named("a/x", "a/x", "a/x");
    named("i/x", "w/x", "x");
    named("a/with space", "b/with space", "with space");
    named("\"a/tab\\there\"", "\"b/tab\\there\"", "\"tab\\there\"");
    named("\"a/bad\\377\"", "\"b/bad\\377\"", "\"bad\\377\"");
    named("\"a/\\303\\274\"", "\"b/\\303\\274\"", "ü");
    named("a/-rf", "b/-rf", "-rf");
    named(
        "a/a;b$(touch pwned)`id`",
        "b/a;b$(touch pwned)`id`",
        "a;b$(touch pwned)`id`",
    );
    reads(
        &format!("--- a/x\t2020-01-01\n+++ b/x\t2020-01-02\n{HUNK}"),
        &[update("x")],
    );
    reads(&format!("diff --git a/x b/x\n{HUNK}"), &[update("x")]);
    reads(
        "diff --git a/a b/c b/a b/c\nold mode 100644\nnew mode 100755\n",
        &[update("a b/c")],
    );
}

#[test]
fn what_becomes_of_a_file_is_read_from_its_headers() {
    reads(
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
        &[Action::Create("n".to_owned())],
    );
    reads(
        "diff --git a/n b/n\nnew file mode 100755\nindex 0..e\n",
        &[Action::Create("n".to_owned())],
    );
    reads(
        "--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        &[Action::Delete("o".to_owned())],
    );
    reads(
        "diff --git a/o b/o\ndeleted file mode 100644\nindex e..0\n",
        &[Action::Delete("o".to_owned())],
    );
    reads(
        "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n",
        &[moved("o", "n")],
    );
    reads(
        "diff --git a/o b/n\nsimilarity index 100%\ncopy from o\ncopy to n\n",
        &[Action::Copy {
            from: "o".to_owned(),
            to: "n".to_owned(),
        }],
    );
    // What only headers tell ends where another file begins.
    reads(
        &format!(
            "diff --git a/o b/n\nrename from o\nrename to n\n\
             --- a/x\n+++ b/x\n{HUNK}\
             diff --git a/g b/g\ndeleted file mode 100644\n\
             --- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+y\n"
        ),
        &[
            moved("o", "n"),
            update("x"),
            Action::Delete("g".to_owned()),
            Action::Create("y".to_owned()),
        ],
    );
    let modes = parse("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n").unwrap();
    assert_eq!(modes.files[0].mode, Some(FileMode::Executable));
}

#[test]
fn text_around_files_is_passed_over() {
    let patch = format!(
        "From 1234\nSubject: [PATCH] x\n\n- a list\n---\n f | 2 +-\n\n```diff\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n{HUNK}```\n\
         Index: g\n=====\n--- a/g\n+++ b/g\n{HUNK}-- \n2.47.3\n\n+not a line\n"
    );
    reads(&patch, &[update("f"), update("g")]);
}

#[test]
fn counts_that_do_not_fit_are_passed_over() {
    let check = |head: &str| {
        let files = Memory::of([("f", "a\n\nb\nc\n"), ("g", "a\n")]);
        let patch = format!("--- a/f\n+++ b/f\n{head}\n a\n\n-b\n+B\n c\n--- a/g\n+++ b/g\n{HUNK}");
        let expected = Memory::of([("f", "a\n\nB\nc\n"), ("g", "b\n")]);
        assert_eq!(files.patched(&patch), Ok(expected), "{head}");
    };
    check("@@ -1,4 +1,4 @@");
    check("@@ -1,4 +1,4 @@ fn main()");
    check("@@ -1,9 +1,9 @@");
    check("@@ -1,2 +1,2 @@");
    check("@@ -1 +1 @@");
    check("@@ ... @@");
    check("@@");
}

#[test]
fn lines_that_look_like_headers_are_lines_where_the_counts_say_so() {
    let files = Memory::of([("f", "-- x\na\n")]);
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n a\n";
    assert_eq!(files.patched(patch), Ok(Memory::of([("f", "++ y\na\n")])));
}

#[test]
fn what_cannot_be_read_is_named_by_its_line() {
    refuses(
        "",
        &["line 1 of the patch: no file is named; begin with `--- a/path` and `+++ b/path`"],
    );
    refuses(
        "just text\n",
        &["line 1 of the patch: no file is named; begin with `--- a/path` and `+++ b/path`"],
    );
    refuses(
        HUNK,
        &["line 1 of the patch: a hunk of no file; begin with `--- a/path` and `+++ b/path`"],
    );
    refuses(
        &format!("--- a/x\n+++ b/y\n{HUNK}"),
        &[
            "line 1 of the patch: the two names differ: `x` and `y`; a file is moved with `diff --git`, `rename from` and `rename to`",
        ],
    );
    refuses(
        "--- /dev/null\n+++ /dev/null\n",
        &["line 1 of the patch: neither side names a file"],
    );
    refuses(
        "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 0\n",
        &["line 1 of the patch: binary differences are not taken"],
    );
    refuses(
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+t\n",
        &["line 1 of the patch: links are not made by a patch"],
    );
    refuses(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\nfoo\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n\\ No newline\n",
        &[
            "line 3 of the patch: the hunk has no lines; each begins with a blank, `-` or `+`",
            "line 8 of the patch: this note belongs after the line that has no end",
        ],
    );
    refuses(
        &format!("--- a/x\n+++ b/x\n{HUNK}oops\n a\n"),
        &["line 7 of the patch: a line that belongs to no hunk"],
    );
    refuses(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n+b() {\n}\n",
        &[
            "line 6 of the patch: a line without sign stands in a hunk; each begins with a blank, `-` or `+`",
        ],
    );
}

const UPDATE: &str = "*** Begin Patch\n*** Update File: f\n";

#[test]
fn the_envelope_is_read_too() {
    let files = || Memory::of([("f", "class A\n  x\nclass B\n  x\nend\n"), ("g", "g\n")]);
    let check = |patch: &str, expected: Result<Memory, &str>| {
        assert_eq!(
            files().patched(patch),
            expected.map_err(str::to_owned),
            "{patch}"
        );
    };
    check(
        "*** Begin Patch\n*** Add File: n/new\n+1\n+\n+2\n*** Delete File: g\n*** Update File: f\n*** Move to: h\n@@ class B\n-  x\n+  y\n*** End Patch\n",
        Ok(Memory::of([
            ("n/new", "1\n\n2\n"),
            ("h", "class A\n  x\nclass B\n  y\nend\n"),
        ])),
    );
    check(
        &format!(
            "{UPDATE} class A\n-  x\n+  y\n class B\n@@\n-end\n+END\n*** End of File\n*** End Patch"
        ),
        Ok(Memory::of([
            ("f", "class A\n  y\nclass B\n  x\nEND\n"),
            ("g", "g\n"),
        ])),
    );
    check(
        &format!("{UPDATE}-  x\n+  y\n*** End Patch\n"),
        Err(
            "`f`: hunk 1 (line 3 of the patch): its lines stand in 2 places (lines 2, 4); give more lines around it",
        ),
    );
    check(
        &format!("{UPDATE}@@ class C\n-  x\n+  y\n*** End Patch\n"),
        Err("`f`: hunk 1 (line 3 of the patch): there is no line `class C` for it to come after"),
    );
    check(
        &format!("{UPDATE}-end\n+END\n"),
        Err("line 4 of the patch: `*** End Patch` is missing: the patch may be cut"),
    );
    check(
        "*** Begin Patch\n*** Update File: f\n*** Add File: n\n+x\nstray\n*** End Patch\n",
        Err(
            "line 2 of the patch: no hunk follows\nline 5 of the patch: expected `*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`",
        ),
    );
}
