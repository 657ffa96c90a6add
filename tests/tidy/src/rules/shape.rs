//! Rules on the shape of files, functions and attributes. Never looks at what is called.

use super::found;
use crate::finding::Finding;
use crate::source::{Attribute, Function, Source};

/// Most lines of a file.
pub const FILE_MAX_LINES: usize = 600;
/// Most code lines in the body of a function.
pub const FUNCTION_MAX_CODE_LINES: usize = 70;
/// Most parameters of a function, `self` included.
pub const PARAMETERS_MAX: usize = 5;

/// A file opens with `//!`.
#[must_use]
pub fn silent_openings(source: &Source) -> Vec<Finding> {
    let opens = source.first_line.starts_with("//! ");
    let finding = found(source, 1, "does not open with `//!`");
    (!opens).then_some(finding).into_iter().collect()
}

/// A file has at most [`FILE_MAX_LINES`] lines.
#[must_use]
pub fn long_files(source: &Source) -> Vec<Finding> {
    let lines = source.lines;
    let finding = found(source, 1, format!("{lines} lines (limit {FILE_MAX_LINES})"));
    (lines > FILE_MAX_LINES)
        .then_some(finding)
        .into_iter()
        .collect()
}

/// A function has at most [`FUNCTION_MAX_CODE_LINES`] code lines.
#[must_use]
pub fn long_functions(source: &Source) -> Vec<Finding> {
    functions(source, |function| {
        let lines = function.code_lines;
        (lines > FUNCTION_MAX_CODE_LINES)
            .then(|| format!("{lines} code lines (limit {FUNCTION_MAX_CODE_LINES})"))
    })
}

/// A function has at most [`PARAMETERS_MAX`] parameters.
#[must_use]
pub fn wide_functions(source: &Source) -> Vec<Finding> {
    functions(source, |function| {
        let count = function.parameters;
        (count > PARAMETERS_MAX).then(|| format!("{count} parameters (limit {PARAMETERS_MAX})"))
    })
}

/// A public function of the product takes no `bool`.
#[must_use]
pub fn boolean_parameters(source: &Source) -> Vec<Finding> {
    functions(source, |function| {
        let product = !source.is_test_line(function.line);
        let names = function.public_bools.join("`, `");
        (product && !names.is_empty()).then(|| format!("takes `{names}: bool`"))
    })
}

/// Nothing is ignored, and no lint is silenced without a reason.
#[must_use]
pub fn silenced(source: &Source) -> Vec<Finding> {
    let what = |attribute: &Attribute| match attribute.name.as_str() {
        "ignore" => Some("a test that never runs"),
        "allow" | "expect" if !attribute.arguments.contains("reason =") => {
            Some("a lint silenced without `reason = \"…\"`")
        }
        "cfg_attr" if attribute.arguments.contains("ignore") => Some("a test that may not run"),
        _ => None,
    };
    let attributes = source.attributes.iter();
    attributes
        .filter_map(|attribute| Some(found(source, attribute.line, what(attribute)?)))
        .collect()
}

fn functions(source: &Source, what: impl Fn(&Function) -> Option<String>) -> Vec<Finding> {
    let functions = source.functions.iter();
    functions
        .filter_map(|function| {
            let what = format!("`{}`: {}", function.name, what(function)?);
            Some(found(source, function.line, what))
        })
        .collect()
}
