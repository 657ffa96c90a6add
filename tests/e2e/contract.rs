//! What scripts rely on: standard output, exit codes, pipes that close early, and paths and variables as the
//! person wrote them.

use crate::environment::{Ran, TestEnvironment};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use testkit::model_server::{ModelServer, Reply};

/// Two scouts that ask a server.
const ROSTER: &str = r#"model = "wire/m"
[provider.wire]
kind = "openai"
base_url = "$URL"
[limits]
attempts = 1
[[task]]
id = "one"
role = "scout"
prompt = "Look at one."
[[task]]
id = "two"
role = "scout"
prompt = "Look at two."
"#;

fn repository(server: &ModelServer) -> TestEnvironment {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", &ROSTER.replace("$URL", &server.base_url()));
    environment
}

#[test]
fn every_line_for_programs_is_json_and_the_last_one_is_the_end() {
    let check = |server: ModelServer, exit: i32, end: &str| {
        let environment = repository(&server);
        let ran = environment
            .run(&["fleet", "run", "../roster.toml", "--json"])
            .exits(exit);
        let last = ran.json().pop().expect("an end");
        let kind = last["type"].as_str();
        assert!(matches!(kind, Some("run.ended" | "error")), "{last}");
        assert_eq!(last["exit"], exit);
        let word = last.get("outcome").or(last.get("kind"));
        assert_eq!(word.and_then(|word| word.as_str()), Some(end), "{last}");
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.is_empty());
    };
    let good = ModelServer::answering(|_| Reply::text("Seen."));
    check(good, 0, "done");
    let refusing = ModelServer::refusing_the_key("who are you");
    check(refusing, 6, "provider");
    let half = ModelServer::answering(|request| {
        if request.mentions("Look at one.") {
            Reply::text("Seen.")
        } else {
            Reply::refusal(400, "not like this")
        }
    });
    check(half, 3, "partial");
}

#[test]
fn a_broken_roster_ends_with_an_error_for_programs() {
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", "modle = \"x\"\n[[task]\n");
    let ran = environment
        .run(&["fleet", "run", "../roster.toml", "--json"])
        .exits(2);
    let lines = ran.json();
    assert_eq!(lines.len(), 1, "{ran:#?}");
    assert_eq!(lines[0]["type"], "error");
    assert_eq!(lines[0]["exit"], 2);
    assert!(ran.stderr.contains("modle"), "{ran:#?}");
}

/// Starts the binary, reads its first line as `head -n 1` does, and hangs up. Returns that line, what was
/// said, and the exit code.
fn first_line_of(environment: &TestEnvironment, arguments: &[&str]) -> (String, String, i32) {
    let mut child = environment
        .command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let mut data = BufReader::new(child.stdout.take().expect("a pipe"));
    data.read_line(&mut line).expect("a line");
    drop(data);
    let mut said = String::new();
    let mut talk = child.stderr.take().expect("a pipe");
    talk.read_to_string(&mut said).expect("talk is text");
    let status = child.wait().expect("it ends");
    (line, said, status.code().expect("it ends by itself"))
}

#[test]
fn a_reader_of_one_line_ends_the_printing_and_not_the_run() {
    let server = ModelServer::answering(|_| Reply::text("Seen."));
    let environment = repository(&server);
    let run = ["fleet", "run", "../roster.toml", "--json"];
    let (line, said, code) = first_line_of(&environment, &run);
    assert!(line.contains("run.opened"), "{line}");
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(code, 0, "{said}");
    let status = environment.run(&["fleet", "status", "--json"]).exits(0);
    assert_eq!(status.json()[0]["state"], "done");
}

#[test]
fn a_reader_of_one_line_of_a_long_run_is_no_failure() {
    let environment = TestEnvironment::new().with_repository();
    let turn = |n: u32| {
        let arguments = format!("{{\"path\":\"README.md\",\"offset\":{}}}", n + 1);
        format!(
            "{{\"task\":\"look\",\"turn\":{n},\"text\":\"\",\"calls\":[{{\"name\":\"read\",\"arguments\":{arguments}}}]}}\n"
        )
    };
    let last = "{\"task\":\"look\",\"turn\":151,\"text\":\"Seen.\"}\n".to_owned();
    let turns: String = (1..=150).map(turn).chain([last]).collect();
    environment.write("turns.jsonl", &turns);
    let roster = "model = \"played/x\"\n[provider.played]\nkind = \"scripted\"\nscript = \"turns.jsonl\"\n[[task]]\nid = \"look\"\nrole = \"scout\"\nprompt = \"Look.\"\n";
    environment.write("roster.toml", roster);
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    for arguments in [
        &["fleet", "logs"][..],
        &["fleet", "logs", "--json"],
        &["fleet", "status"],
        &["fleet", "status", "--json"],
        &["fleet", "list"],
        &["ledger", "show"],
        &["ledger", "show", "--json"],
        &["fleet", "inspect", "look"],
    ] {
        let (line, said, code) = first_line_of(&environment, arguments);
        assert!(line.ends_with('\n'), "{arguments:?}: {line}");
        assert_eq!((said.as_str(), code), ("", 0), "{arguments:?}");
    }
    let file = environment.run(&["fleet", "status"]).exits(0);
    assert!(!file.stdout.contains('\u{1b}'), "{file:#?}");
}

/// A roster with the home sign, variables and their escape.
const PLACES: &str = r#"model = "wire/$${URL}"
[provider.wire]
kind = "openai"
base_url = "${URL}/v1"
[workspace]
copy = ["~/proj dir/cache/kept", "a/~/b"]
[[task]]
id = "make"
role = "builder"
prompt = "Make ${X} of it."
check = ["test -z \"${X}\" && test -s here.txt"]
"#;

/// A repository in `my home/proj dir`, with ignored files, and `PLACES` as its roster.
fn with_blanks() -> TestEnvironment {
    let environment = TestEnvironment::new()
        .with("HOME", "$T/my home")
        .with_repository();
    environment.write("desk/.gitignore", "/cache\n/a\n");
    environment.git(&["add", "-A"]);
    environment.git(&["commit", "-qm", "Ignore"]);
    environment.write("desk/cache/kept", "from the cache\n");
    environment.write("desk/a/~/b", "from the middle\n");
    environment.write("my home/.keep", "");
    let desk = environment.path("my home/proj dir");
    std::fs::rename(environment.path("desk"), desk).expect("it can be moved");
    std::fs::create_dir(environment.path("desk")).expect("a folder");
    environment.write("roster.toml", PLACES);
    environment
}

/// Asks `fleet` this about the roster, from the folder with the blank.
fn ask(environment: &TestEnvironment, command: &str) -> Ran {
    let there = ["-C", "../my home/proj dir", "fleet", command];
    environment.run(&[&there[..], &["../../roster.toml"]].concat())
}

#[test]
fn homes_variables_and_blanks_stand_for_what_was_meant() {
    let server = ModelServer::answering(|request| match (request.is_probe(), request.turn()) {
        (false, 1) => Reply::calls([(
            "shell",
            r#"{"command":"pwd > here.txt; git status -sb >> here.txt; cat cache/kept 'a/~/b' >> here.txt"}"#,
        )]),
        _ => Reply::text("It is made."),
    });
    let url = server.base_url();
    let url = url.strip_suffix("/v1").expect("the base of the server");
    let environment = with_blanks().with("URL", url);
    ask(&environment, "run").exits(0);
    let requests = server.requests();
    let asked: Vec<_> = requests.iter().filter(|one| !one.is_probe()).collect();
    assert_eq!(asked[0].json["model"], "${URL}");
    assert!(asked[0].mentions("Make ${X} of it."));

    let git = |arguments: &[&str]| {
        let there = ["-C", "../my home/proj dir"];
        environment.git(&[&there[..], arguments].concat())
    };
    let landed = "refs/heads/codewhale/*/integration";
    let branch = git(&["for-each-ref", "--format=%(refname)", landed]);
    let here = git(&["show", &format!("{branch}:here.txt")]);
    for words in [
        "$T/my home/",
        "## codewhale/",
        "from the cache",
        "from the middle",
    ] {
        assert!(here.contains(words), "{words}: {here}");
    }
    for below in ["~", "desk/~", "my home/~", "my home/proj dir/~"] {
        assert!(!environment.path(below).exists(), "{below}");
    }
}

#[test]
fn a_variable_or_home_that_is_not_set_is_named_where_it_is_needed() {
    let refused = |environment: &TestEnvironment, words: &[&str]| {
        let ran = ask(environment, "check").exits(2);
        for words in words {
            assert!(ran.stderr.contains(words), "{words}: {ran:#?}");
        }
    };
    let environment = with_blanks();
    refused(&environment, &["`URL` is not set", "`base_url`", ":4:12"]);
    let environment = environment.with("URL", "http://127.0.0.1:1");
    ask(&environment, "check").exits(0);

    let homeless = environment.clone().with("HOME", "");
    refused(&homeless, &["HOME is not set", "`copy`", ":6:9"]);
    environment.write("roster.toml", &PLACES.replace("~/proj dir/", ""));
    ask(&homeless, "check").exits(0);
    environment.write("roster.toml", &PLACES.replace("~/proj dir", "~nobody"));
    refused(&environment, &["`~nobody`", ":6:9"]);
}
