//! From an empty folder to a roster that was checked; and every fault of a wrong one at once.

use crate::environment::{Ran, TestEnvironment};
use insta::assert_snapshot;

/// A roster of one task that a script plays back.
const SCRIPTED: &str = r#"model = "played/x"
[provider.played]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "look"
role = "scout"
prompt = "Look."
"#;

fn repository() -> TestEnvironment {
    TestEnvironment::new().with_repository()
}

/// Checks a roster with this text.
fn check(environment: &TestEnvironment, text: &str) -> Ran {
    environment.write("desk/roster.toml", text);
    environment.run(&["fleet", "check", "roster.toml"])
}

#[test]
fn init_writes_a_roster_that_can_be_checked_and_says_what_next() {
    let environment = repository();
    let ran = environment.run(&["fleet", "init"]).exits(0);
    assert_eq!(ran.stdout, "roster.toml\n");
    assert_snapshot!(ran.stderr, @"
    Next: edit the lines marked with <- in roster.toml, then look at the plan:
      codewhale fleet check roster.toml
    ");
    environment.run(&["fleet", "check", "roster.toml"]).exits(0);
}

#[test]
fn init_never_overwrites() {
    let environment = repository();
    environment.write("desk/roster.toml", "mine");
    let ran = environment.run(&["fleet", "init"]).exits(2);
    assert_eq!(ran.stdout, "");
    assert_snapshot!(ran.stderr, @"
    × `roster.toml` is there already
    help: name another file: codewhale fleet init FILE
    ");
    let text = std::fs::read_to_string(environment.path("desk/roster.toml"));
    assert_eq!(text.expect("a file"), "mine");
}

#[test]
fn init_knows_how_the_repository_is_put_to_the_test() {
    let environment = repository();
    environment.write("desk/Cargo.toml", "");
    environment.run(&["fleet", "init", "my.toml"]).exits(0);
    let text = std::fs::read_to_string(environment.path("desk/my.toml")).expect("a file");
    assert!(text.contains("cargo test -q"), "{text}");
}

#[test]
fn a_good_roster_is_shown_as_a_plan() {
    let environment = repository();
    environment.write("desk/turns.jsonl", "");
    let ran = check(&environment, SCRIPTED).exits(0);
    assert_eq!(ran.stderr, "");
    assert_snapshot!(ran.stdout, @"
    run     fleet from HEAD
    limits  8 agents, 2 attempts a task, 200 steps an attempt, 2h in all
    budget  no cap
    asks    played: nobody, plays back a file

    level 1
      look: scout (read) asks played/x
    ");
}

#[test]
fn a_plan_says_where_each_key_would_go() {
    let text = r#"model = "openai/m"
[role.builder]
model = "here/m"
[provider.here]
kind = "openai"
base_url = "http://127.0.0.1:1/v1"
key_env = "MY_KEY"
[[task]]
id = "a"
role = "scout"
prompt = "p"
[[task]]
id = "b"
role = "builder"
prompt = "p"
"#;
    let environment = repository().with("OPENAI_API_KEY", "sk-very-secret");
    let ran = check(&environment, text).exits(0);
    assert!(!ran.stdout.contains("secret"));
    let asks: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|l| l.contains("the key in"))
        .collect();
    assert_snapshot!(asks.join("\n"), @"
    asks    here: 127.0.0.1:1 with the key in MY_KEY (not set)
            openai: api.openai.com with the key in OPENAI_API_KEY
    ");
    assert_snapshot!(ran.stderr, @"note: MY_KEY is not set; a run would be refused");
}

#[test]
fn every_fault_is_shown_at_once() {
    let text = r#"max_parralel = 4

[role.builder]
modle = "m1"
access = "wrte"

[roles.scout]
model = "m1"

[[task]]
id = "t1"
role = "reviwer"
timeout = "10"
"#;
    let environment = repository();
    let ran = check(&environment, text).exits(2);
    assert_eq!(ran.stdout, "");
    let places = ran.stderr.lines().filter(|line| line.contains("-->"));
    let lines: Vec<&str> = places.filter_map(|line| line.split(':').nth(1)).collect();
    for line in ["1", "4", "5", "7", "12", "13"] {
        assert!(lines.contains(&line), "line {line} of {}", ran.stderr);
    }
}

#[test]
fn programs_get_the_findings_as_one_object() {
    let environment = repository();
    environment.write("desk/turns.jsonl", "");
    environment.write("desk/good.toml", SCRIPTED);
    environment.write("desk/bad.toml", &SCRIPTED.replace("scout", "scuot"));
    let object = |file: &str, code| {
        let ran = environment.run(&["fleet", "check", file, "--json"]);
        let lines = ran.exits(code).json();
        assert_eq!(lines.len(), 1);
        lines[0].clone()
    };
    let good = object("good.toml", 0);
    assert_eq!(good["schema"], "codewhale.check/1");
    assert_eq!(
        (&good["ok"], &good["plan"]["name"]),
        (&true.into(), &"fleet".into())
    );
    let bad = object("bad.toml", 2);
    assert_eq!(bad["schema"], "codewhale.check/1");
    assert_eq!(bad["ok"], false);
    assert_eq!(bad["findings"][0]["suggestion"], "scout");
    let missing = object("missing.toml", 2);
    assert_eq!(missing["type"], "error");
}

#[test]
fn a_file_that_a_roster_names_must_be_there() {
    let ran = check(&repository(), SCRIPTED).exits(2);
    assert!(ran.stderr.contains("turns.jsonl"), "{}", ran.stderr);
    assert!(ran.stderr.contains("roster.toml:4:10"), "{}", ran.stderr);
}

#[test]
fn checking_writes_nothing() {
    let environment = repository();
    environment.write("desk/turns.jsonl", "");
    check(&environment, SCRIPTED).exits(0);
    assert_eq!(
        environment.git(&["status", "--porcelain"]),
        "?? roster.toml\n?? turns.jsonl"
    );
    assert!(!environment.path("desk/.git/codewhale").exists());
    assert!(!environment.path("home/.local").exists());
}

#[test]
fn the_schema_is_json() {
    let ran = TestEnvironment::new().run(&["fleet", "schema"]).exits(0);
    let schema: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(schema["properties"]["task"]["type"], "array");
}

#[test]
fn the_users_configuration_fills_what_a_roster_leaves_open() {
    let text = r#"[[task]]
id = "a"
role = "scout"
prompt = "p"
"#;
    let with_config = |config: &str| {
        let environment = repository();
        environment.write("home/.config/codewhale/config.toml", config);
        environment
    };
    let without = check(&repository(), text).exits(2);
    assert!(without.stderr.contains("model"), "{}", without.stderr);

    let environment = with_config(
        r#"model = "ollama/q"
[limits]
agents = 3
"#,
    );
    let ran = check(&environment, text).exits(0);
    assert!(ran.stdout.contains("asks ollama/q"), "{}", ran.stdout);
    assert!(ran.stdout.contains("3 agents"), "{}", ran.stdout);

    let environment = environment.with("CODEWHALE_MODEL", "ollama/from-env");
    let ran = check(&environment, text).exits(0);
    assert!(
        ran.stdout.contains("asks ollama/from-env"),
        "{}",
        ran.stdout
    );

    let ran = check(&with_config("modle = \"x\"\n"), text).exits(2);
    assert!(ran.stderr.contains("config.toml:1:1"), "{}", ran.stderr);
}

#[test]
fn a_provider_can_be_asked_elsewhere() {
    let text = r#"[[task]]
id = "a"
role = "scout"
prompt = "p"
"#;
    let environment = repository()
        .with("CODEWHALE_PROVIDER", "openai")
        .with("CODEWHALE_MODEL", "m")
        .with("CODEWHALE_BASE_URL", "http://127.0.0.1:9/v1");
    let ran = check(&environment, text).exits(0);
    assert!(
        ran.stdout.contains("openai: 127.0.0.1:9 with"),
        "{}",
        ran.stdout
    );

    let environment = environment.with("CODEWHALE_BASE_URL", "http://example.com/v1");
    let ran = check(&environment, text).exits(2);
    assert!(ran.stderr.contains("CODEWHALE_BASE_URL"), "{}", ran.stderr);
    let environment = environment.with("ALLOW_INSECURE_HTTP", "1");
    check(&environment, text).exits(0);
}

#[test]
fn settings_in_force_are_shown_with_their_source() {
    let environment = TestEnvironment::new().with("CODEWHALE_MODEL", "ollama/m");
    environment.write(
        "home/.config/codewhale/config.toml",
        "[limits]\nagents = 3\n",
    );
    let ran = environment.run(&["config", "show"]).exits(0);
    assert_snapshot!(ran.stdout, @r#"
    limits.agents = 3  # $T/home/.config/codewhale/config.toml
    limits.attempts = 2  # default
    limits.steps = 200  # default
    limits.wall = "2h"  # default
    model = "ollama/m"  # CODEWHALE_MODEL
    "#);
    let ran = environment.run(&["config", "show", "--json"]).exits(0);
    let object = &ran.json()[0];
    assert_eq!(object["schema"], "codewhale.config-show/1");
    assert_eq!(object["settings"][0]["value"], 3);
}

#[test]
fn a_configuration_that_was_asked_for_must_be_there() {
    let environment = TestEnvironment::new();
    let ran = environment
        .run(&["config", "show", "--config", "no.toml"])
        .exits(2);
    assert_snapshot!(ran.stderr, @"
    × There is no configuration `$T/desk/no.toml`
    help: --config takes a file; `codewhale config path` prints the usual one
    ");
}
