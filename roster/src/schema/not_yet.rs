//! The keys and values that a later version enforces. They are refused until then, because nothing that
//! is accepted is inert. Taking one out of this list is the last step of supporting it.

/// A key or value of a later version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotYet {
    /// Path of the key without names of tables: `limits.depth`.
    pub(crate) place: &'static str,
    /// The value that is refused; `None`: the whole key.
    pub(crate) value: Option<&'static str>,
    /// What to do today.
    pub(crate) instead: &'static str,
}

const fn key(place: &'static str, instead: &'static str) -> NotYet {
    NotYet {
        place,
        value: None,
        instead,
    }
}

const fn value(place: &'static str, value: &'static str, instead: &'static str) -> NotYet {
    NotYet {
        place,
        value: Some(value),
        instead,
    }
}

/// Everything that is refused as *not supported yet*.
pub(crate) static NOT_YET: &[NotYet] = &[
    key("workflow", "list the work as [[task]] tables"),
    key(
        "posture",
        "leave it out: each role works inside its `access`",
    ),
    key("price", "cap tokens with `tokens` in [budget]"),
    key("limits.depth", "leave it out: agents start no agents"),
    key("budget.usd", "cap tokens with `tokens`"),
    key("task.budget.usd", "cap tokens with `tokens`"),
    key(
        "task.output",
        "ask for the form of the answer in the prompt",
    ),
    key(
        "task.files",
        "say in the prompt what may be changed, and let `check` look",
    ),
    key("workspace.share", "use `copy`"),
    key("workspace.setup", "put the command first in `check`"),
    value(
        "provider.kind",
        "responses",
        "use kind = \"openai\": most servers speak chat completions too",
    ),
    value("role.access", "full", "use access = \"write\""),
];

/// What to do instead, when the key at `place` is of a later version.
pub(crate) fn not_yet_key(place: &str) -> Option<&'static str> {
    find(place, None)
}

/// What to do instead, when `value` of the key at `place` is of a later version.
pub(crate) fn not_yet_value(place: &str, value: &str) -> Option<&'static str> {
    find(place, Some(value))
}

fn find(place: &str, value: Option<&str>) -> Option<&'static str> {
    NOT_YET
        .iter()
        .find(|row| row.place == place && row.value == value)
        .map(|row| row.instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Shape, all_keys};

    #[test]
    fn nothing_is_both_supported_and_refused() {
        for (section, key) in all_keys() {
            let place = join(section.place, key.name);
            assert_eq!(not_yet_key(&place), None, "{place}");
            if let Shape::Choice(words) = key.shape {
                for word in words {
                    assert_eq!(not_yet_value(&place, word), None, "{place} = {word}");
                }
            }
        }
    }

    #[test]
    fn refused_values_belong_to_keys_that_exist() {
        for row in NOT_YET.iter().filter(|row| row.value.is_some()) {
            assert!(
                all_keys().any(|(section, key)| join(section.place, key.name) == row.place),
                "{}",
                row.place
            );
        }
    }

    fn join(place: &str, name: &str) -> String {
        if place.is_empty() {
            name.to_owned()
        } else {
            format!("{place}.{name}")
        }
    }
}
