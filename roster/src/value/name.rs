//! Names: of runs, tasks, roles and providers by one grammar, and of environment variables.

use crate::diagnostic::quoted;
use crate::fault::Fault;
use engine_core::ids::{TASK_ID_MAX_BYTES, TaskId};

/// Checks the grammar of ids: `[a-z0-9][a-z0-9-]{0,39}`.
pub(crate) fn check(text: &str) -> Result<(), Fault> {
    if TaskId::try_from(text.to_owned()).is_ok() {
        return Ok(());
    }
    let fault = if text.is_empty() {
        Fault::bad("a name is empty")
    } else if text.len() > TASK_ID_MAX_BYTES && text.is_ascii() {
        Fault::bad(format!(
            "{} has {} characters; a name has at most {TASK_ID_MAX_BYTES}",
            quoted(text),
            text.len()
        ))
    } else {
        Fault::bad(format!("{} is not a name", quoted(text)))
    };
    Err(fault
        .suggest(repaired(text))
        .hint("a-z, 0-9 and `-`, at most 40, not starting with `-`"))
}

/// The nearest text that is a name.
pub(crate) fn repaired(text: &str) -> Option<String> {
    let mut name = String::new();
    for c in text.chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(TASK_ID_MAX_BYTES);
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// True for a name that an environment variable can have.
pub(crate) fn is_variable(text: &str) -> bool {
    let starts_well = text
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts_well && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Checks the name of an environment variable. What is not one may be a key, so it is never shown.
pub(crate) fn variable(text: &str) -> Result<(), Fault> {
    if is_variable(text) {
        return Ok(());
    }
    Err(
        Fault::bad("this is not the name of an environment variable")
            .hint("write the variable's name, never the key itself")
            .secret(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_grammar_of_task_ids() {
        for name in ["a", "t1", "raise-coverage", "0", &"x".repeat(40)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for (text, message, suggestion) in [
            ("", "a name is empty", None),
            (
                "Survey Parsers",
                "`Survey Parsers` is not a name",
                Some("survey-parsers"),
            ),
            ("-a", "`-a` is not a name", Some("a")),
            ("a_b", "`a_b` is not a name", Some("a-b")),
            ("é", "`é` is not a name", None),
        ] {
            let fault = check(text).expect_err(text);
            assert_eq!(fault.message(), message);
            assert_eq!(fault.suggestion(), suggestion, "{text}");
        }
        let fault = check(&"y".repeat(41)).expect_err("too long");
        assert!(
            fault
                .message()
                .ends_with("has 41 characters; a name has at most 40")
        );
        assert_eq!(fault.suggestion(), Some("y".repeat(40).as_str()));
    }

    #[test]
    fn a_repaired_name_is_a_name() {
        for text in ["  Hello, World! ", "ÄB", "a--b", "---", &"ab-".repeat(30)] {
            if let Some(name) = repaired(text) {
                assert_eq!(check(&name), Ok(()), "{text}");
            }
        }
    }

    #[test]
    fn variables_have_letters_digits_and_underscores() {
        for text in ["A", "_a", "LOCAL_KEY", "x9"] {
            assert_eq!(variable(text), Ok(()), "{text}");
        }
        for text in ["", "9x", "a-b", "sk-123", "A B", "Ä"] {
            assert!(variable(text).is_err(), "{text}");
        }
    }
}
