//! Every command, asked wrongly or in the wrong place: one message with a way out, the right exit code, and
//! nothing made. The commands are read from the manual, so that a new one is tried as well.

use crate::environment::{Ran, TestEnvironment};
use std::collections::BTreeSet;

/// A roster whose only task answers at once.
const ROSTER: &str = r#"model = "played/x"
[provider.played]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "look"
role = "scout"
prompt = "Look."
"#;

/// A command that can be asked, with its usage line.
struct Asked {
    words: Vec<String>,
    usage: String,
    takes_run_option: bool,
}

/// Every command that has none below it.
fn commands() -> Vec<Asked> {
    let environment = TestEnvironment::new();
    let ran = environment.run(&["man", "--output", "../pages"]).exits(0);
    let names: BTreeSet<&str> = ran
        .stdout
        .lines()
        .filter_map(|path| path.rsplit('/').next()?.strip_suffix(".1"))
        .collect();
    let is_leaf = |name: &&&str| {
        let below = format!("{name}-");
        !names.iter().any(|other| other.starts_with(&below))
    };
    let asked = names.iter().filter(is_leaf).map(|name| {
        let words: Vec<String> = name.split('-').skip(1).map(str::to_owned).collect();
        let mut help: Vec<&str> = words.iter().map(String::as_str).collect();
        help.push("--help");
        let help = environment.run(&help).exits(0).stdout;
        let usage = help.lines().find(|line| line.starts_with("Usage: "));
        Asked {
            words,
            usage: usage.expect("a usage line").to_owned(),
            takes_run_option: help.contains("--run <RUN>"),
        }
    });
    asked.collect()
}

impl Asked {
    fn takes_run(&self) -> bool {
        self.takes_run_option || self.usage.contains("[RUN") || self.usage.contains("<RUN")
    }

    /// Its command line, with a word for everything that must be given, and this run where it takes one.
    fn line(&self, run: Option<&str>) -> Vec<String> {
        let mut line = self.words.clone();
        for part in self.usage.split_whitespace() {
            let name = part.trim_matches(['[', ']', '<', '>', '.']);
            match (name, run) {
                ("RUN" | "RUN|PATH", Some(run)) => line.push(run.to_owned()),
                ("RUN" | "RUN|PATH", None) if part.starts_with('<') => line.push("nope".to_owned()),
                ("TASK", _) if part.starts_with('<') => line.push("look".to_owned()),
                ("ROSTER", _) => line.push("../roster.toml".to_owned()),
                ("SHELL", _) => line.push("bash".to_owned()),
                ("FILE", _) => line.push("../new.toml".to_owned()),
                ("RUN" | "RUN|PATH" | "OPTIONS" | "COMMAND", _) => {}
                _ if part.starts_with('<') => line.push("words".to_owned()),
                _ => {}
            }
        }
        if let (true, Some(run)) = (self.takes_run_option, run) {
            line.extend(["--run".to_owned(), run.to_owned()]);
        }
        line
    }

    fn ask(&self, environment: &TestEnvironment, run: Option<&str>) -> Ran {
        let line = self.line(run);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let ran = environment.run(&line);
        let code = ran.code.expect("it ends by itself");
        let what = format!("{line:?}: {ran:#?}");
        assert!(matches!(code, 0 | 1 | 2 | 6 | 8), "{what}");
        assert!(!ran.stderr.contains("panicked"), "{what}");
        // What doctor finds is data, each with its hint; nothing went wrong in asking.
        if code != 0 && self.words != ["doctor"] {
            let has_way_out = ran.stderr.contains("help: ") || ran.stderr.contains("tip: ");
            assert!(has_way_out || ran.stderr.contains("--help"), "{what}");
            assert!(ran.stderr.lines().count() < 20, "{what}");
        }
        ran
    }
}

/// A repository with two runs whose ids begin alike.
fn with_two_runs() -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", ROSTER);
    environment.write(
        "turns.jsonl",
        "{\"task\":\"look\",\"turn\":1,\"text\":\"Seen.\"}\n",
    );
    for _ in 0..2 {
        environment
            .run(&["fleet", "run", "../roster.toml"])
            .exits(0);
    }
    environment
}

#[test]
fn a_run_that_is_not_there_is_named_by_every_command() {
    let environment = with_two_runs();
    let taking: Vec<Asked> = commands().into_iter().filter(Asked::takes_run).collect();
    assert!(taking.len() > 8, "{}", taking.len());
    for command in taking {
        let ran = command.ask(&environment, Some("nope")).exits(2);
        assert!(ran.stderr.contains("`nope`"), "{ran:#?}");
        assert!(ran.stderr.contains("fleet list"), "{ran:#?}");

        let ran = command.ask(&environment, Some("fleet-")).exits(2);
        assert!(ran.stderr.contains("fits several runs"), "{ran:#?}");
        assert_eq!(ran.stderr.matches("\nfleet-").count(), 1, "{ran:#?}");

        let ran = command.ask(&environment, Some("")).exits(2);
        assert!(ran.stderr.contains("empty"), "{ran:#?}");
    }
}

#[test]
fn commands_outside_of_a_repository_say_where_to_go() {
    let environment = TestEnvironment::new();
    environment.write("roster.toml", ROSTER);
    environment.write("turns.jsonl", "");
    for command in commands() {
        let ran = command.ask(&environment, None);
        if command.takes_run() && ran.code != Some(0) {
            let says = ["in no git repository", "outside of a repository"];
            assert!(
                says.iter().any(|words| ran.stderr.contains(words)),
                "{ran:#?}"
            );
        }
    }
    let desk = environment.path("desk").read_dir().expect("a folder");
    assert_eq!(desk.count(), 0);
}

#[test]
fn commands_in_a_repository_without_a_commit_make_nothing() {
    let environment = TestEnvironment::new().with_identity();
    environment.git(&["init", "-q"]);
    environment.write("roster.toml", ROSTER);
    environment.write("turns.jsonl", "");
    for command in commands() {
        command.ask(&environment, None);
    }
    let names = environment.path("desk").read_dir().expect("a folder");
    let names: Vec<_> = names.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, [".git"]);
    assert!(!environment.path("desk/.git/codewhale").exists());
}

#[test]
fn commands_without_a_home_work_or_say_what_to_set() {
    let environment = with_two_runs().with("HOME", "");
    for command in commands() {
        let ran = command.ask(&environment, None);
        if ran.stderr.contains("HOME is not set") {
            assert!(ran.stderr.contains("set HOME"), "{ran:#?}");
        }
    }
}

#[test]
fn a_name_that_no_folder_could_have_is_refused() {
    let environment = with_two_runs();
    for name in ["A B", "", "-x", "x/y", &"x".repeat(41)] {
        let name = format!("--name={name}");
        let ran = environment.run(&["fleet", "run", "../roster.toml", &name]);
        let ran = ran.exits(2);
        assert!(ran.stderr.contains("not starting with `-`"), "{ran:#?}");
    }
}

#[test]
fn a_roster_is_written_into_a_folder_that_is_made_for_it() {
    let environment = TestEnvironment::new().with_repository();
    let ran = environment.run(&["fleet", "init", "fleets/docs.toml"]);
    assert_eq!(ran.exits(0).stdout, "fleets/docs.toml\n");
    environment
        .run(&["fleet", "check", "fleets/docs.toml"])
        .exits(0);
    let ran = environment
        .run(&["fleet", "init", "README.md/x.toml"])
        .exits(8);
    assert!(ran.stderr.contains("codewhale fleet init FILE"), "{ran:#?}");
}
