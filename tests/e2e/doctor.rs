//! What `doctor` finds wrong, each with what to do about it.

use crate::crew::Crew;
use crate::environment::{Ran, TestEnvironment};
use rustix::process::Signal;
use testkit::script;

/// The only check of this name.
#[track_caller]
fn check(ran: &Ran, name: &str) -> serde_json::Value {
    let all = ran.json().remove(0);
    let checks = all["checks"].as_array().expect("a list").iter();
    let mut found = checks.filter(|check| check["name"] == name);
    let check = found.next().unwrap_or_else(|| panic!("{name}: {ran:#?}"));
    assert_eq!(found.next(), None, "{name} twice");
    check.clone()
}

/// Doctor finds this, with such a verdict and such words in what it says and in its hint.
#[track_caller]
fn finds(environment: &TestEnvironment, exit: i32, name: &str, expected: [&str; 3]) {
    let ran = environment.run(&["doctor", "--json"]).exits(exit);
    let found = check(&ran, name);
    let [verdict, says, hint] = expected;
    assert_eq!(found["verdict"], verdict, "{found}");
    for (key, words) in [("says", says), ("hint", hint)] {
        let text = found[key].as_str().unwrap_or_default();
        assert!(text.contains(words), "{words} in {key} of {found}");
    }
    assert_eq!(ran.json()[0]["usable"], exit == 0);
}

#[test]
fn a_git_that_is_too_old_is_named_with_the_one_that_is_needed() {
    let environment = TestEnvironment::new().with_repository();
    std::fs::create_dir(environment.path("bin")).expect("a folder");
    script::write(&environment.path("bin/git"), "echo git version 2.20.1");
    let path = std::env::var("PATH").expect("a path");
    let environment = environment.with("PATH", &format!("$T/bin:{path}"));
    finds(
        &environment,
        2,
        "git",
        ["bad", "2.20.1", "install git 2.38"],
    );
}

#[test]
fn a_folder_without_repository_or_commit_is_no_fault_of_the_machine() {
    let environment = TestEnvironment::new().with_identity();
    let hint = "exec";
    finds(
        &environment,
        0,
        "repository",
        ["warning", "not in a git repository", hint],
    );
    environment.git(&["init", "-q"]);
    finds(
        &environment,
        0,
        "repository",
        ["warning", "no commit", hint],
    );
}

#[test]
fn a_repository_that_cannot_be_worked_in_is_bad() {
    let environment = TestEnvironment::new().with_identity();
    environment.git(&["init", "-q", "--bare", "."]);
    finds(
        &environment,
        2,
        "repository",
        ["bad", "bare", "cannot work"],
    );
}

#[test]
fn a_folder_of_runs_that_cannot_be_written_is_named() {
    let environment = TestEnvironment::new().with_repository();
    finds(
        &environment,
        0,
        "runs",
        ["good", "$T/desk/.git/codewhale/runs", ""],
    );
    assert!(!environment.path("desk/.git/codewhale").exists());
    environment.write("desk/.git/codewhale", "");
    let expected = ["bad", "$T/desk/.git/codewhale", "right to write"];
    finds(&environment, 8, "runs", expected);
}

#[test]
fn a_locale_that_is_not_utf8_is_a_warning() {
    let environment = TestEnvironment::new().with("LANG", "C");
    finds(&environment, 0, "locale", ["warning", "LANG=C", "C.UTF-8"]);
}

#[test]
fn runs_that_nobody_goes_on_with_are_named() {
    let crew = Crew::new();
    crew.hold_answer("alpha/1.1");
    let started = crew.start();
    crew.wait_until_asked("alpha/1.1", 0);
    started.signal(Signal::KILL);
    let _ = started.ended();
    crew.environment.is_left_by_all();
    let id = crew.run_id();
    finds(
        &crew.environment,
        0,
        "open runs",
        ["warning", &id, "fleet resume"],
    );
    crew.give_answer();

    let ledger = crew.ledger();
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    std::fs::write(&ledger, text.replacen("run.opened", "run.0pened", 1)).expect("a ledger");
    let hint = "ledger verify";
    finds(&crew.environment, 0, "damaged runs", ["warning", &id, hint]);
}

#[test]
fn a_lock_of_git_that_was_left_is_named() {
    let environment = TestEnvironment::new().with_repository();
    environment.write("desk/.git/index.lock", "");
    let lock = "$T/desk/.git/index.lock";
    finds(&environment, 0, "git lock", ["warning", lock, "remove"]);
}

#[test]
fn a_socket_that_nobody_listens_at_is_named() {
    let environment = TestEnvironment::new().with("XDG_RUNTIME_DIR", "$T/run");
    environment.write("run/codewhale/note", "");
    let socket = environment.path("run/codewhale/left.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
    finds(
        &environment,
        0,
        "sockets",
        ["warning", "left.sock", "removed"],
    );
}

#[test]
fn an_address_that_keys_must_not_go_to_is_a_fault_of_the_configuration() {
    let environment = TestEnvironment::new();
    let text = "[provider.far]\nkind = \"openai\"\nbase_url = \"http://models.example/v1\"\n";
    environment.write("home/.config/codewhale/config.toml", text);
    finds(&environment, 2, "config", ["bad", "1 error", "config show"]);
    let ran = environment.run(&["config", "show"]).exits(2);
    assert!(ran.stderr.contains("ALLOW_INSECURE_HTTP"), "{ran:#?}");
}

#[test]
fn a_provider_that_cannot_be_reached_says_what_to_look_at() {
    let environment = TestEnvironment::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let text = format!(
        "[provider.near]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\nkey_env = \"NEAR_KEY\"\n"
    );
    environment.write("home/.config/codewhale/config.toml", &text);
    finds(
        &environment,
        0,
        "near",
        ["warning", "NEAR_KEY is not set", "export NEAR_KEY"],
    );
    let environment = environment.with("NEAR_KEY", "sk-very-secret");
    let ran = environment.run(&["doctor", "--probe"]).exits(6);
    assert!(ran.stdout.contains(&address.to_string()), "{ran:#?}");
    assert!(ran.stdout.contains("its address, its key"), "{ran:#?}");
    assert!(!ran.stdout.contains("very-secret"), "{ran:#?}");
}
