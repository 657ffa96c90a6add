//! What the turn machine says to a model in place of a result, or to make it go on. Never speaks
//! to a person.

use crate::effects::Keep;
use crate::transcript::or_placeholder;

/// A call of an answer that the output limit cut.
pub(super) const CUT: &str = "Not run: the output limit cut this answer, so this call may be \
    incomplete. Do it again in smaller pieces.";
/// A call of an answer whose rest was withheld.
pub(super) const WITHHELD: &str = "Not run: the provider withheld the rest of this answer.";
/// A call that came after a verdict.
pub(super) const AFTER_VERDICT: &str = "Not run: the verdict had ended the review.";
/// A call that had not started when the agent was stopped.
pub(super) const NOT_STARTED: &str = "Not run: the agent was stopped before this call started.";
/// A call that may have reached outside when the process died.
pub(super) const UNCERTAIN: &str = "Uncertain: the process ended while this call ran. It may or \
    may not have happened, wholly or in part. It was not repeated: find out before you do it again.";
/// The result of a verdict.
pub(super) const JUDGED: &str = "The verdict is recorded.";

/// To go on after an answer with neither text nor call.
pub(super) const WAS_EMPTY: &str =
    "Your answer was empty. Call a tool, or give your final message.";
/// To go on after a text that the output limit cut.
pub(super) const WAS_CUT: &str = "The output limit cut your answer. Give your final message again, \
    shorter, or go on in smaller pieces.";
/// To go on after an answer that the provider paused.
pub(super) const WAS_PAUSED: &str = "Your answer was paused. Go on where it ended.";
/// To ask a reviewer for what it left out.
pub(super) const WANTS_VERDICT: &str = "The review is not complete. Call `verdict` now, with your \
    findings.";

/// True for what the machine says by itself to make a model go on: once it has gone on, nobody needs
/// it any more.
pub(crate) fn is_nudge(text: &str) -> bool {
    [WAS_EMPTY, WAS_CUT, WAS_PAUSED, WANTS_VERDICT].contains(&text)
}

/// A call that was running when the agent was stopped.
pub(super) fn stopped(output: &str, keep: Keep) -> String {
    let effects = match keep {
        Keep::Nothing => "it had no effects",
        Keep::Snapshot => "it may have had effects",
    };
    format!(
        "Stopped after it had started: {effects}. Output until then:\n{}",
        or_placeholder(output)
    )
}

/// Arguments that are no JSON object.
pub(super) fn invalid_arguments(error: &str) -> String {
    format!("Not run: the arguments are not a JSON object: {error}. Send the whole call again.")
}

/// A tool that is not in the catalog.
pub(super) fn unknown_tool(name: &str, catalog: &[&str]) -> String {
    let near = near_names(name, catalog);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!(" Did you mean {}?", quoted(&near))
    };
    let all = if catalog.is_empty() {
        "There are none.".to_owned()
    } else {
        format!("There are {}.", quoted(catalog))
    };
    format!("Not run: there is no tool `{name}`.{hint} {all}")
}

/// Names that are likely meant, the likeliest first; at most three.
fn near_names<'a>(name: &str, catalog: &[&'a str]) -> Vec<&'a str> {
    const NEAR: f64 = 0.5;
    let mut near: Vec<(f64, &str)> = catalog
        .iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(name, known), *known))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_tool_is_answered_with_near_names() {
        let check = |name: &str, catalog: &[&str], expected: &str| {
            assert_eq!(unknown_tool(name, catalog), expected);
        };
        let catalog = ["edit", "grep", "read", "shell"];
        check(
            "raed",
            &catalog,
            "Not run: there is no tool `raed`. Did you mean `read`? There are `edit`, `grep`, `read`, `shell`.",
        );
        check(
            "browser",
            &catalog,
            "Not run: there is no tool `browser`. There are `edit`, `grep`, `read`, `shell`.",
        );
        check("x", &[], "Not run: there is no tool `x`. There are none.");
    }

    #[test]
    fn a_stopped_call_keeps_its_output() {
        let check = |output, keep, expected: &str| assert_eq!(stopped(output, keep), expected);
        check(
            "half",
            Keep::Snapshot,
            "Stopped after it had started: it may have had effects. Output until then:\nhalf",
        );
        check(
            " \n",
            Keep::Nothing,
            "Stopped after it had started: it had no effects. Output until then:\n(no output)",
        );
    }
}
