//! A small fleet with work for every tool: a scout, two builders whose work is put to the test, and a
//! reviewer, before a model server that knows each of them. The work can be held up in the middle.

use crate::environment::{Ran, TestEnvironment};
use crate::started::Started;
use crate::story::Story;
use crate::wait::eventually;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use testkit::model_server::{Gate, ModelServer, Reply, RequestView, Wire};

/// The roster. `$URL` stands for the server, `$KIND` for how it is spoken to.
const ROSTER: &str = r#"name = "crew"
model = "wire/m"
goal = "There is an alpha and a beta."

[limits]
agents = 3
wall = "10m"

[budget]
tokens = 1_000_000

[workspace]
pass_env = ["HOLD"]

[provider.wire]
kind = "$KIND"
base_url = "$URL"

[[task]]
id = "survey"
role = "scout"
prompt = "Look around."

[[task]]
id = "alpha"
role = "builder"
needs = ["survey"]
prompt = "Make alpha."
check = ["sh checks/alpha.sh"]
review = "reviewer"

[[task]]
id = "beta"
role = "builder"
needs = ["survey"]
prompt = "Make beta."
check = ["sh checks/beta.sh"]
"#;

/// Waits while the file `$HOLD/check` is there.
const HELD_CHECK: &str = "while [ -e \"$HOLD/check\" ]; do sleep 0.02; done\n";

/// Appends two lines to beta, and waits between them while the file `$HOLD/shell` is there.
const HELD_SHELL: &str =
    "echo y >> beta.txt; while [ -e \"$HOLD/shell\" ]; do sleep 0.02; done; echo z >> beta.txt";

/// Every answer of a run in which nothing is lost.
pub(crate) const ANSWERS: [&str; 12] = [
    "alpha-review-2/1.1",
    "alpha-review-2/1.2",
    "alpha/1.1",
    "alpha/1.2",
    "alpha/1.3",
    "alpha/2.1",
    "alpha/2.2",
    "beta/1.1",
    "beta/1.2",
    "beta/1.3",
    "survey/1.1",
    "survey/1.2",
];

/// The fleet in its repository, and the server that it asks.
pub(crate) struct Crew {
    /// Where it works.
    pub(crate) environment: TestEnvironment,
    /// Whom it asks.
    pub(crate) server: ModelServer,
    holds: Holds,
}

/// Names of answers that are held back.
type Holds = Arc<Mutex<Option<(String, Gate)>>>;

impl Crew {
    /// A fresh repository with a roster, and nothing started.
    pub(crate) fn new() -> Self {
        Self::in_environment(TestEnvironment::new())
    }

    /// The same in an environment that was prepared.
    pub(crate) fn in_environment(environment: TestEnvironment) -> Self {
        Self::speaking("openai", environment)
    }

    /// The same over a wire; `kind` is its name in a roster.
    pub(crate) fn speaking(kind: &str, environment: TestEnvironment) -> Self {
        let holds = Holds::default();
        let held = Arc::clone(&holds);
        let server = ModelServer::answering(move |request| answer(request, &held));
        let environment = environment
            .with("HOLD", "$T/hold")
            .with("TMPDIR", "$T/tmp")
            .with_repository();
        std::fs::create_dir(environment.path("tmp")).expect("a folder");
        environment.write("hold/.keep", "");
        let alpha = "[ \"$(tr '\\n' ' ' < alpha.txt)\" = 'one two three ' ]\n";
        let beta = "[ \"$(tr '\\n' ' ' < beta.txt)\" = 'x y z ' ]\n";
        environment.write("desk/checks/alpha.sh", &format!("{HELD_CHECK}{alpha}"));
        environment.write("desk/checks/beta.sh", beta);
        environment.git(&["add", "-A"]);
        environment.git(&["commit", "-q", "-m", "Add checks"]);
        let roster = ROSTER.replace("$URL", &server.base_url());
        environment.write("roster.toml", &roster.replace("$KIND", kind));
        Self {
            environment,
            server,
            holds,
        }
    }

    /// Starts the fleet.
    pub(crate) fn start(&self) -> Started<'_> {
        self.environment
            .start(&["fleet", "run", "../roster.toml", "--json"])
    }

    /// Goes on with the only run.
    pub(crate) fn resume(&self) -> Started<'_> {
        self.environment.start(&["fleet", "resume", "--json"])
    }

    /// Makes a file that work waits for while it is there.
    pub(crate) fn hold(&self, what: &str) {
        self.environment.write(&format!("hold/{what}"), "");
    }

    /// Takes that file away.
    pub(crate) fn let_go(&self, what: &str) {
        let file = self.environment.path("hold").join(what);
        std::fs::remove_file(file).expect("it was held");
    }

    /// From now on the answer of this name is held back. Only one can be.
    pub(crate) fn hold_answer(&self, name: &str) {
        let mut held = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some((name.to_owned(), Gate::closed()));
    }

    /// Gives the answer that was held back, if anybody still waits for it.
    pub(crate) fn give_answer(&self) {
        let mut held = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gate)) = held.take() {
            gate.open();
        }
    }

    /// What the server was asked, in order, by the names of the answers.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.server.requests().iter().map(name_of).collect()
    }

    /// Waits until the server is asked for this answer after the first `before` requests.
    pub(crate) fn wait_until_asked(&self, name: &str, before: usize) {
        self.server.wait_until(|seen| {
            let new = seen.requests.iter().skip(before);
            new.map(name_of).any(|asked| asked == name)
        });
    }

    /// Waits until a run whose only agent waits for its answer has no more to write.
    #[track_caller]
    pub(crate) fn wait_until_quiet(&self) {
        eventually("the ledger ends with its closing line", || {
            let text = std::fs::read_to_string(self.ledger()).ok()?;
            let last = text.lines().last()?;
            last.contains("\"records\":[]").then_some(())
        });
    }

    /// The id of the only run.
    pub(crate) fn run_id(&self) -> String {
        let folder = self.run_folder().expect("there is a run");
        let name = folder.file_name().expect("a folder has a name");
        name.display().to_string()
    }

    /// The folder of the only run.
    pub(crate) fn run_folder(&self) -> Option<PathBuf> {
        let runs = self.environment.path("desk/.git/codewhale/runs");
        let mut found = std::fs::read_dir(runs).ok()?.flatten();
        let folder = found.next()?.path();
        assert!(found.next().is_none(), "there is more than one run");
        Some(folder)
    }

    /// The ledger of the only run.
    pub(crate) fn ledger(&self) -> PathBuf {
        let folder = self.run_folder().expect("there is a run");
        folder.join("ledger.jsonl")
    }

    /// What the ledger of the only run tells.
    #[track_caller]
    pub(crate) fn story(&self) -> Story {
        Story::read(&self.ledger())
    }

    /// Waits until the ledger has this many lines.
    #[track_caller]
    pub(crate) fn wait_for_line(&self, line: usize) {
        let count = |ledger: &Path| {
            let text = std::fs::read(ledger).ok()?;
            Some(text.iter().filter(|byte| **byte == b'\n').count())
        };
        eventually("the ledger grows", || {
            let ledger = self.run_folder()?.join("ledger.jsonl");
            count(&ledger).filter(|lines| *lines >= line)
        });
    }

    /// Waits until a process of the test has this in its command line.
    #[track_caller]
    pub(crate) fn wait_for_process(&self, part: &str) {
        eventually(part, || {
            let processes = self.environment.processes();
            processes.into_iter().find(|p| p.line.contains(part))
        });
    }

    /// The tree on the integration branch.
    #[track_caller]
    pub(crate) fn landed_tree(&self) -> String {
        let tree = format!("codewhale/{}/integration^{{tree}}", self.run_id());
        self.environment.git(&["rev-parse", &tree])
    }

    /// What lies in the folder for temporary files, and in the folders there.
    pub(crate) fn scratch(&self) -> Vec<String> {
        let below = |folder: &Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let mut top = below(&self.environment.path("tmp"));
        // Where a machine has no folder for sockets, they lie in one of their own, which stays.
        let is_for_sockets = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let digits = name.and_then(|name| name.strip_prefix("codewhale-"));
            digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        top.retain(|path| !(is_for_sockets(path) && below(path).is_empty()));
        let all = top.iter().flat_map(|path| below(path)).chain(top.clone());
        all.map(|path| path.display().to_string()).collect()
    }

    /// The run as `fleet status` tells it.
    #[track_caller]
    pub(crate) fn status(&self) -> serde_json::Value {
        let ran = self.environment.run(&["fleet", "status", "--json"]);
        ran.exits(0).json().remove(0)
    }
}

/// Puts a script in front of the machine's git. It is given git's arguments, finds the real git in
/// `$GIT` and its manager in `$PPID`; what it does not deal with goes to the real one.
pub(crate) fn with_git_behind(environment: TestEnvironment, script: &str) -> TestEnvironment {
    let path = std::env::var("PATH").expect("a path");
    let git = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .expect("git is installed");
    let text = format!("GIT='{}'\n{script}\nexec \"$GIT\" \"$@\"", git.display());
    std::fs::create_dir_all(environment.path("bin")).expect("a folder can be made");
    testkit::script::write(&environment.path("bin/git"), &text);
    environment.with("PATH", &format!("$T/bin:{path}"))
}

/// The last line on standard output must be the end of the run, with this outcome.
#[track_caller]
pub(crate) fn ends_as(ran: Ran, outcome: &str, exit: i32) -> Ran {
    let ran = ran.exits(exit);
    let lines = ran.json();
    let last = lines.last().expect("a last line");
    assert_eq!(last["type"], "run.ended", "{ran:#?}");
    assert_eq!(last["outcome"], outcome, "{ran:#?}");
    assert_eq!(last["exit"], exit, "{ran:#?}");
    ran
}

/// The name of the answer that a request asks for, as in `alpha/2.1`.
pub(crate) fn name_of(request: &RequestView) -> String {
    format!("{}.{}", asker(request), request.turn())
}

/// Whose attempt asks, by what it was told.
fn asker(request: &RequestView) -> &'static str {
    if request.mentions("Review the work on task `alpha`") {
        "alpha-review-2/1"
    } else if request.mentions("Make beta.") {
        "beta/1"
    } else if request.mentions("Attempt 1 was not enough") {
        "alpha/2"
    } else if request.mentions("Make alpha.") {
        "alpha/1"
    } else {
        "survey/1"
    }
}

fn answer(request: &RequestView, held: &Holds) -> Reply {
    let name = name_of(request);
    let reply = said(&name).usage(1_000 + 100 * request.turn() as u64, 50);
    let reply = match request.wire() {
        Wire::Chat => reply,
        // The server refuses whoever does not bring its thoughts back as they were.
        Wire::Messages => reply
            .thinking(
                &format!("n\u{e9}\u{2192} {name}"),
                &format!("EqQB/8+={name}"),
            )
            .redacted(&format!("Emw={name}")),
    };
    let held = held.lock().unwrap_or_else(PoisonError::into_inner);
    match &*held {
        Some((wanted, gate)) if *wanted == name => reply.after(gate),
        _ => reply,
    }
}

fn said(name: &str) -> Reply {
    let shell = serde_json::json!({"command": HELD_SHELL}).to_string();
    match name {
        "survey/1.1" => Reply::calls([
            ("list", "{}"),
            ("glob", r#"{"pattern":"checks/*.sh"}"#),
            ("grep", r#"{"pattern":"alpha"}"#),
            ("read", r#"{"path":"README.md"}"#),
            ("git", r#"{"args":["log","--oneline","-1"]}"#),
        ]),
        "survey/1.2" => Reply::text("There are two checks and nothing else."),
        "alpha/1.1" => Reply::calls([("write", r#"{"path":"alpha.txt","content":"one\n"}"#)]),
        "alpha/1.2" => Reply::calls([("shell", r#"{"command":"echo two >> alpha.txt"}"#)]),
        "alpha/1.3" => Reply::text("alpha.txt has what it needs."),
        "alpha/2.1" => Reply::calls([(
            "edit",
            r#"{"path":"alpha.txt","old":"two\n","new":"two\nthree\n"}"#,
        )]),
        "alpha/2.2" => Reply::text("alpha.txt has three lines now."),
        "alpha-review-2/1.1" => Reply::calls([
            ("read", r#"{"path":"alpha.txt"}"#),
            ("git", r#"{"args":["log","--oneline","-3"]}"#),
        ]),
        "alpha-review-2/1.2" => Reply::calls([(
            "verdict",
            r#"{"verdict":"approve","findings":"alpha.txt:1-3 are what was asked for."}"#,
        )]),
        "beta/1.1" => Reply::calls([
            ("write", r#"{"path":"beta.txt","content":"x\n"}"#),
            ("shell", shell.as_str()),
        ]),
        "beta/1.2" => Reply::calls([("read", r#"{"path":"beta.txt"}"#)]),
        "beta/1.3" => Reply::text("beta.txt has its lines."),
        _ => Reply::refusal(400, &format!("nobody answers {name}")),
    }
}
