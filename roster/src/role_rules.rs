//! What the fields of a role allow each other, and who may review whom.

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::near::nearest;
use crate::resolve::Use;
use crate::roles::{REVIEWER, Role};
use crate::said::Said;
use crate::source::Span;
use crate::surroundings::Surroundings;
use crate::tasks::Task;
use engine_core::tool::Access;
use std::collections::BTreeMap;

/// Everything that is wrong within roles that the file declares or uses.
pub(crate) fn faults(
    roles: &BTreeMap<String, Role>,
    uses: &BTreeMap<String, Use>,
    around: &Surroundings<'_>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for role in roles.values() {
        let used = uses.get(&role.name).map(|used| used.span);
        if let Some(anchor) = role.declared.or(used) {
            found.extend(network_fault(role, anchor));
            found.extend(tool_faults(role, anchor, around));
        }
    }
    found
}

fn network_fault(role: &Role, anchor: Span) -> Option<Diagnostic> {
    if !role.network() || role.access() != Access::Read {
        return None;
    }
    let span = role.words.network.as_ref().and_then(|said| said.span);
    let message = format!(
        "role `{}` has access `read` and runs no commands, so `network` means nothing",
        role.name
    );
    Some(
        Diagnostic::error(Code::Conflict, span.unwrap_or(anchor), message)
            .at(format!("role.{}.network", role.name))
            .hint("leave `network` out, or write access = \"write\""),
    )
}

fn tool_faults(role: &Role, anchor: Span, around: &Surroundings<'_>) -> Vec<Diagnostic> {
    let tools = role.words.tools.iter().flatten();
    tools
        .filter_map(|tool| tool_fault(role, tool, around))
        .map(|(tool, found)| Diagnostic {
            span: tool.span.unwrap_or(anchor),
            key: format!("role.{}.tools", role.name),
            ..found
        })
        .collect()
}

fn tool_fault<'a>(
    role: &Role,
    tool: &'a Said<String>,
    around: &Surroundings<'_>,
) -> Option<(&'a Said<String>, Diagnostic)> {
    let names = || around.known_tools.iter().map(|(name, _)| *name);
    let nowhere = Span::default();
    let known = around
        .known_tools
        .iter()
        .find(|(name, _)| *name == tool.value);
    let Some((name, needed)) = known else {
        let message = format!("unknown tool {}", quoted(&tool.value));
        let meant = nearest(&tool.value, names()).map(str::to_owned);
        let all: Vec<&str> = names().collect();
        let found = Diagnostic::error(Code::UnknownName, nowhere, message)
            .suggest(meant)
            .hint(format!("there are {}", all.join(", ")));
        return Some((tool, found));
    };
    if *needed <= role.access() {
        return None;
    }
    let message = format!(
        "the tool `{name}` is beyond the access `{}` of role `{}`",
        word(role.access()),
        role.name
    );
    let found = Diagnostic::error(Code::Conflict, nowhere, message).hint(format!(
        "leave it out, or write access = \"{}\"",
        word(*needed)
    ));
    Some((tool, found))
}

/// Access as it is written.
pub(crate) fn word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Full => "full",
    }
}

/// A role that reviews only reads, and does nothing else: its attempts end with a verdict.
pub(crate) fn review_faults(tasks: &[Task<'_>], roles: &BTreeMap<String, Role>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for task in tasks {
        let Some(review) = task.review() else {
            continue;
        };
        let Some(role) = roles.get(review.value) else {
            continue;
        };
        let path = task.fields.path_of("review");
        if role.access() != Access::Read {
            let message = format!("role `{}` may write, and a review only reads", role.name);
            let name = &role.name;
            found.push(
                Diagnostic::error(Code::Conflict, review.span, message)
                    .at(path)
                    .hint(format!(
                        "use `{REVIEWER}`, or give `{name}` access = \"read\""
                    )),
            );
        } else if role.name != REVIEWER
            && let Some(other) = tasks.iter().find(|other| other.role().value == role.name)
        {
            let message = format!(
                "role `{}` does task `{}`, and a role that reviews does nothing else",
                role.name, other.id
            );
            found.push(
                Diagnostic::error(Code::Conflict, review.span, message)
                    .at(path)
                    .relate(other.role().span, "its task")
                    .hint(format!(
                        "use `{REVIEWER}`, or declare a role for the review"
                    )),
            );
        }
    }
    found
}
