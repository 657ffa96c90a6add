//! What is made from the definition of the commands: completions and manual pages.

use crate::environment::TestEnvironment;

/// Commands that every account of the command line names.
const COMMANDS: [&str; 5] = ["fleet", "exec", "ledger", "doctor", "completions"];

#[test]
fn completions_of_every_shell_name_the_commands() {
    let environment = TestEnvironment::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = environment.run(&["completions", shell]).exits(0);
        assert_eq!(ran.stderr, "", "{shell}");
        for command in COMMANDS {
            assert!(ran.stdout.contains(command), "{shell}: {command}");
        }
    }
    let ran = environment.run(&["completions", "command.com"]).exits(2);
    assert!(ran.stderr.contains("possible values"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn bash_completes_commands_and_options() {
    let environment = TestEnvironment::new();
    let script = environment.run(&["completions", "bash"]).exits(0).stdout;
    environment.write("completions.bash", &script);
    let check = |typed: &[&str], expected: &str| {
        let words: Vec<String> = typed.iter().map(|word| format!("'{word}'")).collect();
        let ask = format!(
            "source ../completions.bash; COMP_WORDS=({}); COMP_CWORD={}; _codewhale codewhale '{}' '{}'; echo \"${{COMPREPLY[*]}}\"",
            words.join(" "),
            typed.len() - 1,
            typed[typed.len() - 1],
            typed[typed.len() - 2],
        );
        let answer = environment
            .program("bash".as_ref(), &["--norc", "-c", &ask])
            .output()
            .expect("bash starts");
        let answer = environment.ran(&answer).exits(0).stdout;
        let found = answer.split_whitespace().any(|word| word == expected);
        assert!(found, "{typed:?}: {answer}");
    };
    check(&["codewhale", "fl"], "fleet");
    check(&["codewhale", "fleet", "res"], "resume");
    check(&["codewhale", "fleet", "run", "--bud"], "--budget");
    check(&["codewhale", "--color", ""], "never");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let environment = TestEnvironment::new();
    let printed = environment.run(&["man"]).exits(0);
    assert!(printed.stdout.contains(".TH codewhale 1"), "{printed:#?}");
    assert!(!environment.path("desk/pages").exists());

    let ran = environment.run(&["man", "--output", "pages/deep"]).exits(0);
    let pages: Vec<&str> = ran.stdout.lines().collect();
    for page in ["codewhale.1", "codewhale-fleet-run.1", "codewhale-man.1"] {
        let path = format!("$T/desk/pages/deep/{page}");
        assert!(pages.contains(&path.as_str()), "{pages:?}");
    }
    let page = environment.path("desk/pages/deep/codewhale-fleet-run.1");
    let page = std::fs::read_to_string(page).expect("a page");
    for words in [
        "codewhale fleet run",
        "--budget",
        "Examples:",
        "Exit codes:",
    ] {
        let found = page.replace("\\-", "-").contains(words);
        assert!(found, "{words} in {page}");
    }
    let listed = environment.path("desk/pages/deep").read_dir();
    assert_eq!(listed.expect("the folder").count(), pages.len());
}

#[test]
fn pages_that_cannot_be_written_are_named() {
    let environment = TestEnvironment::new();
    environment.write("desk/file", "");
    let ran = environment.run(&["man", "--output", "file"]).exits(8);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("$T/desk/file"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--output"), "{}", ran.stderr);
}
