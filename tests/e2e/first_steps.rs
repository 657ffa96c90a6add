//! What a newcomer types first, rightly and wrongly.

use crate::environment::TestEnvironment;
use insta::assert_snapshot;
use testkit::model_server::ModelServer;

#[test]
fn the_version_is_one_line_of_data() {
    let ran = TestEnvironment::new().run(&["--version"]).exits(0);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(ran.stdout, format!("codewhale {version}\n"));
    assert_eq!(ran.stderr, "");
}

#[test]
fn help_names_what_there_is() {
    let ran = TestEnvironment::new().run(&["--help"]).exits(0);
    assert_eq!(ran.stderr, "");
    assert_snapshot!(ran.stdout, @"
    A multi-agent coding fleet for the terminal.

    Write a roster of agents and tasks, let the fleet work on it in worktrees of its own, and look at
    what it made before you take it over.

    Usage: codewhale [OPTIONS] <COMMAND>

    Commands:
      fleet        Plan, run and look at fleets of agents
      exec         Let one agent work in the current folder
      ledger       Look at the ledger of a run, the file itself
      doctor       Check that everything is here that codewhale needs
      config       See which configuration is in force
      completions  Print the completions of a shell
      man          Print the manual, or write its pages

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Global options:
      -C <DIR>
              Work as if started in DIR

          --config <FILE>
              Read this configuration instead of the usual one

      -v, --verbose...
              Say more on standard error; twice says most

          --log <FILE>
              Append a trace of what happens to this file

          --color <WHEN>
              When to use colours

              Possible values:
              - auto:   In a terminal, unless NO_COLOR is set
              - always: Everywhere
              - never:  Nowhere
              
              [default: auto]

    First steps:
      codewhale doctor                   is everything here that is needed?
      codewhale fleet init               write a roster for this repository
      codewhale fleet check roster.toml  see the plan; nothing is written
    ");
}

#[test]
fn help_of_a_command_shows_examples() {
    let ran = TestEnvironment::new().run(&["doctor", "--help"]).exits(0);
    assert_snapshot!(ran.stdout, @"
    Check that everything is here that codewhale needs

    A warning says what would go less well; what is bad keeps fleets from working. Each comes with what
    to do about it.

    Usage: codewhale doctor [OPTIONS]

    Options:
          --probe
              Ask the providers whether they can be reached and take the key

          --json
              Print JSON instead of text

      -h, --help
              Print help (see a summary with '-h')

    Global options:
      -C <DIR>
              Work as if started in DIR

          --config <FILE>
              Read this configuration instead of the usual one

      -v, --verbose...
              Say more on standard error; twice says most

          --log <FILE>
              Append a trace of what happens to this file

          --color <WHEN>
              When to use colours

              Possible values:
              - auto:   In a terminal, unless NO_COLOR is set
              - always: Everywhere
              - never:  Nowhere
              
              [default: auto]

    Examples:
      codewhale doctor            look, ask nobody
      codewhale doctor --probe    also ask each provider with a key whether it answers; costs no tokens

    Exit codes:
      0 usable, warnings or not   2 git, repository or configuration   6 a provider that was asked
      8 a folder that cannot be used
    ");
}

#[test]
fn a_misspelt_command_is_met_with_the_nearest() {
    let ran = TestEnvironment::new().run(&["doktor"]).exits(2);
    assert_eq!(ran.stdout, "");
    assert_snapshot!(ran.stderr, @"
    error: unrecognized subcommand 'doktor'

      tip: a similar subcommand exists: 'doctor'

    Usage: codewhale [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn nothing_asked_shows_help_and_is_a_mistake() {
    let ran = TestEnvironment::new().run(&[]).exits(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("Usage: codewhale"), "{}", ran.stderr);
}

#[test]
fn a_folder_that_is_none_is_named() {
    let ran = TestEnvironment::new()
        .run(&["-C", "not-there", "config", "path"])
        .exits(2);
    assert_eq!(ran.stdout, "");
    assert_snapshot!(ran.stderr, @"
    × `not-there` is not a folder
    help: -C takes the folder to work in
    ");
}

#[test]
fn configuration_is_read_from_where_the_environment_says() {
    let check = |environment: TestEnvironment, arguments: &[&str], expected: &str| {
        let ran = environment.run(arguments).exits(0);
        assert_eq!(ran.stdout, format!("{expected}\n"));
        assert_eq!(ran.stderr, "");
    };
    let path = ["config", "path"];
    let new = TestEnvironment::new;
    check(new(), &path, "$T/home/.config/codewhale/config.toml");
    check(
        new().with("XDG_CONFIG_HOME", "$T/xdg"),
        &path,
        "$T/xdg/codewhale/config.toml",
    );
    check(
        new().with("CODEWHALE_HOME", "$T/cw"),
        &path,
        "$T/cw/config.toml",
    );
    check(
        new().with("CODEWHALE_HOME", "$T/cw"),
        &["config", "path", "--config", "my.toml"],
        "$T/desk/my.toml",
    );
    check(
        new(),
        &["-C", "..", "--config", "my.toml", "config", "path"],
        "$T/desk/../my.toml",
    );
}

#[test]
fn without_a_home_the_message_says_what_to_set() {
    let environment = TestEnvironment::new().with("HOME", "");
    let ran = environment.run(&["config", "path"]).exits(2);
    assert_snapshot!(ran.stderr, @"
    × HOME is not set, so there is no place for the configuration
    help: set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME
    ");
}

#[test]
fn doctor_finds_a_machine_usable() {
    let environment = TestEnvironment::new().with("OPENAI_API_KEY", "sk-very-secret");
    let ran = environment.run(&["doctor", "--json"]).exits(0);
    assert!(!ran.stdout.contains("sk-very-secret"));
    let lines = ran.json();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["schema"], "codewhale.doctor/1");
    assert_eq!(lines[0]["usable"], true);
    let names = lines[0]["checks"].as_array().expect("a list").iter();
    let names: Vec<&str> = names.filter_map(|check| check["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "git",
            "repository",
            "sandbox",
            "state",
            "clock",
            "locale",
            "config",
            "openai"
        ]
    );
}

#[test]
fn doctor_reads_the_configuration() {
    let environment = TestEnvironment::new();
    environment.write("home/.config/codewhale/config.toml", "modle = \"x\"\n");
    let ran = environment.run(&["doctor"]).exits(2);
    assert!(ran.stdout.contains("has 1 error"), "{}", ran.stdout);
    assert!(ran.stdout.contains("config show"), "{}", ran.stdout);
}

#[test]
fn doctor_asks_the_providers_at_hand_only_when_told_to() {
    let server = ModelServer::refusing_the_key("who are you");
    let environment = TestEnvironment::new().with("MY_KEY", "sk-very-secret");
    let config = "[provider.here]\nkind = \"openai\"\nbase_url = \"@URL@\"\nkey_env = \"MY_KEY\"\n";
    let config = config.replace("@URL@", &server.base_url());
    environment.write("home/.config/codewhale/config.toml", &config);
    let ran = environment.run(&["doctor"]).exits(0);
    assert!(
        ran.stdout.contains("with the key in MY_KEY"),
        "{}",
        ran.stdout
    );
    let ran = environment.run(&["doctor", "--probe"]).exits(6);
    assert!(ran.stdout.contains("who are you"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("sk-very-secret"), "{}", ran.stdout);
}

#[test]
fn doctor_leaves_no_file_behind() {
    let environment = TestEnvironment::new();
    environment.run(&["doctor"]).exits(0);
    let state = environment.path("home/.local/state/codewhale");
    assert_eq!(state.read_dir().expect("a folder").count(), 0);
}

#[test]
fn doctor_without_git_says_what_to_install() {
    let environment = TestEnvironment::new().with("PATH", "$T/home");
    let ran = environment.run(&["doctor"]).exits(2);
    assert!(ran.stdout.contains("install git"), "{}", ran.stdout);
}

#[test]
fn doctor_with_a_state_folder_that_cannot_be_one_is_a_storage_failure() {
    let environment = TestEnvironment::new().with("XDG_STATE_HOME", "$T/file");
    environment.write("file", "");
    let ran = environment.run(&["doctor"]).exits(8);
    assert!(ran.stdout.contains("XDG_STATE_HOME"), "{}", ran.stdout);
}
