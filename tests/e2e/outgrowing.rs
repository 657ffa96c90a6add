//! Agents that read more than their model takes in: the task succeeds all the same, what is sent stays
//! valid, nothing that was refused is sent again, and a kill in the middle changes nothing.

use crate::crew::ends_as;
use crate::environment::TestEnvironment;
use crate::started::Started;
use crate::story::Story;
use rustix::process::Signal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::model_server::{Gate, ModelServer, Reply, RequestView};

const ROSTER: &str = r#"name = "much"
model = "wire/m"
[provider.wire]
kind = "$KIND"
base_url = "$URL"
$CONTEXT
[[task]]
id = "read"
role = "scout"
prompt = "Read everything. The word is marmalade."
"#;

/// Bytes of each of the files.
const FILE_BYTES: usize = 12_000;

/// One scout, a repository with large files, and a model that takes in only so much.
struct Library {
    environment: TestEnvironment,
    server: ModelServer,
    /// Opens to the answers to requests for summaries.
    gate: Gate,
}

/// What the model does.
#[derive(Clone, Copy)]
struct Plan {
    kind: &'static str,
    /// Most bytes of a request that the server takes.
    takes: usize,
    /// What the roster says of the context, in tokens.
    context: Option<u32>,
    /// Answers before the last one.
    rounds: usize,
    /// What each of them says besides its call.
    says: usize,
    /// Calls of each.
    calls: usize,
}

const PLAN: Plan = Plan {
    kind: "openai",
    takes: 60_000,
    context: None,
    rounds: 9,
    says: 0,
    calls: 1,
};

fn wants_summary(request: &RequestView) -> bool {
    let last = request.texts("user").pop();
    last.is_some_and(|text| text.contains("Write a summary from which you alone can go on"))
}

impl Library {
    fn new(plan: Plan, gate: Gate) -> Self {
        let (answered, opening) = (AtomicUsize::new(0), gate.clone());
        let server = ModelServer::answering(move |request| {
            if request.body.len() > plan.takes {
                let words = "This model's maximum context length is exceeded";
                return Reply::refusal(400, words);
            }
            if wants_summary(request) {
                return Reply::text("I read some of it; the rest is left.").after(&opening);
            }
            let round = answered.fetch_add(1, Ordering::SeqCst);
            if round == plan.rounds {
                return Reply::text("All of it is read.");
            }
            let files: Vec<String> = (0..plan.calls)
                .map(|n| format!(r#"{{"path":"book{}.txt"}}"#, (round + n) % 9))
                .collect();
            let calls = files.iter().map(|file| ("read", file.as_str()));
            let reply = Reply::calls(calls).saying(&"I read on. ".repeat(plan.says / 11));
            match plan.kind {
                "anthropic" => reply.thinking("Read on.", &format!("signed {round}")),
                _ => reply,
            }
        });
        let environment = TestEnvironment::new().with_repository();
        let line = format!("{}\n", "word ".repeat(11));
        for book in 0..9 {
            let text = line.repeat(FILE_BYTES / line.len());
            environment.write(&format!("desk/book{book}.txt"), &text);
        }
        environment.git(&["add", "-A"]);
        environment.git(&["commit", "-q", "-m", "Add books"]);
        let context = plan.context.map(|tokens| format!("context = {tokens}"));
        let roster = ROSTER
            .replace("$URL", &server.base_url())
            .replace("$KIND", plan.kind)
            .replace("$CONTEXT", &context.unwrap_or_default());
        environment.write("roster.toml", &roster);
        Self {
            environment,
            server,
            gate,
        }
    }

    /// One whose model gives summaries at once.
    fn open(plan: Plan) -> Self {
        let gate = Gate::closed();
        gate.open();
        Self::new(plan, gate)
    }

    fn start(&self) -> Started<'_> {
        self.environment
            .start(&["fleet", "run", "../roster.toml", "--json"])
    }

    fn story(&self) -> Story {
        let runs = self.environment.path("desk/.git/codewhale/runs");
        let folders = std::fs::read_dir(runs).expect("runs").flatten();
        let folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        assert_eq!(folders.len(), 1);
        Story::read(&folders[0].join("ledger.jsonl"))
    }

    /// What must hold of every request; gives how many were refused.
    #[track_caller]
    fn check_requests(&self, takes: usize) -> usize {
        let seen = self.server.seen();
        assert_eq!(seen.broken_rules, [] as [&str; 0]);
        let bodies: Vec<&[u8]> = seen.requests.iter().map(|r| &*r.body).collect();
        let refused: Vec<&&[u8]> = bodies.iter().filter(|body| body.len() > takes).collect();
        for body in &refused {
            let times = bodies.iter().filter(|other| *other == *body).count();
            assert_eq!(times, 1, "a body that was refused is sent again");
        }
        for request in &seen.requests {
            assert!(request.mentions("The word is marmalade."));
        }
        refused.len()
    }
}

#[test]
fn an_agent_that_reads_more_than_its_model_takes_in_ends_its_task() {
    for kind in ["openai", "anthropic"] {
        let library = Library::open(Plan { kind, ..PLAN });
        ends_as(library.start().ended(), "done", 0);
        assert_eq!(library.check_requests(PLAN.takes), 1, "{kind}");
        let story = library.story();
        assert_eq!(story.of_type("attempt.started").len(), 1);
        assert!(!story.of_type("context.compacted").is_empty());
    }
}

#[test]
fn several_large_files_in_one_answer_do_not_end_the_attempt() {
    let plan = Plan {
        rounds: 2,
        calls: 9,
        ..PLAN
    };
    let library = Library::open(plan);
    ends_as(library.start().ended(), "done", 0);
    assert!(library.check_requests(plan.takes) <= 2);
    assert_eq!(library.story().of_type("attempt.started").len(), 1);
}

/// A known context that fills up with words of the model, which only a summary makes smaller.
const TALKATIVE: Plan = Plan {
    // The server counts a quarter of a request's bytes as its tokens.
    takes: 4 * 32_768,
    context: Some(32_768),
    rounds: 20,
    says: 6_000,
    ..PLAN
};

#[test]
fn a_context_that_is_known_is_never_overrun() {
    for kind in ["anthropic", "openai"] {
        let library = Library::open(Plan { kind, ..TALKATIVE });
        ends_as(library.start().ended(), "done", 0);
        assert_eq!(library.check_requests(TALKATIVE.takes), 0);
        let story = library.story();
        let asked = story.of_type("model.requested");
        let summaries = asked.iter().filter(|r| r["purpose"] == "compaction");
        assert!(summaries.count() >= 1);
    }
}

#[test]
fn a_compaction_is_told_in_plain_words() {
    let library = Library::open(TALKATIVE);
    ends_as(library.start().ended(), "done", 0);
    let logs = library.environment.run(&["fleet", "logs"]).exits(0).stdout;
    let inspected = library.environment.run(&["fleet", "inspect", "read"]);
    let shown = inspected.exits(0).stdout;
    assert!(shown.contains("compacted "), "{shown}");
    assert!(logs.contains("asks its model for a summary"), "{logs}");
    assert!(
        logs.contains("older messages became the model's summary"),
        "{logs}"
    );
}

#[test]
fn a_kill_while_a_summary_is_made_asks_for_it_once_more_and_goes_on() {
    let library = Library::new(TALKATIVE, Gate::closed());
    let manager = library.start();
    library
        .server
        .wait_until(|seen| seen.requests.iter().any(wants_summary));
    manager.signal(Signal::KILL);
    assert_eq!(manager.ended().code, None);
    library.gate.open();
    let resumed = library.environment.start(&["fleet", "resume", "--json"]);
    ends_as(resumed.ended(), "done", 0);
    assert_eq!(library.check_requests(TALKATIVE.takes), 0);
    let seen = library.server.seen();
    let asked: Vec<&RequestView> = seen.requests.iter().filter(|r| wants_summary(r)).collect();
    assert_eq!(asked[0].body, asked[1].body, "the same is asked again");
    let story = library.story();
    let failed = story.of_type("model.failed");
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (&failed[0]["kind"], &failed[0]["billed"]),
        (&"lost".into(), &"reservation".into())
    );
    let compacted = story.of_type("context.compacted").into_iter();
    let summaries = compacted.filter(|r| r["older"]["replaced"]["by"] == "model");
    assert_eq!(summaries.count(), asked.len() - 1);
}

#[test]
fn a_resume_goes_on_from_the_compacted_conversation_byte_for_byte() {
    let library = Library::open(TALKATIVE);
    let manager = library.start();
    library.server.wait_until(|seen| {
        let summary = seen.requests.iter().position(wants_summary);
        summary.is_some_and(|at| seen.requests.len() > at + 2)
    });
    manager.signal(Signal::KILL);
    let _ = manager.ended();
    let before = library.server.requests();
    let resumed = library.environment.start(&["fleet", "resume", "--json"]);
    ends_as(resumed.ended(), "done", 0);
    let after = library.server.requests();
    let first = &after[before.len()];
    let last = &before[before.len() - 1];
    assert!(first.messages().starts_with(last.messages()));
}
