//! Rules on what is called and imported. They match tokens, so a renamed import escapes them; what
//! they find is never a false name in a text or comment.

use super::found;
use crate::finding::Finding;
use crate::source::Source;

const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];
const SLEEPS: [&str; 3] = ["thread::sleep", "time::sleep", "sleep_until"];
const PRINTS: [&str; 4] = ["println!", "eprintln!", "print!", "eprint!"];
const EXITS: [&str; 2] = ["process::exit", "process::abort"];
const WALL_CLOCKS: [&str; 4] = [
    "SystemTime::now",
    "UNIX_EPOCH.elapsed",
    "Utc::now",
    "Local::now",
];
const STOPWATCHES: [&str; 1] = ["Instant::now"];
const OUTSIDE_WORLD: [&str; 10] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "std::time::SystemTime",
    "std::time::Instant",
    "tokio",
    "rand",
    "tracing",
];

/// No code is left to be written later.
#[must_use]
pub fn unfinished(source: &Source) -> Vec<Finding> {
    calls(source, &UNFINISHED)
}

/// No test sleeps.
#[must_use]
pub fn sleeps_in_tests(source: &Source) -> Vec<Finding> {
    let calls = calls(source, &SLEEPS).into_iter();
    calls.filter(|f| source.is_test_line(f.line)).collect()
}

/// No product code prints.
#[must_use]
pub fn prints(source: &Source) -> Vec<Finding> {
    product_only(source, calls(source, &PRINTS))
}

/// No product code ends the process.
#[must_use]
pub fn exits(source: &Source) -> Vec<Finding> {
    product_only(source, calls(source, &EXITS))
}

/// No product code reads the time of day.
#[must_use]
pub fn wall_clock_reads(source: &Source) -> Vec<Finding> {
    product_only(source, calls(source, &WALL_CLOCKS))
}

/// No product code measures how long something takes.
#[must_use]
pub fn stopwatch_reads(source: &Source) -> Vec<Finding> {
    product_only(source, calls(source, &STOPWATCHES))
}

/// A core, its tests included, neither reads a clock nor touches the world outside.
#[must_use]
pub fn acts_of_a_core(source: &Source) -> Vec<Finding> {
    let imports = source.imports.iter().filter_map(|import| {
        let path = OUTSIDE_WORLD
            .iter()
            .find(|path| lies_within(&import.text, path))?;
        Some(found(source, import.line, format!("imports `{path}`")))
    });
    let mut findings: Vec<Finding> = imports.collect();
    findings.extend(calls(source, &WALL_CLOCKS));
    findings.extend(calls(source, &STOPWATCHES));
    let paths = OUTSIDE_WORLD.iter().filter(|path| path.contains("::"));
    let in_code = paths.flat_map(|path| calls(source, &[path]));
    findings.extend(in_code.filter(|call| {
        let imported = source.imports.iter().any(|import| import.line == call.line);
        !imported
    }));
    findings
}

/// True for `path` itself and everything below it.
fn lies_within(import: &str, path: &str) -> bool {
    let rest = import.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn calls(source: &Source, patterns: &[&str]) -> Vec<Finding> {
    let lines = patterns.iter().flat_map(|pattern| {
        let lines = source.lines_with(pattern).into_iter();
        lines.map(move |line| found(source, line, format!("`{pattern}`")))
    });
    lines.collect()
}

fn product_only(source: &Source, findings: Vec<Finding>) -> Vec<Finding> {
    let findings = findings.into_iter();
    findings.filter(|f| !source.is_test_line(f.line)).collect()
}
