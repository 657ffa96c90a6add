//! Each rule bites on what it forbids and leaves the rest alone.

use super::{calls, comments, shape};
use crate::finding::Finding;
use crate::source::Source;

type Rule = fn(&Source) -> Vec<Finding>;

/// The lines of a product file that break the rule.
fn check(rule: Rule, text: &str, expected: &[usize]) {
    let source = Source::parse("a/src/lib.rs", text).unwrap();
    let lines: Vec<usize> = rule(&source).iter().map(|f| f.line).collect();
    assert_eq!(lines, expected, "in:\n{text}");
}

#[test]
fn a_file_must_say_what_it_is() {
    check(shape::silent_openings, "//! Says it.\n", &[]);
    check(shape::silent_openings, "// Says it to nobody.\n", &[1]);
    check(shape::silent_openings, "", &[1]);
}

#[test]
fn lengths_are_limits_not_aims() {
    check(shape::long_files, &"\n".repeat(600), &[]);
    check(shape::long_files, &"\n".repeat(601), &[1]);
    let function = |lines: usize| format!("\nfn f() {{\n{}}}\n", "g();\n".repeat(lines));
    check(shape::long_functions, &function(70), &[]);
    check(shape::long_functions, &function(71), &[2]);
}

#[test]
fn functions_take_five_parameters_and_no_public_bool() {
    check(
        shape::wide_functions,
        "fn f(a: A, b: A, c: A, d: A, e: A) {}",
        &[],
    );
    check(
        shape::wide_functions,
        "fn f(&self, a: A, b: A, c: A, d: A, e: A) {}",
        &[1],
    );
    check(
        shape::boolean_parameters,
        "fn f(a: bool) {}\npub fn g(a: bool) {}",
        &[2],
    );
}

#[test]
fn nothing_is_silenced_without_a_reason() {
    check(
        shape::silenced,
        "#[expect(x, reason = \"y\")]\nfn f() {}",
        &[],
    );
    check(shape::silenced, "#![allow(x)]\nfn f() {}", &[1]);
    check(
        shape::silenced,
        "#[test]\n#[ignore = \"slow\"]\nfn f() {}",
        &[2],
    );
    check(
        shape::silenced,
        "#[cfg_attr(unix, ignore)]\nfn f() {}",
        &[1],
    );
}

#[test]
fn comments_promise_nothing_and_number_nothing() {
    let promise = concat!("// TO", "DO: later\nconst A: &str = \"TO", "DO\";");
    check(comments::promises, promise, &[1]);
    check(comments::promises, "// Todos and XXXL are words.", &[]);
    check(comments::issue_numbers, "// see #12\n// (#7)\n", &[1, 2]);
    check(
        comments::issue_numbers,
        "// #1e1e2e # 3 `#[x]`\nconst A: &str = \"#12\";",
        &[],
    );
}

#[test]
fn unfinished_code_is_found_in_tests_too() {
    check(
        calls::unfinished,
        "fn f() { todo!() }\n#[test]\nfn g() { dbg!(1); }",
        &[1, 3],
    );
    check(calls::unfinished, "fn todo() {}", &[]);
}

#[test]
fn tests_do_not_sleep() {
    check(calls::sleeps_in_tests, "fn f() { thread::sleep(d); }", &[]);
    check(
        calls::sleeps_in_tests,
        "#[test]\nfn f() { std::thread::sleep(d); }",
        &[2],
    );
    check(
        calls::sleeps_in_tests,
        "#[tokio::test]\nasync fn f() {\ntokio::time::sleep(d).await; }",
        &[3],
    );
}

#[test]
fn the_product_neither_prints_nor_exits_nor_reads_clocks() {
    check(
        calls::prints,
        "fn f() { eprintln!(\"x\"); }\n#[test]\nfn g() { println!(); }",
        &[1],
    );
    check(calls::exits, "fn f() { std::process::exit(1) }", &[1]);
    check(
        calls::wall_clock_reads,
        "fn f() { g(Utc::now()); Instant::now(); }\n#[test]\nfn g() { Utc::now(); }",
        &[1],
    );
    check(
        calls::stopwatch_reads,
        "fn f() { Utc::now();\nInstant::now(); }\n#[test]\nfn g() { Instant::now(); }",
        &[2],
    );
}

#[test]
fn a_core_does_not_act() {
    check(
        calls::acts_of_a_core,
        "use std::{collections::BTreeMap, fs::File};",
        &[1],
    );
    check(
        calls::acts_of_a_core,
        "fn f() {\nstd::process::id();\n}",
        &[2],
    );
    check(
        calls::acts_of_a_core,
        "use std::time::Duration;\nuse chrono::Utc;",
        &[],
    );
    check(
        calls::acts_of_a_core,
        "#[test]\nfn f() { Utc::now(); }",
        &[2],
    );
    check(calls::acts_of_a_core, "use randomness::x;", &[]);
}
