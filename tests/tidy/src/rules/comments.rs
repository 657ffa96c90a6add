//! Rules on comments. Never looks at code.

use super::found;
use crate::finding::Finding;
use crate::source::Source;

/// Words that promise work instead of doing it, taken apart so that this file does not hold them.
const PROMISES: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// No comment promises work.
#[must_use]
pub fn promises(source: &Source) -> Vec<Finding> {
    lines(source, |text| {
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let promise = words.find(|word| PROMISES.contains(word))?;
        Some(format!("a comment says {promise}"))
    })
}

/// No comment names an issue by its number.
#[must_use]
pub fn issue_numbers(source: &Source) -> Vec<Finding> {
    lines(source, |text| {
        let issue = text
            .split('#')
            .skip(1)
            .find(|after| starts_with_number(after))?;
        let number: String = issue.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("a comment names #{number}"))
    })
}

/// A number, and not the beginning of a colour such as `#1e1e2e`.
fn starts_with_number(text: &str) -> bool {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
}

fn lines(source: &Source, what: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let comments = source.comments.iter();
    comments
        .filter_map(|comment| Some(found(source, comment.line, what(&comment.text)?)))
        .collect()
}
