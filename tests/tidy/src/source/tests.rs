//! What is read out of a file.

use super::{Kind, Line, Source};

fn parse(text: &str) -> Source {
    Source::parse("a/src/lib.rs", text).unwrap()
}

fn texts(lines: &[Line]) -> Vec<(usize, &str)> {
    lines.iter().map(|l| (l.line, l.text.as_str())).collect()
}

#[test]
fn comments_are_what_no_token_covers() {
    let source = parse(
        "//! Häuser → 🐋.\n// one\nconst URL: &str = \"http://x\"; // two\n/* three\n four */\n/// five\nfn f() {}\n",
    );
    assert_eq!(
        texts(&source.comments),
        [
            (1, "//! Häuser → 🐋."),
            (2, "// one"),
            (3, "// two"),
            (4, "/* three"),
            (5, "four */"),
            (6, "/// five"),
        ]
    );
    assert!(source.lines_with("http").is_empty());
}

#[test]
fn patterns_match_tokens_wherever_blanks_and_macros_stand() {
    let source = parse(
        "fn f() {\n    std :: thread::sleep(d);\n    select!{ _ = thread::sleep(d) => {} }\n    // thread::sleep\n}",
    );
    assert_eq!(source.lines_with("thread::sleep"), [2, 3]);
    assert_eq!(source.lines_with("select!"), [3]);
    assert!(source.lines_with("thread::sle").is_empty());
}

#[test]
fn imports_are_written_out() {
    let source = parse("use std::{\n    fs,\n    time::{Instant as I, *},\n};\n");
    let expected = [
        (2, "std::fs"),
        (3, "std::time::Instant"),
        (3, "std::time::*"),
    ];
    assert_eq!(texts(&source.imports), expected);
}

#[test]
fn code_lines_leave_out_blank_ones_comments_and_braces() {
    let source = parse(
        "fn f(a: u8, b: u8) {\n    // why\n\n    g(\"x\n    y\");\n\n    h();\n}\nfn g() {}\n",
    );
    let found: Vec<_> = source
        .functions
        .iter()
        .map(|f| (f.name.as_str(), f.line, f.code_lines, f.parameters))
        .collect();
    assert_eq!(found, [("f", 1, 3, 2), ("g", 9, 0, 0)]);
}

#[test]
fn only_public_functions_report_their_bools() {
    let source = parse(
        "pub fn f(a: u8, b: bool) {}\nfn g(c: bool) {}\nimpl X { pub fn h(&self, d: bool) {} }\n",
    );
    let found: Vec<_> = source
        .functions
        .iter()
        .map(|f| f.public_bools.join(","))
        .collect();
    assert_eq!(found, ["b", "", "d"]);
}

#[test]
fn test_only_parts_are_known_by_their_attributes() {
    let source = parse(
        "fn f() {\n}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n#[tokio::test]\nasync fn h() {\n}\n#[cfg(not(test))]\nfn i() {\n}\n#[cfg(test)]\nmod more;\n",
    );
    let test_lines: Vec<usize> = (1..=14).filter(|line| source.is_test_line(*line)).collect();
    assert_eq!(test_lines, [4, 5, 6, 8, 9]);
    assert_eq!(source.test_files().collect::<Vec<_>>(), ["a/src/more.rs"]);
}

#[test]
fn a_path_says_whether_a_file_is_a_test() {
    for (path, kind) in [
        ("engine/engine-core/src/lib.rs", Kind::Product),
        ("engine/engine-core/src/tests/turn.rs", Kind::Test),
        ("tests/testkit/src/lib.rs", Kind::Test),
        ("ledger-tools/ledger/benches/append.rs", Kind::Test),
    ] {
        assert_eq!(Source::parse(path, "").unwrap().kind, kind, "{path}");
    }
}

#[test]
fn attributes_keep_their_arguments() {
    let source = parse("#[expect(dead_code, reason = \"x\")]\nfn f() {}\n#[ignore]\nfn g() {}\n");
    let found: Vec<_> = source
        .attributes
        .iter()
        .map(|a| (a.name.as_str(), a.line))
        .collect();
    assert_eq!(found, [("expect", 1), ("ignore", 3)]);
    assert!(source.attributes[0].arguments.contains("reason"));
}
