//! What whole runs cost: the real binary with real git in a repository of its own, measured from
//! outside. Prints a table and never judges it: figures are compared in `docs/performance.md`.
//!
//! `cargo bench -p codewhale --bench fleet` measures everything; words after `--` choose the rows
//! whose names hold one of them.

mod ground;
mod large;
mod measure;
mod plan;

use ground::Ground;
use measure::{Cost, measured, print_head, print_row};
use plan::{Builders, Readers};
use std::process::ExitCode;
use testkit::model_server::{ModelServer, Reply};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(end) = measure::run_if_asked(&arguments) {
        return end;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    print_head();
    for (name, rounds, row) in ROWS {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            print_row(name, &row(*rounds));
        }
    }
    ExitCode::SUCCESS
}

/// Measures something this often.
type Row = fn(usize) -> Vec<Cost>;

const ROWS: &[(&str, usize, Row)] = &[
    ("--version", 30, version),
    ("exec, one tool round, HTTP", 20, exec),
    ("10 readers, empty state", 10, |rounds| {
        few(rounds, &Ground::new())
    }),
    ("10 readers, 20,000 finished tasks", 10, |rounds| {
        few(rounds, &used())
    }),
    ("list of 1,005 runs", 5, list),
    ("status of 100,000 lines", 20, |rounds| {
        reading(rounds, &["fleet", "status", "--json"])
    }),
    ("ledger verify of 100,000 lines", 10, |rounds| {
        reading(rounds, &["ledger", "verify"])
    }),
    ("200 readers, 16 at once, script", 5, |rounds| {
        readers(rounds, 200, 16)
    }),
    ("200 readers, 16 at once, HTTP", 5, readers_over_http),
    ("1,000 readers, 64 at once, script", 3, |rounds| {
        readers(rounds, 1_000, 64)
    }),
    ("200 readers at once, answers after 1 s", 5, slow_readers),
    ("8 builders, script", 5, builders),
    ("8 builders' git work alone", 5, bare_git),
    ("16 builders, 2 at once, 20,000 files", 3, pooled),
    ("that git work alone, pooled", 3, bare_git_pooled),
];

/// As many tasks as agents: each gets a worktree of its own.
const EIGHT: Builders = Builders {
    tasks: 8,
    agents: 8,
};
/// Eight tasks for each worktree, in a repository where making one is dear.
const POOLED: Builders = Builders {
    tasks: 16,
    agents: 2,
};
const LARGE: usize = 20_000;

fn version(rounds: usize) -> Vec<Cost> {
    let ground = Ground::new();
    repeat(rounds, || measured(&ground.codewhale(&["--version"])))
}

fn exec(rounds: usize) -> Vec<Cost> {
    let server = reading_server();
    let ground = Ground::new();
    ground.write(
        "home/.config/codewhale/config.toml",
        &format!(
            "model = \"here/m\"\n{}",
            plan::http_provider(&server.base_url())
        ),
    );
    let command = ground.codewhale(&["exec", "Say what is in src/0.txt."]);
    repeat(rounds, || measured(&command))
}

fn few(rounds: usize, ground: &Ground) -> Vec<Cost> {
    let roster = ground.order(
        &Readers {
            tasks: 10,
            agents: 10,
        }
        .scripted(),
    );
    repeat(rounds, || measured(&ground.run(&roster)))
}

/// A ground with 1,000 runs of ten finished tasks and five of 2,000; one roster takes no 10,000.
fn used() -> Ground {
    let ground = Ground::new();
    for (tasks, runs) in [(10, 1_000), (2_000, 5)] {
        let agents = 64;
        let roster = ground.order(&Readers { tasks, agents }.scripted());
        measured(&ground.run(&roster));
        ground.multiply_the_newest_run(runs);
    }
    ground
}

fn list(rounds: usize) -> Vec<Cost> {
    let ground = used();
    repeat(rounds, || measured(&ground.codewhale(&["fleet", "list"])))
}

/// A command that reads one large ledger.
fn reading(rounds: usize, arguments: &[&str]) -> Vec<Cost> {
    let ground = Ground::new();
    ground.put_run(large::RUN, &large::ledger(100_000));
    repeat(rounds, || measured(&ground.codewhale(arguments)))
}

fn readers(rounds: usize, tasks: usize, agents: usize) -> Vec<Cost> {
    let ground = Ground::new();
    let roster = ground.order(&Readers { tasks, agents }.scripted());
    repeat(rounds, || measured(&ground.run(&roster)))
}

/// Two answers each: nothing can be done in less than 2 s.
fn slow_readers(rounds: usize) -> Vec<Cost> {
    let ground = Ground::new();
    let readers = Readers {
        tasks: 200,
        agents: 200,
    };
    let roster = ground.order(&readers.scripted_after(1_000));
    repeat(rounds, || measured(&ground.run(&roster)))
}

fn readers_over_http(rounds: usize) -> Vec<Cost> {
    let ground = Ground::new();
    let readers = Readers {
        tasks: 200,
        agents: 16,
    };
    repeat(rounds, || {
        let server = reading_server();
        measured(&ground.run(&ground.order(&readers.over_http(&server.base_url()))))
    })
}

fn builders(rounds: usize) -> Vec<Cost> {
    repeat(rounds, || {
        let ground = Ground::new();
        let roster = ground.order(&EIGHT.scripted());
        measured(&ground.run(&roster))
    })
}

fn bare_git(rounds: usize) -> Vec<Cost> {
    repeat(rounds, || {
        let ground = Ground::new();
        measured(&ground.shell(&EIGHT.by_hand()))
    })
}

fn pooled(rounds: usize) -> Vec<Cost> {
    repeat(rounds, || {
        let ground = Ground::of_files(LARGE);
        let roster = ground.order(&POOLED.scripted());
        measured(&ground.run(&roster))
    })
}

fn bare_git_pooled(rounds: usize) -> Vec<Cost> {
    repeat(rounds, || {
        let ground = Ground::of_files(LARGE);
        measured(&ground.shell(&POOLED.by_hand_pooled()))
    })
}

fn repeat(rounds: usize, mut once: impl FnMut() -> Cost) -> Vec<Cost> {
    (0..rounds).map(|_| once()).collect()
}

/// A server that lets every agent read one file and then finish.
fn reading_server() -> ModelServer {
    ModelServer::answering(|request| match request.turn() {
        1 => Reply::calls([("read", r#"{"path":"src/0.txt"}"#)]).usage(900, 20),
        _ => Reply::text("It holds words.").usage(1_000, 10),
    })
}
