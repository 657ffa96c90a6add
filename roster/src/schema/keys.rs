//! Every key that may be written in a roster or a user configuration, with its type, meaning and
//! default. A key that is not in these tables is refused.

use super::shape::{Key, Shape, Sort};

/// Largest number of agents live at once.
const AGENTS_MAX: u64 = 256;

const MODEL: Key = Key::new(
    "model",
    Shape::Model,
    "The model of every role that names none.",
)
.default("none")
.example("\"deepseek/deepseek-v4\"")
.also(&["default_model", "llm"]);

const LIMITS_TABLE: Key = Key::new(
    "limits",
    Shape::Table(LIMITS),
    "Limits of the run that are not budgets.",
)
.also(&["limit"]);

const PROVIDERS: Key = Key::new(
    "provider",
    Shape::Named(PROVIDER),
    "Where models are asked, besides the providers that are built in.",
)
.also(&["providers"]);

const ROLES: Key = Key::new(
    "role",
    Shape::Named(ROLE),
    "Who works. A declaration changes a role that exists field by field.",
)
.also(&["roles", "agent"]);

/// The top of a roster.
pub(crate) static ROSTER: &[Key] = &[
    Key::new(
        "name",
        Shape::Name,
        "Name of the run: first part of its id.",
    )
    .default("`fleet`")
    .example("\"raise-coverage\"")
    .also(&["title", "id"]),
    MODEL,
    Key::new("goal", Shape::Text, "Shown to every agent.")
        .default("none")
        .example("\"Every parser has a test.\"")
        .also(&["description", "objective"]),
    Key::new("base", Shape::Revision, "Revision the run starts from.")
        .default("HEAD of the checkout")
        .example("\"main\"")
        .also(&["branch", "revision"]),
    LIMITS_TABLE,
    Key::new(
        "budget",
        Shape::Table(BUDGET),
        "Caps on what the run may use. They are never overshot.",
    )
    .also(&["budgets"]),
    Key::new(
        "workspace",
        Shape::Table(WORKSPACE),
        "How the folders are made that agents work in.",
    )
    .also(&["workspaces", "worktree"]),
    PROVIDERS,
    ROLES,
    Key::new("task", Shape::Rows(TASK), "The work, in any order.")
        .required()
        .also(&["tasks"]),
];

/// The top of a user configuration.
pub(crate) static USER_CONFIG: &[Key] = &[MODEL, LIMITS_TABLE, PROVIDERS, ROLES];

/// `[limits]`
pub(crate) static LIMITS: &[Key] = &[
    Key::new(
        "agents",
        Shape::Count {
            least: 1,
            most: AGENTS_MAX,
        },
        "Agents live at once.",
    )
    .default("8")
    .example("4")
    .also(&[
        "max_parallel",
        "parallel",
        "concurrency",
        "max_agents",
        "workers",
        "jobs",
    ]),
    Key::new(
        "attempts",
        Shape::Count { least: 1, most: 20 },
        "Attempts at one task.",
    )
    .default("2")
    .example("3")
    .also(&["max_attempts", "retries", "tries"]),
    Key::new(
        "steps",
        Shape::Count {
            least: 1,
            most: 10_000,
        },
        "Model requests of one attempt.",
    )
    .default("200")
    .example("100")
    .also(&["max_steps", "turns", "max_turns"]),
    Key::new(
        "wall",
        Shape::Duration,
        "Wall time of the run; a resume counts anew.",
    )
    .default("`2h`")
    .example("\"45m\"")
    .also(&["wall_time", "max_time", "duration"]),
];

/// `[budget]`, and `budget` of a task.
pub(crate) static BUDGET: &[Key] = &[Key::new(
    "tokens",
    Shape::Count {
        least: 1,
        most: u64::MAX,
    },
    "Most tokens, input and output of all requests together.",
)
.default("no cap")
.example("2_000_000")
.also(&["max_tokens", "token"])];

/// `[workspace]`
pub(crate) static WORKSPACE: &[Key] = &[
    Key::new(
        "copy",
        Shape::Set(&Shape::RepoFile),
        "Git-ignored files that every worktree gets a copy of.",
    )
    .default("none")
    .example("[\".env.test\"]"),
    Key::new(
        "pass_env",
        Shape::Set(&Shape::Variable),
        "Environment variables that commands see besides the base list.",
    )
    .default("none")
    .example("[\"DATABASE_URL\"]")
    .also(&["env"]),
    Key::new(
        "demo",
        Shape::Path,
        "Only for demonstrations: the run works in a fresh repository made from this folder.",
    )
    .default("the current repository")
    .example("\"files/\""),
];

/// `[provider.NAME]`
pub(crate) static PROVIDER: &[Key] = &[
    Key::new(
        "kind",
        Shape::Choice(&["openai", "anthropic", "scripted"]),
        "How it is spoken to: `openai` is chat completions over HTTP, `anthropic` is messages over \
         HTTP, `scripted` plays back a file and asks nobody.",
    )
    .required()
    .example("\"openai\"")
    .also(&["type", "protocol"]),
    Key::new(
        "base_url",
        Shape::BaseUrl,
        "Not for `scripted`; elsewhere it must be there: the URL before `/chat/completions` or \
         `/v1/messages`.",
    )
    .example("\"http://127.0.0.1:11434/v1\"")
    .also(&["url", "endpoint", "api_base", "host"]),
    Key::new(
        "key_env",
        Shape::Variable,
        "Not for `scripted`: the environment variable that holds the key, never the key itself.",
    )
    .default("no key is sent")
    .example("\"LOCAL_KEY\"")
    .also(&["api_key_env", "env_key"]),
    Key::new(
        "context",
        Shape::Count {
            least: 1024,
            most: 100_000_000,
        },
        "Not for `scripted`: most tokens that a request and its answer may have together, for each \
         of its models.",
    )
    .default("as far as it is known of the model")
    .example("32_768")
    .also(&["context_window", "context_length", "max_context", "n_ctx"]),
    Key::new(
        "output",
        Shape::Count {
            least: 256,
            most: 10_000_000,
        },
        "Not for `scripted`: most tokens that one answer may have, for each of its models.",
    )
    .default("as far as it is known of the model")
    .example("4_096")
    .also(&["max_output", "max_output_tokens", "max_tokens"]),
    Key::new(
        "script",
        Shape::Path,
        "Only for `scripted`, where it must be there: the file of turns, one JSON object a line.",
    )
    .example("\"turns.jsonl\"")
    .also(&["turns", "file"]),
];

/// `[role.NAME]`
pub(crate) static ROLE: &[Key] = &[
    Key::new("model", Shape::Model, "The model it asks.")
        .default("the top-level `model`")
        .example("\"local/qwen3-coder\"")
        .also(&["llm"]),
    Key::new(
        "access",
        Shape::Choice(&["read", "write"]),
        "What it may do to its workspace: `read` has the reading tools, `write` also edits and runs \
         commands in a sandbox.",
    )
    .default("that of the built-in role, else `read`")
    .example("\"write\"")
    .also(&["permission", "permissions", "mode"]),
    Key::new(
        "network",
        Shape::Flag,
        "Whether its commands reach the network. Needs access `write`.",
    )
    .default("`false`")
    .example("true")
    .also(&["internet"]),
    Key::new(
        "tools",
        Shape::Set(&Shape::Reference(Sort::Tool)),
        "Narrows its tools to these; each must be within its access.",
    )
    .default("all that its access allows")
    .example("[\"read\", \"grep\"]")
    .also(&["allowed_tools", "tool"]),
    Key::new(
        "instructions",
        Shape::Text,
        "Standing instructions besides the built-in ones.",
    )
    .default("none")
    .example("\"Report files and lines.\"")
    .also(&["system", "system_prompt", "prompt"]),
    Key::new(
        "agents",
        Shape::Count {
            least: 1,
            most: AGENTS_MAX,
        },
        "Agents of this role live at once.",
    )
    .default("only the run's limit")
    .example("4")
    .also(&["max_agents", "parallel", "count"]),
    Key::new(
        "effort",
        Shape::Choice(&["low", "medium", "high"]),
        "How hard a reasoning model should think.",
    )
    .default("the provider's own")
    .example("\"medium\"")
    .also(&["reasoning", "reasoning_effort", "thinking"]),
];

/// `[[task]]`
pub(crate) static TASK: &[Key] = &[
    Key::new("id", Shape::Name, "Its name, unique in the run.")
        .required()
        .example("\"survey\"")
        .also(&["name", "key"]),
    Key::new("role", Shape::Reference(Sort::Role), "Who does it.")
        .default("`worker`")
        .example("\"scout\"")
        .also(&["agent", "who"]),
    Key::new("prompt", Shape::Text, "What is to be done.")
        .required()
        .example("\"List functions without a test.\"")
        .also(&["description", "instructions", "text", "goal"]),
    Key::new(
        "needs",
        Shape::Set(&Shape::Reference(Sort::Task)),
        "Tasks that must be done before; their results stand in its prompt.",
    )
    .default("none")
    .example("[\"survey\"]")
    .also(&[
        "depends_on",
        "depends",
        "dependencies",
        "deps",
        "after",
        "requires",
        "need",
    ]),
    Key::new(
        "check",
        Shape::List(&Shape::Text),
        "Commands that the fleet itself runs in a clean checkout of the result; all must exit 0.",
    )
    .default("none")
    .example("[\"cargo test -q\"]")
    .also(&["checks", "test", "tests", "verify"]),
    Key::new(
        "review",
        Shape::Reference(Sort::Role),
        "Role that must approve the exact result; a rejection starts the next attempt.",
    )
    .default("none")
    .example("\"reviewer\"")
    .also(&["reviewer", "reviewed_by"]),
    Key::new(
        "budget",
        Shape::Table(BUDGET),
        "Caps for this task, inside those of the run.",
    )
    .default("only the run's")
    .example("{ tokens = 300_000 }"),
    Key::new(
        "timeout",
        Shape::Duration,
        "Time that one attempt may take.",
    )
    .default("only the run's `wall`")
    .example("\"30m\"")
    .also(&["time_limit", "max_time", "wall"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{SECTIONS, all_keys};
    use crate::testing::Fixture;
    use crate::value::shown_duration;
    use crate::walk::walk;
    use fleet_core::spec::Limits;
    use std::collections::BTreeSet;
    use toml::de::DeTable;

    #[test]
    fn every_key_is_explained_once() {
        for section in SECTIONS {
            let names: BTreeSet<&str> = section.keys.iter().map(|key| key.name).collect();
            assert_eq!(names.len(), section.keys.len(), "{}", section.header);
        }
        for (section, key) in all_keys() {
            assert!(key.doc.ends_with('.'), "{} {}", section.header, key.name);
            let is_table = matches!(
                key.shape,
                Shape::Table(_) | Shape::Named(_) | Shape::Rows(_)
            );
            assert!(is_table || !key.example.is_empty(), "{}", key.name);
        }
    }

    #[test]
    fn every_example_is_accepted() {
        for (section, key) in all_keys().filter(|(_, key)| !key.example.is_empty()) {
            let text = format!("{} = {}", key.name, key.example);
            let table = DeTable::parse(&text).expect("an example is TOML");
            let (_, found) =
                Fixture::new().with(|around| walk(&text, table.get_ref(), section.keys, around));
            let about_it: Vec<_> = found.iter().filter(|one| one.key == key.name).collect();
            assert!(about_it.is_empty(), "{text}: {about_it:#?}");
        }
    }

    #[test]
    fn the_defaults_that_are_shown_are_those_that_hold() {
        let limits = Limits::default();
        let shown: Vec<&str> = LIMITS.iter().map(|key| key.default).collect();
        let held = [
            limits.agents.to_string(),
            limits.attempts.to_string(),
            limits.steps.to_string(),
            format!("`{}`", shown_duration(limits.wall_secs)),
        ];
        assert_eq!(shown, held);
    }
}
