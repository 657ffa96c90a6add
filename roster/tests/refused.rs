//! Rosters that are refused: which faults, where, and what was meant.

mod surroundings;

use roster::{Code, Diagnostic, Position, Source, load, parse_user_config, render};
use surroundings::Around;

/// Line and offending text of every finding, in order.
fn places(text: &str, found: &[Diagnostic]) -> Vec<(usize, String)> {
    let source = Source {
        name: "roster.toml",
        text,
    };
    found
        .iter()
        .map(|diagnostic| {
            let Position { line, .. } = source.position(diagnostic.span.start);
            (line, source.slice(diagnostic.span).to_owned())
        })
        .collect()
}

/// Everything that is wrong with a roster.
fn refusals(text: &str) -> Vec<Diagnostic> {
    match Around::default().with(|around| load(text, around)) {
        Ok(_) => panic!("accepted: {text}"),
        Err(found) => found,
    }
}

/// Line, offending text and message of what is wrong with a roster.
fn check(text: &str, expected: &[(usize, &str, &str)]) {
    let found = refusals(text);
    let places = places(text, &found);
    let found: Vec<(usize, &str, &str)> = places
        .iter()
        .zip(&found)
        .map(|((line, slice), diagnostic)| (*line, slice.as_str(), diagnostic.message.as_str()))
        .collect();
    assert_eq!(found, expected, "{text}");
}

const TYPING_MISTAKES: &str = r#"max_parralel = 4

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

#[test]
fn all_typing_mistakes_are_listed_at_once() {
    check(
        TYPING_MISTAKES,
        &[
            (1, "max_parralel", "unknown key `max_parralel`"),
            (4, "modle", "unknown key `modle` in [role.builder]"),
            (5, "\"wrte\"", "`wrte` is not a value of `access`"),
            (7, "roles.scout", "unknown table `[roles.scout]`"),
            (12, "\"reviwer\"", "unknown role `reviwer`"),
            (13, "\"10\"", "`10` has no unit"),
        ],
    );
}

#[test]
fn typing_mistakes_come_with_what_was_meant() {
    let meant: Vec<Option<String>> = refusals(TYPING_MISTAKES)
        .into_iter()
        .map(|diagnostic| diagnostic.suggestion)
        .collect();
    let expected = ["limits.agents", "model", "write", "role.scout", "reviewer"];
    let expected: Vec<Option<String>> = expected
        .iter()
        .map(|word| Some((*word).to_owned()))
        .chain([None])
        .collect();
    assert_eq!(meant, expected);
}

#[test]
fn typing_mistakes_are_shown_with_their_lines() {
    let found = refusals(TYPING_MISTAKES);
    let source = Source {
        name: "roster.toml",
        text: TYPING_MISTAKES,
    };
    insta::assert_snapshot!(render::to_text(&source, &found), @r#"
error: unknown key `max_parralel`
 --> roster.toml:1:1
  |
1 | max_parralel = 4
  | ^^^^^^^^^^^^ did you mean `limits.agents`?
  = hint: `agents` stands in [limits]

error: unknown key `modle` in [role.builder]
 --> roster.toml:4:1
  |
4 | modle = "m1"
  | ^^^^^ did you mean `model`?

error: `wrte` is not a value of `access`
 --> roster.toml:5:10
  |
5 | access = "wrte"
  |          ^^^^^^ did you mean `write`?
  = hint: one of `read`, `write`

error: unknown table `[roles.scout]`
 --> roster.toml:7:2
  |
7 | [roles.scout]
  |  ^^^^^^^^^^^ did you mean `role.scout`?

error: unknown role `reviwer`
  --> roster.toml:12:8
   |
12 | role = "reviwer"
   |        ^^^^^^^^^ did you mean `reviewer`?

error: `10` has no unit
  --> roster.toml:13:11
   |
13 | timeout = "10"
   |           ^^^^
   = hint: write "10s", "10m" or "10h"
"#);
}

const TOP: &str = "model = \"local/m\"\n[provider.local]\nkind = \"openai\"\nbase_url = \"http://localhost/v1\"\n";

/// A roster of tasks that are complete but for what is tested: four lines of preamble, then `tasks`.
fn with_tasks(tasks: &str) -> String {
    format!("{TOP}{tasks}")
}

#[test]
fn broken_dependencies_are_refused_with_the_circle_or_the_name() {
    check(
        &with_tasks(
            "[[task]]\nid = \"x\"\nprompt = \"p\"\nneeds = [\"y\"]\n[[task]]\nid = \"y\"\nprompt = \"p\"\nneeds = [\"x\"]\n",
        ),
        &[(
            8,
            "\"y\"",
            "tasks wait for each other: `x` needs `y` needs `x`",
        )],
    );
    check(
        &with_tasks("[[task]]\nid = \"z\"\nprompt = \"p\"\nneeds = [\"z\"]\n"),
        &[(8, "\"z\"", "task `z` needs itself")],
    );
    check(
        &with_tasks("[[task]]\nid = \"q\"\nprompt = \"p\"\nneeds = [\"nope\"]\n"),
        &[(8, "\"nope\"", "unknown task `nope`")],
    );
    check(
        &with_tasks(
            "[[task]]\nid = \"a\"\nprompt = \"p\"\nneeds = [\"a\"]\n[[task]]\nid = \"a\"\nprompt = \"p\"\n",
        ),
        &[
            (8, "\"a\"", "task `a` needs itself"),
            (10, "\"a\"", "two tasks have the id `a`"),
        ],
    );
}

#[test]
fn a_key_is_not_passed_to_commands() {
    let text = r#"model = "server/m"
[workspace]
pass_env = ["FOO", "MY_KEY"]
[provider.server]
kind = "openai"
base_url = "https://elsewhere.example/v1"
key_env = "MY_KEY"
[[task]]
id = "a"
prompt = "p"
"#;
    let messages: Vec<String> = refusals(text).into_iter().map(|one| one.message).collect();
    assert_eq!(
        messages,
        ["`MY_KEY` holds the key of a provider, which no command gets to see"]
    );
}

#[test]
fn budgets_that_are_no_budgets_are_refused() {
    for (value, message) in [
        ("0", "`tokens` must be at least 1, not 0"),
        ("-1", "`tokens` must be at least 1, not -1"),
        ("\"abc\"", "`tokens` takes a whole number, not a text"),
        (
            "1.5",
            "`tokens` takes a whole number, not a number with a fraction",
        ),
        (
            "99999999999999999999999999999999999999999",
            "the number of `tokens` is too large",
        ),
    ] {
        let text = with_tasks(&format!(
            "[budget]\ntokens = {value}\n[[task]]\nid = \"a\"\nprompt = \"p\"\n"
        ));
        check(&text, &[(6, value, message)]);
    }
}

/// A roster with one more line in the table that `place` names; the line is the last one.
fn with_line(place: &str, line: &str) -> String {
    let task = "[[task]]\nid = \"a\"\nprompt = \"p\"\nrole = \"builder\"\n";
    let model = "model = \"local/m\"\n";
    let provider = "[provider.local]\nkind = \"openai\"\nbase_url = \"http://localhost/v1\"\n";
    match place {
        "" => format!(
            "provider.local = {{ kind = \"openai\", base_url = \"http://localhost/v1\" }}\ntask = [{{ id = \"a\", prompt = \"p\" }}]\n{line}\n"
        ),
        "task" => format!("{model}{provider}{task}{line}\n"),
        "role" => format!("{model}{provider}{task}[role.builder]\n{line}\n"),
        "provider" => format!("{model}{task}[provider.local]\n{line}\n"),
        table => format!("{model}{provider}{task}[{table}]\n{line}\n"),
    }
}

#[test]
fn every_key_refuses_every_wrong_type() {
    let values = [
        ("text", "\"x y/\\u0000\""),
        ("number", "-7"),
        ("fraction", "1.5"),
        ("truth", "true"),
        ("date", "1979-05-27"),
        ("list", "[1]"),
        ("table", "{ zz = 1 }"),
    ];
    // The key, and the types that may be right.
    let keys = [
        ("", "name", "text"),
        ("", "model", "text"),
        ("", "goal", "text"),
        ("", "base", "text"),
        ("", "limits", "table"),
        ("", "budget", "table"),
        ("", "workspace", "table"),
        ("", "role", "table"),
        ("limits", "agents", "number"),
        ("limits", "attempts", "number"),
        ("limits", "steps", "number"),
        ("limits", "wall", "text"),
        ("budget", "tokens", "number"),
        ("workspace", "copy", "list"),
        ("workspace", "pass_env", "list"),
        ("workspace", "demo", "text"),
        ("provider", "kind", "text"),
        ("provider", "base_url", "text"),
        ("provider", "key_env", "text"),
        ("provider", "script", "text"),
        ("role", "model", "text"),
        ("role", "access", "text"),
        ("role", "network", "truth"),
        ("role", "tools", "list"),
        ("role", "instructions", "text"),
        ("role", "agents", "number"),
        ("role", "effort", "text"),
        ("task", "needs", "list"),
        ("task", "check", "list"),
        ("task", "review", "text"),
        ("task", "budget", "table"),
        ("task", "timeout", "text"),
    ];
    for (place, key, right) in keys {
        for (sort, value) in values {
            // A role's switch has no wrong value of its own type.
            if (sort, right) == ("truth", "truth") {
                continue;
            }
            let text = with_line(place, &format!("{key} = {value}"));
            let found = refusals(&text);
            let line = text.lines().count();
            let here = places(&text, &found).iter().any(|(at, _)| *at == line);
            assert!(here, "{place}.{key} = {value}: {found:#?}");
            let wrong_type = found.iter().any(|one| one.code == Code::WrongType);
            let may_fit = sort == right || (sort == "list" && right == "list");
            if !may_fit {
                assert!(wrong_type, "{place}.{key} = {value}: {found:#?}");
            }
        }
    }
}

#[test]
fn what_a_later_version_enforces_is_refused_until_then() {
    for (place, line, message) in [
        ("", "workflow = \"w.js\"", "`workflow` is not supported yet"),
        ("", "posture = \"ask\"", "`posture` is not supported yet"),
        (
            "",
            "price.x = { input = 1 }",
            "`price` is not supported yet",
        ),
        ("limits", "depth = 2", "`depth` is not supported yet"),
        ("budget", "usd = 5.00", "`usd` is not supported yet"),
        (
            "workspace",
            "share = [\"node_modules\"]",
            "`share` is not supported yet",
        ),
        (
            "workspace",
            "setup = [\"npm ci\"]",
            "`setup` is not supported yet",
        ),
        (
            "role",
            "access = \"full\"",
            "`access = \"full\"` is not supported yet",
        ),
        (
            "task",
            "files = [\"tests/**\"]",
            "`files` is not supported yet",
        ),
        (
            "task",
            "output = { schema = \"x.json\" }",
            "`output` is not supported yet",
        ),
        ("task", "budget.usd = 1", "`usd` is not supported yet"),
        (
            "provider",
            "kind = \"responses\"",
            "`kind = \"responses\"` is not supported yet",
        ),
    ] {
        let found = refusals(&with_line(place, line));
        let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
        let supported: Vec<&&str> = messages.iter().filter(|text| **text != message).collect();
        assert!(messages.contains(&message), "{line}: {messages:?}");
        assert!(
            supported.iter().all(|text| text.contains("no model")),
            "{line}: {messages:?}"
        );
    }
}

#[test]
fn single_faults_of_roles_tasks_and_providers() {
    for (place, line, message) in [
        (
            "task",
            "prompt2 = \"x\"",
            "unknown key `prompt2` in task `a`",
        ),
        (
            "task",
            "review = \"builder\"",
            "role `builder` may write, and a review only reads",
        ),
        (
            "task",
            "review = \"oracle\"",
            "the role `oracle` is called `consultant`",
        ),
        ("task", "needs = [\"a\", \"a\"]", "`a` is listed twice"),
        ("task", "check = [\" \"]", "`check` is empty"),
        ("role", "tools = [\"raed\"]", "unknown tool `raed`"),
        (
            "role",
            "agents = 0",
            "`agents` must be from 1 to 256, not 0",
        ),
        ("limits", "wall = \"-2h\"", "`-2h` is negative"),
        (
            "workspace",
            "copy = [\"../x\"]",
            "`../x` lies outside the repository",
        ),
        (
            "workspace",
            "pass_env = [\"A=B\"]",
            "this is not the name of an environment variable",
        ),
        (
            "",
            "base = \"--help\"",
            "`--help` is not the name of a branch, tag or commit",
        ),
        ("", "model = \"lcoal/m\"", "unknown provider `lcoal`"),
        ("", "name = \"My Run\"", "`My Run` is not a name"),
    ] {
        let text = with_line(place, line);
        let found = refusals(&text);
        assert!(
            found.iter().any(|one| one.message == message),
            "{line}: {found:#?}"
        );
    }
}

#[test]
fn faults_that_lie_between_tables() {
    let used = "[[task]]\nid = \"a\"\nprompt = \"p\"\nrole = \"scout\"\n";
    check(
        &with_tasks(&format!("{used}[role.scout]\nnetwork = true\n")),
        &[(
            10,
            "true",
            "role `scout` has access `read` and runs no commands, so `network` means nothing",
        )],
    );
    check(
        &with_tasks(&format!(
            "{used}[role.scout]\ntools = [\"read\", \"shell\"]\n"
        )),
        &[(
            10,
            "\"shell\"",
            "the tool `shell` is beyond the access `read` of role `scout`",
        )],
    );
    check(
        &with_tasks(&format!(
            "{used}[[task]]\nid = \"b\"\nprompt = \"p\"\nreview = \"scout\"\n"
        )),
        &[(
            12,
            "\"scout\"",
            "role `scout` does task `a`, and a role that reviews does nothing else",
        )],
    );
}

#[test]
fn what_must_be_there_is_asked_for() {
    check("", &[(1, "", "there is no task")]);
    check("task = []\n", &[(1, "", "there is no task")]);
    check(
        "[[task]]\nid = \"a\"\nprompt = \"p\"\n[[task]]\nprompt = \"p\"\nrole = \"scout\"\n",
        &[
            (1, "[[task]]", "there is no model for the role `worker`"),
            (4, "[[task]]", "`id` is missing in [[task]] number 2"),
        ],
    );
    check(
        "[provider.x]\nkind = \"openai\"\n[provider.y]\nkind = \"scripted\"\nbase_url = \"https://h\"\nscript = \"t\"\n[[task]]\nid = \"a\"\nprompt = \"p\"\nrole = \"scout\"\n[role.scout]\nmodel = \"x/m\"\n",
        &[
            (1, "x", "`base_url` is missing in [provider.x]"),
            (
                5,
                "\"https://h\"",
                "a provider of kind `scripted` has no `base_url`",
            ),
        ],
    );
}

#[test]
fn brackets_and_names_of_tables_are_explained() {
    check(
        "[task]\nid = \"a\"\n",
        &[(
            1,
            "[task]",
            "`task` takes tables in double brackets, not a table",
        )],
    );
    check(
        "[role]\nmodel = \"x/y\"\n[[task]]\nid = \"a\"\nprompt = \"p\"\n[[limits]]\n",
        &[
            (
                2,
                "model",
                "`model` stands in no role: the table has no name",
            ),
            (6, "[[limits]]", "`limits` takes a table, not a list"),
        ],
    );
    check("prompt = \"p\"\n", &[(1, "prompt", "unknown key `prompt`")]);
    let hint = refusals("prompt = \"p\"\n").remove(0).hint;
    assert_eq!(hint.as_deref(), Some("`prompt` stands in [[task]]"));
}

#[test]
fn a_syntax_error_hides_no_other_fault_and_starts_no_chain() {
    check(
        "model = local/m\nmax_agents = 3\n\n[role.builder\nacces = \"read\"\n\n[[task]]\nid = \"a\"\nrole = \"nobody\"\ntimeout = 10\nwall = 2h\n",
        &[
            (
                1,
                "local/m",
                "not TOML: `local/m`: string values must be quoted, expected literal string",
            ),
            (2, "max_agents", "unknown key `max_agents`"),
            (4, "", "not TOML: unclosed table, expected `]`"),
            (
                10,
                "10",
                "`timeout` takes a duration such as \"30m\", not a whole number",
            ),
            (
                11,
                "2h",
                "not TOML: `2h`: string values must be quoted, expected literal string",
            ),
        ],
    );
}

#[test]
fn a_key_written_by_mistake_is_never_shown() {
    for line in [
        "api_key = \"sk-very-secret\"",
        "key_env = \"sk-very-secret\"",
        "base_url = \"https://me:sk-very-secret@host/v1\"",
        "base_url = \"https://host/v1?key=sk-very-secret\"",
    ] {
        let text = with_line("provider", line);
        let source = Source {
            name: "roster.toml",
            text: &text,
        };
        let found = refusals(&text);
        let shown = render::to_text(&source, &found);
        let json = render::to_json(&source, &found).to_string();
        assert!(
            !shown.contains("secret") && shown.contains("***"),
            "{shown}"
        );
        assert!(!json.contains("secret"), "{json}");
    }
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let text = format!("# {}", "x".repeat(roster::TEXT_MAX_BYTES));
    let found = refusals(&text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, Code::TooLarge);
}

#[test]
fn a_user_configuration_uses_the_same_words_and_knows_its_own_keys_only() {
    let text = "name = \"x\"\nmodle = \"local/m\"\nposture = \"ask\"\nprompt = \"p\"\n[price.x]\n[limits]\nagents = 0\n[role.plan]\nmodel = \"nowhere/m\"\n";
    let found = Around::default()
        .with(|around| parse_user_config(text, around))
        .expect_err("refused");
    let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "unknown key `name`",
            "unknown key `modle`",
            "`posture` is not supported yet",
            "unknown key `prompt`",
            "`price` is not supported yet",
            "`agents` must be from 1 to 256, not 0",
            "the role `plan` is called `planner`",
            "unknown provider `nowhere`",
        ]
    );
}
