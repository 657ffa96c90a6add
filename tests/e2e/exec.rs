//! One agent in the current folder.

use crate::environment::TestEnvironment;
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::model_server::{ModelServer, Reply, Script};

/// An environment whose model is asked at this server.
fn asking(server: &ModelServer) -> TestEnvironment {
    let config = format!(
        "model = \"here/m\"\n[provider.here]\nkind = \"openai\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    let environment = TestEnvironment::new();
    environment.write("home/.config/codewhale/config.toml", &config);
    environment
}

fn writing() -> Script {
    let write = r#"{"path":"made.txt","content":"made\n"}"#;
    Script::new()
        .turn("MAKE", 1, Reply::calls([("write", write)]))
        .turn("MAKE", 2, Reply::text("Made it."))
}

#[test]
fn the_answer_is_all_that_is_printed_on_standard_output() {
    let server = ModelServer::playing([Reply::text("Four.\nReally.")]);
    let ran = asking(&server).run(&["exec", "What is 2 + 2?"]).exits(0);
    assert_eq!(ran.stdout, "Four.\nReally.\n");
    assert!(server.requests()[0].mentions("What is 2 + 2?"));
}

#[test]
fn an_agent_that_may_only_read_has_no_tool_that_writes() {
    let server = ModelServer::playing([Reply::text("ok")]);
    asking(&server).run(&["exec", "Look."]).exits(0);
    let requests = server.requests();
    let tools = requests[0].tools();
    assert!(tools.contains(&"read"), "{tools:?}");
    assert!(
        !tools.contains(&"write") && !tools.contains(&"shell"),
        "{tools:?}"
    );
}

#[test]
fn an_agent_that_may_write_works_in_the_folder_itself() {
    for allowance in [&["--auto"][..], &["--access", "write"]] {
        let server = ModelServer::scripted(writing());
        let environment = asking(&server).with_repository();
        let ran = environment
            .run(&[&["exec", "MAKE it"], allowance].concat())
            .exits(0);
        assert_eq!(ran.stdout, "Made it.\n");
        assert_eq!(environment.git(&["status", "--porcelain"]), "?? made.txt");
        assert_eq!(environment.git(&["log", "--oneline"]).lines().count(), 1);
    }
}

#[test]
fn a_folder_without_a_repository_will_do() {
    let server = ModelServer::scripted(writing());
    let environment = asking(&server);
    environment.run(&["exec", "MAKE it", "--auto"]).exits(0);
    assert!(environment.path("desk/made.txt").exists());
}

#[test]
fn programs_get_every_record() {
    let server = ModelServer::playing([Reply::text("ok")]);
    let records = asking(&server)
        .run(&["exec", "Look.", "--json"])
        .exits(0)
        .json();
    let last = records.last().expect("a record");
    assert_eq!(
        (&last["type"], &last["exit"]),
        (&"run.ended".into(), &0.into())
    );
}

#[test]
fn a_prompt_can_come_from_standard_input() {
    let server = ModelServer::playing([Reply::text("ok")]);
    let environment = asking(&server);
    environment.write("desk/prompt.txt", "Look at \"this\" \\ and ${THAT}.\n");
    let mut command = environment.command(&["exec", "-"]);
    let prompt = std::fs::File::open(environment.path("desk/prompt.txt"));
    let output = command.stdin(prompt.expect("a file")).output();
    assert_eq!(output.expect("the binary starts").status.code(), Some(0));
    assert!(server.requests()[0].mentions("Look at \"this\" \\ and ${THAT}."));
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_starts() {
    let check = |environment: &TestEnvironment, arguments: &[&str], part: &str| {
        let ran = environment.run(&[&["exec"], arguments].concat()).exits(2);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
    };
    let bare = TestEnvironment::new();
    check(&bare, &["Look."], "No model is set");
    check(&bare, &["Look.", "--model", "gpt-5"], "provider/model");
    check(
        &bare,
        &["Look.", "--model", "nobody/gpt-5"],
        "unknown provider",
    );
    check(&bare, &[" \n", "--model", "openai/m"], "empty");
    check(&bare, &["Look.", "--access", "full"], "full");
    check(&bare, &["Look.", "--auto", "--access", "read"], "--auto");
    check(&bare, &[], "PROMPT");
}

#[test]
fn a_missing_key_is_named_with_what_to_set() {
    let environment = TestEnvironment::new();
    let ran = environment.run(&["exec", "Look.", "--model", "openai/m"]);
    assert_eq!(ran.stdout, "");
    assert_snapshot!(ran.stderr, @"
    × provider `openai`: the key for `api.openai.com` is missing: set OPENAI_API_KEY
    help: `export OPENAI_API_KEY=…`, or name another variable with `key_env`
    ");
}

#[test]
fn an_agent_that_fails_prints_nothing_as_its_answer() {
    let server = ModelServer::answering(|_| Reply::refusal(400, "no such model"));
    let ran = asking(&server).run(&["exec", "Look."]).exits(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("no such model"), "{}", ran.stderr);
}

#[test]
fn an_answer_that_was_cut_off_can_be_had_later() {
    let first = AtomicBool::new(true);
    let server = ModelServer::answering(move |_| {
        if first.swap(false, Ordering::SeqCst) {
            return Reply::bytes().stall();
        }
        Reply::text("Four.")
    });
    let environment = asking(&server).with_repository();
    let mut command = environment.command(&["exec", "What is 2 + 2?"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    server.wait_until(|seen| seen.in_flight == 1);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), Signal::INT).expect("a process of ours");
    assert_eq!(child.wait().expect("an end").code(), Some(130));

    let resumed = environment.run(&["fleet", "resume"]).exits(0);
    assert_eq!(resumed.stdout, "Four.\n");
}

#[test]
fn the_folder_it_worked_in_is_none_that_clean_speaks_of() {
    let server = ModelServer::scripted(writing());
    let environment = asking(&server).with_repository();
    environment.run(&["exec", "--auto", "MAKE it"]).exits(0);
    let cleaned = environment.run(&["fleet", "clean"]).exits(0);
    assert_eq!(cleaned.stdout, "0 folders removed\n");
    assert_eq!(environment.git(&["status", "--porcelain"]), "?? made.txt");
}
