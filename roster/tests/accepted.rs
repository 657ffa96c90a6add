//! Rosters that are accepted: what their values mean, whose word holds, and what the plan says.

mod surroundings;

use engine_core::ids::Tokens;
use engine_core::tool::Access;
use fleet_core::spec::{ProviderSpec, RunSpec};
use roster::{
    BUILT_IN_ROLES, Diagnostic, KeyState, PathSort, Roster, UserConfig, load, parse_user_config,
};
use surroundings::Around;

fn accepted(text: &str, around: &Around) -> Roster {
    match around.with(|around| load(text, around)) {
        Ok(roster) => roster,
        Err(found) => panic!("refused: {found:#?}"),
    }
}

fn spec(text: &str) -> RunSpec {
    accepted(text, &Around::default()).into_spec()
}

fn user_config(text: &str) -> UserConfig {
    Around::default()
        .with(|around| parse_user_config(text, around))
        .expect("a good configuration")
}

const EVERYTHING: &str = r#"
name  = "raise-coverage"
model = "deepseek/deepseek-v4"
goal  = "Every public parser function has a test."
base  = "main"

[limits]
agents   = 8
attempts = 3
steps    = 150
wall     = "1h30m"

[budget]
tokens = 2_000_000

[workspace]
copy     = [".env.test"]
pass_env = ["DATABASE_URL"]

[provider.local]
kind     = "openai"
base_url = "http://127.0.0.1:11434/v1/"
key_env  = "LOCAL_KEY"

[role.scout]
model  = "local/qwen3-coder"
tools  = ["read", "grep", "list", "git"]
instructions = "Report files and lines."

[role.builder]
network = true
agents  = 4
effort  = "medium"

[[task]]
id     = "survey"
role   = "scout"
prompt = "List public parser functions without a test."

[[task]]
id     = "tests"
role   = "builder"
needs  = ["survey"]
prompt = "Write the missing tests."
check  = ["cargo test -q"]
review = "reviewer"
budget = { tokens = 300_000 }
timeout = "30m"
"#;

/// A plan as JSON: one line for each part, role, provider and task.
fn lines(spec: &RunSpec) -> String {
    let json = serde_json::to_value(spec).expect("a plan is JSON");
    let mut out = Vec::new();
    for (part, value) in json.as_object().into_iter().flatten() {
        let rows = value.as_array().into_iter().flatten();
        let rows: Vec<String> = rows.map(ToString::to_string).collect();
        if rows.is_empty() && matches!(part.as_str(), "roles" | "providers") {
            let named = value.as_object().into_iter().flatten();
            out.extend(named.map(|(name, inner)| format!("{part}.{name} {inner}")));
        } else if rows.is_empty() {
            out.push(format!("{part} {value}"));
        } else {
            out.extend(rows.iter().map(|row| format!("{part} {row}")));
        }
    }
    out.join("\n")
}

#[test]
fn every_key_reaches_the_plan_of_the_run() {
    let roster = accepted(EVERYTHING, &Around::default());
    assert_eq!(roster.warnings(), []);
    insta::assert_snapshot!(lines(roster.spec()), @r#"
base "main"
budget {"tokens":2000000}
goal "Every public parser function has a test."
limits {"agents":8,"attempts":3,"steps":150,"wall_secs":5400}
name "raise-coverage"
providers.deepseek {"base_url":"https://api.deepseek.example/v1","key_env":"DEEPSEEK_KEY","kind":"openai"}
providers.local {"base_url":"http://127.0.0.1:11434/v1","key_env":"LOCAL_KEY","kind":"openai"}
roles.builder {"access":"write","agents":4,"effort":"medium","gives_verdict":false,"model":{"model":"deepseek-v4","provider":"deepseek"},"network":true}
roles.reviewer {"access":"read","gives_verdict":true,"model":{"model":"deepseek-v4","provider":"deepseek"},"network":false}
roles.scout {"access":"read","gives_verdict":false,"instructions":"Report files and lines.","model":{"model":"qwen3-coder","provider":"local"},"network":false,"tools":["read","grep","list","git"]}
tasks {"budget":{},"id":"survey","prompt":"List public parser functions without a test.","role":"scout"}
tasks {"budget":{"tokens":300000},"check":["cargo test -q"],"id":"tests","needs":["survey"],"prompt":"Write the missing tests.","review":"reviewer","role":"builder","timeout_secs":1800}
workspace {"copy":[".env.test"],"pass_env":["DATABASE_URL"],"site":"worktrees"}
"#);
}

#[test]
fn the_plan_is_shown_with_levels_and_the_hosts_of_keys() {
    let mut around = Around::default();
    around.env.insert("LOCAL_KEY".into(), "k".into());
    let roster = accepted(EVERYTHING, &around);
    insta::assert_snapshot!(roster.plan().to_string(), @r"
run     raise-coverage from main
limits  8 agents, 3 attempts a task, 150 steps an attempt, 1h30m in all
budget  2,000,000 tokens
asks    deepseek: api.deepseek.example with the key in DEEPSEEK_KEY (not set)
        local: 127.0.0.1:11434 with the key in LOCAL_KEY

level 1
  survey: scout (read) asks local/qwen3-coder

level 2
  tests: builder (write+network) asks deepseek/deepseek-v4
    needs   survey
    check   cargo test -q
    review  reviewer
    budget  300,000 tokens
    timeout 30m an attempt
");
    let keys: Vec<KeyState> = roster.plan().providers.iter().map(|row| row.key).collect();
    assert_eq!(keys, [KeyState::Unset, KeyState::Set]);
}

const SMALL: &str = "[[task]]\nid = \"a\"\nprompt = \"p\"\nrole = \"scout\"\n";

#[test]
fn what_is_not_said_holds_by_default() {
    let spec = spec(&format!("model = \"ds/m\"\n{SMALL}"));
    assert_eq!(spec.name, "fleet");
    assert_eq!(spec.limits, fleet_core::spec::Limits::default());
    assert_eq!(spec.budget, fleet_core::spec::Budget::default());
    let model = spec
        .roles
        .values()
        .next()
        .map(|role| role.model.to_string());
    assert_eq!(
        model.as_deref(),
        Some("deepseek/m"),
        "an alias means its provider"
    );
}

#[test]
fn built_in_roles_have_the_access_that_is_said() {
    for role in BUILT_IN_ROLES {
        let name = role.name;
        let spec = spec(&format!(
            "model = \"ds/m\"\n[[task]]\nid = \"a\"\nprompt = \"p\"\nrole = \"{name}\"\n"
        ));
        let (_, found) = spec.roles.iter().next().expect("one role");
        assert_eq!(found.access, role.access, "{name}");
        assert_eq!(found.gives_verdict, name == "reviewer", "{name}");
    }
}

#[test]
fn a_role_of_ones_own_reads_unless_it_says_otherwise_and_may_review() {
    let spec = spec(
        "model = \"ds/m\"\n[role.critic]\neffort = \"high\"\n[[task]]\nid = \"a\"\nprompt = \"p\"\nreview = \"critic\"\n",
    );
    let roles: Vec<(&str, Access, bool)> = spec
        .roles
        .iter()
        .map(|(name, role)| (name.0.as_str(), role.access, role.gives_verdict))
        .collect();
    assert_eq!(
        roles,
        [
            ("critic", Access::Read, true),
            ("worker", Access::Write, false)
        ]
    );
}

#[test]
fn the_nearer_word_holds_field_by_field() {
    let user = "model = \"mine/default\"\n[limits]\nagents = 2\nsteps = 7\n[provider.mine]\nkind = \"openai\"\nbase_url = \"https://mine.example/v1\"\n[role.scout]\nmodel = \"mine/small\"\ninstructions = \"Be brief.\"\n";
    let around = Around {
        user_config: Some(user_config(user)),
        ..Around::default()
    };
    let model_of = |text: &str| {
        let spec = accepted(text, &around).into_spec();
        let (_, role) = spec.roles.into_iter().next().expect("one role");
        (role.model.to_string(), role.instructions)
    };
    let brief = || Some("Be brief.".to_owned());
    assert_eq!(model_of(SMALL), ("mine/small".to_owned(), brief()));
    assert_eq!(
        model_of(&format!("model = \"ds/m\"\n{SMALL}")),
        ("mine/small".to_owned(), brief()),
        "a role's own model is nearer than any top-level one"
    );
    assert_eq!(
        model_of(&format!("{SMALL}[role.scout]\nmodel = \"ds/m\"\n")),
        ("deepseek/m".to_owned(), brief())
    );
    let worker = SMALL.replace("scout", "worker");
    assert_eq!(model_of(&worker), ("mine/default".to_owned(), None));
    assert_eq!(
        model_of(&format!("model = \"ds/m\"\n{worker}")),
        ("deepseek/m".to_owned(), None)
    );
    let limits = accepted(&format!("limits.agents = 5\n{SMALL}"), &around)
        .into_spec()
        .limits;
    assert_eq!((limits.agents, limits.steps, limits.attempts), (5, 7, 2));
}

#[test]
fn a_model_from_the_command_line_stands_for_the_users() {
    let config = UserConfig::default().with_model(engine_core::ids::ModelName {
        provider: "ds".to_owned(),
        model: "m".to_owned(),
    });
    assert_eq!(
        config.model().map(ToString::to_string).as_deref(),
        Some("ds/m")
    );
    let around = Around {
        user_config: Some(config),
        ..Around::default()
    };
    let spec = accepted(SMALL, &around).into_spec();
    assert!(spec.providers.contains_key("deepseek"));
}

#[test]
fn a_tool_of_the_users_beyond_the_access_is_refused_where_the_role_is_used() {
    let around = Around {
        user_config: Some(user_config("[role.scout]\ntools = [\"shell\"]\n")),
        ..Around::default()
    };
    let found = around
        .with(|around| load(&format!("model = \"ds/m\"\n{SMALL}"), around))
        .expect_err("refused");
    let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        ["the tool `shell` is beyond the access `read` of role `scout`"]
    );
}

fn around_with_blank() -> Around {
    let mut around = Around {
        dir: "/t/my home/rosters".to_owned(),
        home: Some("/t/my home".to_owned()),
        repo: Some("/t/my home/proj dir".to_owned()),
        ..Around::default()
    };
    around.env.insert("URL".into(), "http://127.0.0.1:1".into());
    around
}

const PLACES: &str = r#"
model = "one/$${URL}"
[workspace]
copy = ["~/proj dir/cache", "a/~/b"]
demo = "~/demo dir"
[provider.one]
kind = "openai"
base_url = "${URL}/v1"
[provider.two]
kind = "scripted"
script = "a/~/turns.jsonl"
[[task]]
id = "a"
prompt = "print ${X} and ~"
check = ["echo ${X} $${Y} ~"]
"#;

#[test]
fn variables_and_the_home_sign_are_replaced_where_they_belong() {
    let roster = accepted(PLACES, &around_with_blank());
    let spec = roster.spec();
    assert_eq!(spec.workspace.copy, ["cache", "a/~/b"]);
    assert_eq!(spec.workspace.demo.as_deref(), Some("/t/my home/demo dir"));
    let (_, server) = spec.providers["one"].server().expect("asks over HTTP");
    assert_eq!(server.base_url, "http://127.0.0.1:1/v1");
    let model = spec
        .roles
        .values()
        .next()
        .map(|role| role.model.model.as_str());
    assert_eq!(model, Some("${URL}"));
    assert_eq!(spec.tasks[0].prompt, "print ${X} and ~");
    assert_eq!(spec.tasks[0].check, ["echo ${X} $${Y} ~"]);
    let paths: Vec<(&str, &str, PathSort)> = roster
        .named_paths()
        .iter()
        .map(|path| (path.key.as_str(), path.path.as_str(), path.sort))
        .collect();
    assert_eq!(
        paths,
        [
            ("workspace.demo", "/t/my home/demo dir", PathSort::Folder),
            (
                "provider.two.script",
                "/t/my home/rosters/a/~/turns.jsonl",
                PathSort::File
            ),
        ]
    );
    assert_eq!(
        roster.named_paths()[1].missing().message,
        "there is no file `/t/my home/rosters/a/~/turns.jsonl`"
    );
}

#[test]
fn what_has_no_value_here_is_refused_with_its_key() {
    let around = around_with_blank();
    let refused = |text: &str, around: &Around| -> Vec<(String, String)> {
        let found = around
            .with(|around| load(text, around))
            .expect_err("refused");
        found
            .into_iter()
            .map(|one: Diagnostic| (one.key, one.message))
            .collect()
    };
    let unset = PLACES.replace("${URL}/v1", "${NOT_SET}/v1");
    assert_eq!(
        refused(&unset, &around),
        [(
            "provider.one.base_url".to_owned(),
            "the environment variable `NOT_SET` is not set, and `base_url` needs it".to_owned()
        )]
    );
    let nobody = PLACES.replace("~/demo dir", "~nobody/x");
    assert_eq!(
        refused(&nobody, &around),
        [(
            "workspace.demo".to_owned(),
            "`~nobody` in `demo` is another user's home folder, which is not looked up".to_owned()
        )]
    );
    let homeless = Around {
        home: None,
        ..around
    };
    assert_eq!(
        refused(PLACES, &homeless)
            .into_iter()
            .map(|(key, _)| key)
            .collect::<Vec<String>>(),
        ["workspace.copy", "workspace.demo"]
    );
    let without = PLACES
        .replace("\"~/proj dir/cache\", ", "")
        .replace("~/demo", "demo");
    assert_eq!(
        accepted(&without, &homeless).spec().workspace.copy,
        ["a/~/b"]
    );
}

#[test]
fn what_reads_as_a_mistake_is_accepted_with_a_warning() {
    let text = r#"
model = "deepseek/m"
[limits]
agents = 2
wall = "1h"
[budget]
tokens = 10
[provider.deepseek]
kind = "openai"
base_url = "https://elsewhere.example/v1"
key_env = "MY_KEY"
[role.scout]
agents = 3
[role.builder]
effort = "low"
[[task]]
id = "a"
prompt = "p"
role = "scout"
timeout = "2h"
budget = { tokens = 11 }
"#;
    let roster = accepted(text, &Around::default());
    let messages: Vec<&str> = roster
        .warnings()
        .iter()
        .map(|one| one.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "`deepseek` hides a provider of the same name",
            "`agents` is more than the run's limit of agents, so it changes nothing",
            "no task uses the role `builder`",
            "`timeout` is more than the run's `wall`, so it changes nothing",
            "`budget` is more than the run's budget, so it changes nothing",
        ]
    );
}

#[test]
fn tables_may_be_written_on_one_line() {
    let spec = spec(
        "provider.p = { kind = \"scripted\", script = \"t.jsonl\" }\nrole.scout.model = \"p/m\"\ntask = [{ id = \"a\", prompt = \"p\", role = \"scout\" }]\n",
    );
    assert_eq!(
        spec.providers["p"],
        ProviderSpec::Scripted {
            script: "/rosters/t.jsonl".to_owned()
        }
    );
}

#[test]
fn a_configuration_of_limits_lowers_what_is_above_it_and_raises_nothing() {
    let managed = user_config("[limits]\nagents = 2\nwall = \"30m\"\nsteps = 500\n");
    assert!(managed.sets_only_limits());
    let mut limits = fleet_core::spec::Limits::default();
    managed.lower(&mut limits);
    assert_eq!(
        (
            limits.agents,
            limits.attempts,
            limits.steps,
            limits.wall_secs
        ),
        (2, 2, 200, 1800)
    );

    let more =
        user_config("[provider.here]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    assert!(!more.sets_only_limits());
    let ids: Vec<&str> = more.providers().map(|(id, _)| id).collect();
    assert_eq!(ids, ["here"]);
    assert!(more.declares_provider("here"));
    assert!(!more.declares_provider("there"));
}

#[test]
fn the_limits_of_a_providers_models_can_be_said() {
    let text = "model = \"here/m\"\n[provider.here]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\ncontext = 32_768\noutput = 4_096\n[[task]]\nid = \"a\"\nprompt = \"p\"\n";
    let roster = accepted(text, &Around::default());
    let provider = &roster.spec().providers["here"];
    let (_, server) = provider.server().expect("asks over HTTP");
    let limits = server.limits();
    assert_eq!(limits.context, Some(Tokens(32_768)));
    assert_eq!(limits.output, Some(Tokens(4_096)));
}
