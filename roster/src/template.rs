//! The commented roster that `codewhale fleet init` writes. Never writes a file.

use crate::value::repaired_name;

/// What is known about a repository before its first roster.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepoFacts<'a> {
    /// Name of its folder; `None`: unknown.
    pub folder: Option<&'a str>,
    /// A command that tells whether it is in order, such as `cargo test -q`; `None`: unknown.
    pub check: Option<&'a str>,
}

/// A roster with a scout, a builder and a reviewer, ready for a server that speaks chat completions as
/// soon as the three lines marked with an arrow are edited. It loads as it is.
#[must_use]
pub fn template(facts: &RepoFacts<'_>) -> String {
    let name = facts
        .folder
        .and_then(repaired_name)
        .unwrap_or_else(|| "my-fleet".to_owned());
    let check = match facts.check {
        Some(command) => format!("check  = [{}]", toml_text(command)),
        None => "# check = [\"make test\"]".to_owned(),
    };
    TEMPLATE
        .replace("@NAME@", &toml_text(&name))
        .replace("@CHECK@", &check)
}

/// A text as TOML writes it on one line.
fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

const TEMPLATE: &str = r#"# A fleet for this repository. Look at the plan:  codewhale fleet check roster.toml
# Start it:                                         codewhale fleet run roster.toml
# Nothing here touches your checkout: every writing task gets a worktree of its own.

name  = @NAME@
model = "server/qwen3-coder"                # <- 1: "server/" and a model your server has
goal  = "Say in one sentence what shall be true in the end."
# base = "main"                             # where to start; without it: HEAD of the checkout

[provider.server]                           # any server that speaks chat completions
kind     = "openai"
base_url = "http://127.0.0.1:11434/v1"      # <- 2: its URL, without /chat/completions
key_env  = "OPENAI_API_KEY"                 # <- 3: the variable that holds the key; no key: leave it out

[limits]
agents   = 4                                # live at once
attempts = 2                                # per task
steps    = 100                              # model requests per attempt
wall     = "1h"                             # the whole run

[budget]                                    # never overshot; leave the line out for no cap
tokens = 1_000_000

# The roles scout (reads), builder (writes) and reviewer (reads, gives a verdict) exist without being
# declared. A table changes what it names:
#
# [role.builder]
# model        = "server/another-model"
# instructions = "Keep functions short."

[[task]]
id     = "survey"
role   = "scout"
prompt = """
Find the places in this repository that matter for the goal.
Report files and lines, and what would have to change there.
"""

[[task]]
id     = "build"
role   = "builder"
needs  = ["survey"]                         # its report stands in the prompt
prompt = "Make the changes that the survey found, with tests."
review = "reviewer"                         # a rejection with findings starts the next attempt
# Commands the fleet itself runs in a clean checkout of the result; all must exit 0:
@CHECK@
"#;
