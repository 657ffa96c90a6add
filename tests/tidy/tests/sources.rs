//! The rules on Rust files, applied to the whole tree: one test for each.

use tidy::finding::{Exception, Finding, complaint, except};
use tidy::rules::{calls, comments, shape};
use tidy::source::{Kind, Source};
use tidy::tree::TREE;

/// Where the process prints: its stdout is data, its stderr is talk.
const PRINTERS: &[Exception] = &[];

/// Where the process ends itself.
const EXITS: &[Exception] = &[];

/// Where the time of day is read. Everything else is told.
const WALL_CLOCKS: &[Exception] = &[
    Exception {
        file: "engine/engine-llm/src/http.rs",
        reason: "a provider may name the moment to come back as a date",
    },
    Exception {
        file: "fleet/codewhale/src/launch/ids.rs",
        reason: "the id of a run names the day it was opened",
    },
    Exception {
        file: "fleet/fleet-runtime/src/clock.rs",
        reason: "it is the clock of a run",
    },
];

/// Adapters that bound or report how long something outside takes.
const STOPWATCHES: &[Exception] = &[
    Exception {
        file: "engine/engine-tools/src/process.rs",
        reason: "processes that a dead manager left are given a while to end",
    },
    Exception {
        file: "engine/engine-llm/src/http/deadline.rs",
        reason: "a provider has limits on how long it may be silent",
    },
    Exception {
        file: "engine/engine-tools/src/helper/supervise.rs",
        reason: "a command that does not end is given a grace before the hard signal",
    },
    Exception {
        file: "engine/engine-tools/src/shell/runner.rs",
        reason: "a result says how long its command took",
    },
    Exception {
        file: "fleet/fleet-git/src/patience.rs",
        reason: "git commands and the locks of others are waited for, within limits",
    },
    Exception {
        file: "fleet/fleet-runtime/src/clock.rs",
        reason: "it is the clock of a run",
    },
    Exception {
        file: "fleet/fleet-runtime/src/manager/mod.rs",
        reason: "a stop has a grace, on the clock of the async runtime, which tests can hold",
    },
    Exception {
        file: "ledger-tools/ledger/src/queue.rs",
        reason: "the closing witness is due a while after the last batch",
    },
    Exception {
        file: "ledger-tools/ledger/src/writer.rs",
        reason: "the closing witness is due a while after the last batch",
    },
];

/// Where a test cannot wait for an event.
const SLEEPERS: &[Exception] = &[
    Exception {
        file: "engine/engine-llm/src/http/deadline.rs",
        reason: "on a clock that is held: no real time passes",
    },
    Exception {
        file: "engine/engine-tools/tests/support/mod.rs",
        reason: "a foreign process tells nobody when it ends; a deadline bounds the looking",
    },
    Exception {
        file: "tests/e2e/wait.rs",
        reason: "another process tells nobody what it has done; a deadline bounds the looking",
    },
    Exception {
        file: "tests/testkit/src/model_server/connection.rs",
        reason: "a slow server is played by being slow",
    },
];

/// Folders of the crates that only decide.
const CORES: [&str; 3] = [
    "engine/engine-core/src/",
    "workflows/workflow-core/src/",
    "fleet/fleet-core/src/",
];

#[track_caller]
fn check(rule: fn(&Source) -> Vec<Finding>, exceptions: &[Exception], remedy: &str) {
    let findings = TREE.sources.iter().flat_map(rule).collect();
    let left = except(findings, exceptions);
    if let Some(complaint) = complaint(left, remedy) {
        panic!("{complaint}");
    }
}

#[test]
fn every_file_opens_by_saying_what_it_is() {
    check(
        shape::silent_openings,
        &[],
        "open the file with `//!`: what it is, and what it never does.",
    );
}

#[test]
fn files_hold_one_idea() {
    check(
        shape::long_files,
        &[],
        "split the file where it wants a second title.",
    );
}

#[test]
fn functions_fit_on_a_screen() {
    check(
        shape::long_functions,
        &[],
        "give the parts names and make them functions.",
    );
}

#[test]
fn functions_take_few_parameters() {
    check(
        shape::wide_functions,
        &[],
        "gather what belongs together in a struct.",
    );
}

#[test]
fn public_functions_take_no_bool() {
    check(
        shape::boolean_parameters,
        &[],
        "write two functions, or an enum whose variants say what they mean.",
    );
}

#[test]
fn nothing_is_ignored_or_silenced_without_a_reason() {
    check(
        shape::silenced,
        &[],
        "run the test or delete it; mend the lint or write `#[expect(lint, reason = \"…\")]`.",
    );
}

#[test]
fn no_code_is_left_for_later() {
    check(calls::unfinished, &[], "write it, or refuse what needs it.");
}

#[test]
fn comments_promise_no_work() {
    check(
        comments::promises,
        &[],
        "do it, or describe it with a remedy in docs/shortcomings.md.",
    );
}

#[test]
fn comments_name_no_issues() {
    check(
        comments::issue_numbers,
        &[],
        "say the reason itself: numbers lead nowhere once the tracker has moved.",
    );
}

#[test]
fn tests_do_not_sleep() {
    check(
        calls::sleeps_in_tests,
        SLEEPERS,
        "wait for the event itself, or inject the clock; else except the file with its reason.",
    );
}

#[test]
fn only_the_output_module_prints() {
    check(
        calls::prints,
        PRINTERS,
        "return the text, or trace it: stdout is data and belongs to the command line.",
    );
}

#[test]
fn only_the_binary_ends_the_process() {
    check(
        calls::exits,
        EXITS,
        "return the error: the command line turns it into an exit code.",
    );
}

#[test]
fn only_the_clock_reads_the_time_of_day() {
    check(
        calls::wall_clock_reads,
        WALL_CLOCKS,
        "take the time as an argument.",
    );
}

#[test]
fn only_named_adapters_measure_time() {
    check(
        calls::stopwatch_reads,
        STOPWATCHES,
        "take the duration as an argument; else except the adapter with its reason.",
    );
}

#[test]
fn cores_do_not_act() {
    let cores = TREE.sources.iter().filter(|source| {
        source.kind == Kind::Product && CORES.iter().any(|core| source.path.starts_with(core))
    });
    let findings = cores.flat_map(calls::acts_of_a_core).collect();
    let remedy = "move the act to an adapter and give the core its result.";
    if let Some(complaint) = complaint(findings, remedy) {
        panic!("{complaint}");
    }
}

#[test]
fn the_cores_are_where_the_rule_looks() {
    for core in CORES {
        let files = TREE.sources.iter();
        assert!(
            files.filter(|s| s.path.starts_with(core)).count() > 0,
            "{core} is empty"
        );
    }
}
