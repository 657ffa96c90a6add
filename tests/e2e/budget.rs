//! Caps: whatever runs side by side, and whatever is killed in between, a provider never gets to bill
//! more than the cap. What it bills is counted by the server itself.

use crate::environment::{Ran, TestEnvironment};
use rustix::process::Signal;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::model_server::{Gate, ModelServer, Reply, RequestView};

/// Bytes that a first request of these tests has at least and at most. A token is at least one byte:
/// that many tokens are set aside for its input.
const REQUEST_BYTES: std::ops::RangeInclusive<usize> = 1_500..=5_000;

/// What a request must leave for its answer.
const MIN_OUTPUT: u64 = 1_024;

/// The top of a roster with these caps, and nothing to do yet.
fn top(server: &ModelServer, caps: &str) -> String {
    let url = server.base_url();
    format!(
        "name = \"capped\"\nmodel = \"wire/m\"\n[limits]\nagents = 12\n{caps}\n\
         [provider.wire]\nkind = \"openai\"\nbase_url = \"{url}\"\n"
    )
}

/// Some scouts; `more` are further keys of each.
fn scouts(count: usize, more: &str) -> String {
    let scout = |number: usize| {
        format!(
            "[[task]]\nid = \"t{number}\"\nrole = \"scout\"\nprompt = \"TASK {number}.\"\n{more}\n"
        )
    };
    (1..=count).map(scout).collect()
}

fn environment(roster: &str) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", roster);
    environment
}

fn run(environment: &TestEnvironment) -> Ran {
    environment.run(&["fleet", "run", "../roster.toml", "--json"])
}

fn status(environment: &TestEnvironment) -> Value {
    let ran = environment.run(&["fleet", "status", "--json"]).exits(0);
    ran.json().remove(0)
}

/// How many tasks ended in this state.
fn ended(status: &Value, state: &str) -> usize {
    let tasks = status["tasks"].as_array().expect("tasks");
    tasks.iter().filter(|task| task["state"] == state).count()
}

/// A server that adds up what it bills.
struct Biller {
    server: ModelServer,
    billed: Arc<AtomicU64>,
}

impl Biller {
    fn new(bill: impl Fn(&RequestView) -> (u64, u64) + Send + Sync + 'static) -> Self {
        let billed = Arc::new(AtomicU64::new(0));
        let total = Arc::clone(&billed);
        let server = ModelServer::answering(move |request| {
            let (input, output) = bill(request);
            total.fetch_add(input + output, Ordering::SeqCst);
            Reply::text("Done.").usage(input, output)
        });
        Self { server, billed }
    }

    /// Bills the same for each request.
    fn flat(input: u64, output: u64) -> Self {
        Self::new(move |_| (input, output))
    }

    /// Bills as much as a request can cost at all: a token for each byte of what it says, which the
    /// output limit is no part of, and all of that limit.
    fn greedy() -> Self {
        Self::new(|request| {
            let output = request.max_output().expect("requests have an output limit");
            let mut said = request.json.clone();
            for limit in ["max_tokens", "max_completion_tokens"] {
                said.as_object_mut().expect("an object").remove(limit);
            }
            (said.to_string().len() as u64, output)
        })
    }

    fn billed(&self) -> u64 {
        self.billed.load(Ordering::SeqCst)
    }

    /// Each request was of the size that the numbers of these tests are made for.
    fn is_as_expected(&self) {
        for request in self.server.requests() {
            let bytes = request.body.len();
            assert!(
                REQUEST_BYTES.contains(&bytes),
                "{bytes}: choose other numbers"
            );
            assert!(request.max_output() >= Some(MIN_OUTPUT));
        }
    }
}

#[test]
fn of_many_tasks_at_once_only_those_are_asked_that_fit_under_the_cap() {
    let biller = Biller::flat(3_000, 900);
    // After two answers 6,200 are left, which is enough for a third; after three 2,300, which is not.
    let roster = top(&biller.server, "[budget]\ntokens = 14_000") + &scouts(12, "");
    let environment = environment(&roster);
    let ran = run(&environment).exits(4);
    biller.is_as_expected();
    assert_eq!(
        (biller.server.requests().len(), biller.billed()),
        (3, 11_700)
    );

    let last = ran.json().pop().expect("the end");
    assert_eq!(
        (&last["type"], &last["outcome"]),
        (&"run.ended".into(), &"budget".into())
    );
    let status = status(&environment);
    assert_eq!(
        (ended(&status, "settled"), ended(&status, "budget")),
        (3, 9)
    );
    assert_eq!(status["tokens"]["spent"], 11_700);
    assert_eq!(status["tokens"]["reserved"], 0);
    // What was finished is kept.
    let tasks = status["tasks"].as_array().expect("tasks");
    let settled = tasks.iter().find(|task| task["state"] == "settled");
    let id = settled.expect("one")["task"].as_str().expect("an id");
    let inspected = environment
        .run(&["fleet", "inspect", id, "--json"])
        .exits(0);
    assert_eq!(inspected.json()[0]["result"], "Done.");
}

#[test]
fn a_provider_that_bills_all_it_may_stays_below_the_cap() {
    for cap in [6_500, 13_000, 30_000, 64_000] {
        let biller = Biller::greedy();
        let caps = format!("[budget]\ntokens = {cap}");
        let environment = environment(&(top(&biller.server, &caps) + &scouts(12, "")));
        run(&environment).exits(4);
        biller.is_as_expected();
        let billed = biller.billed();
        assert!(billed > 0 && billed <= cap, "{billed} of {cap}");
        let status = status(&environment);
        assert_eq!(status["tokens"]["spent"], billed);
        assert_eq!(status["tokens"]["overrun"], 0);
    }
}

#[test]
fn a_cap_that_is_no_number_above_zero_is_refused() {
    let biller = Biller::flat(1, 1);
    for cap in ["0", "-1", "\"abc\"", "1.5"] {
        let caps = format!("[budget]\ntokens = {cap}");
        let environment = environment(&(top(&biller.server, &caps) + &scouts(1, "")));
        let ran = run(&environment).exits(2);
        assert!(ran.stderr.contains("tokens"), "{cap}: {}", ran.stderr);
        assert!(!environment.path("desk/.git/codewhale").exists());
    }
    assert_eq!(biller.server.requests().len(), 0);
}

#[test]
fn what_comes_after_a_spent_budget_is_not_asked() {
    let biller = Biller::flat(4_000, 3_000);
    let roster = top(&biller.server, "[budget]\ntokens = 9_000")
        + &scouts(1, "")
        + "[[task]]\nid = \"after\"\nrole = \"scout\"\nneeds = [\"t1\"]\nprompt = \"p\"\n"
        + "[[task]]\nid = \"last\"\nrole = \"scout\"\nneeds = [\"after\"]\nprompt = \"p\"\n";
    let environment = environment(&roster);
    run(&environment).exits(4);
    biller.is_as_expected();
    assert_eq!(biller.server.requests().len(), 1);
    let status = status(&environment);
    let state = |at: usize| status["tasks"][at]["state"].clone();
    assert_eq!(
        [state(0), state(1), state(2)],
        ["settled", "budget", "skipped"]
    );
    assert_eq!(status["tasks"][2]["blocked_by"], "after");
}

#[test]
fn a_cap_of_one_task_leaves_the_others_alone() {
    let biller = Biller::greedy();
    let capped = "budget = { tokens = 6_000 }";
    let roster = top(&biller.server, "")
        + &scouts(2, capped)
        + "[[task]]\nid = \"free\"\n\
         role = \"scout\"\nprompt = \"p\"\n[[task]]\nid = \"poor\"\nrole = \"scout\"\nprompt = \"p\"\n\
         budget = { tokens = 1_500 }\n";
    let environment = environment(&roster);
    run(&environment).exits(4);
    let status = status(&environment);
    let of = |at: usize| {
        (
            &status["tasks"][at]["state"],
            &status["tasks"][at]["tokens"]["spent"],
        )
    };
    for at in [0, 1] {
        let (state, spent) = of(at);
        assert_eq!(state, "settled");
        assert!(spent.as_u64() <= Some(6_000), "{spent}");
    }
    assert_eq!(of(2).0, "settled");
    assert_eq!(of(3), (&"budget".into(), &0.into()));
}

#[test]
fn a_provider_that_bills_more_than_it_may_is_not_asked_again() {
    let biller = Biller::flat(50_000, 10);
    let caps = "[budget]\ntokens = 100_000";
    let chain = "[[task]]\nid = \"after\"\nrole = \"scout\"\nneeds = [\"t1\"]\nprompt = \"p\"\n";
    let environment = environment(&(top(&biller.server, caps) + &scouts(1, "") + chain));
    run(&environment).exits(4);
    assert_eq!(biller.server.requests().len(), 1);
    let tokens = &status(&environment)["tokens"];
    assert_eq!(tokens["spent"], 50_010);
    assert!(tokens["overrun"].as_u64() > Some(30_000), "{tokens}");
}

/// The request of a manager that was killed may have been paid, so all that was set aside for it is
/// gone: there is no way round a cap through a crash.
#[test]
fn a_lost_request_counts_in_full_across_a_crash() {
    let gate = Gate::closed();
    let held = gate.clone();
    let server = ModelServer::answering(move |_| Reply::text("Done.").usage(100, 10).after(&held));
    let roster = top(&server, "[budget]\ntokens = 14_000") + &scouts(1, "");
    let environment = environment(&roster);
    let manager = environment.start(&["fleet", "run", "../roster.toml"]);
    server.wait_until(|seen| seen.in_flight == 1);
    manager.signal(Signal::KILL);
    manager.ended();
    gate.open();
    let resumed = environment.run(&["fleet", "resume", "--json"]).exits(4);
    assert_eq!(
        server.requests().len(),
        1,
        "there was nothing left for another"
    );
    let tokens = status(&environment)["tokens"].clone();
    let lost = tokens["unreported"].as_u64().expect("a number");
    assert!(lost > 8_192 && lost <= 14_000, "{tokens}");
    assert_eq!(
        (&tokens["spent"], &tokens["reserved"]),
        (&lost.into(), &0.into())
    );
    let ended = resumed.json().pop().expect("the end");
    assert_eq!(ended["outcome"], "budget");
    environment.is_left_by_all();
}
