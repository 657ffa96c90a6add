//! `${NAME}` and `~` in values. Only where a key asks for it: never in prompts, checks or instructions.

use super::name::is_variable;
use crate::diagnostic::{Code, quoted};
use crate::fault::Fault;
use crate::surroundings::Surroundings;

/// Replaces every `${NAME}` by the variable's value, and `$${` by `${`. What comes out is not looked at
/// again. A variable that is unset or empty is an error.
pub(crate) fn variables(key: &str, text: &str, around: &Surroundings<'_>) -> Result<String, Fault> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$${") {
            out.push_str("${");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("${") {
            let Some((name, after)) = after.split_once('}') else {
                return Err(Fault::bad(format!("`${{` in `{key}` is not closed")).hint(
                    "write `${NAME}` for a variable, or `$${` for the characters themselves",
                ));
            };
            out.push_str(&variable(key, name, around)?);
            rest = after;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn variable(key: &str, name: &str, around: &Surroundings<'_>) -> Result<String, Fault> {
    if !is_variable(name) {
        return Err(Fault::bad(format!(
            "{} in `{key}` does not name a variable",
            quoted(&format!("${{{name}}}"))
        ))
        .hint("a name has letters, digits and `_`; there are no default values"));
    }
    match (around.env)(name) {
        Some(value) if !value.is_empty() => Ok(value),
        found => {
            let state = if found.is_some() { "empty" } else { "not set" };
            Err(Fault::new(
                Code::Unset,
                format!("the environment variable `{name}` is {state}, and `{key}` needs it"),
            )
            .hint(format!(
                "set `{name}`, or write `$${{{name}}}` for the characters themselves"
            )))
        }
    }
}

/// Replaces a `~` that stands for the home folder: alone, or before the first `/`.
pub(crate) fn home(key: &str, text: String, around: &Surroundings<'_>) -> Result<String, Fault> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(text);
    };
    if !rest.is_empty() && !rest.starts_with('/') {
        let user = rest.split('/').next().unwrap_or(rest);
        return Err(Fault::bad(format!(
            "{} in `{key}` is another user's home folder, which is not looked up",
            quoted(&format!("~{user}"))
        ))
        .hint("write the whole path, or `./~…` for a file of that name"));
    }
    match around.home {
        Some(home) => Ok(format!("{}{rest}", home.trim_end_matches('/'))),
        None => Err(Fault::new(
            Code::Unset,
            format!("`~` in `{key}` means the home folder, but HOME is not set"),
        )
        .hint("set HOME, or write the whole path")),
    }
}
