//! The tables of `docs/roster.md`, made from the key tables. Never writes a file.

use super::not_yet::NOT_YET;
use super::shape::{Key, Need, Shape};
use super::{SECTIONS, Section};
use std::fmt::Write as _;

/// Every key with type, default and meaning as Markdown tables, one for each section.
#[must_use]
pub fn key_tables() -> String {
    let tables: Vec<String> = SECTIONS.iter().map(section_table).collect();
    tables.join("\n")
}

/// What is refused as *not supported yet*, as a Markdown table.
#[must_use]
pub fn not_yet_table() -> String {
    let mut out = String::from("| refused | today |\n| --- | --- |\n");
    for row in NOT_YET {
        let refused = match row.value {
            Some(value) => format!("`{} = \"{value}\"`", row.place),
            None => format!("`{}`", row.place),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| {refused} | {} |", row.instead);
    }
    out
}

fn section_table(section: &Section) -> String {
    let title = if section.place.is_empty() {
        "The top of the file".to_owned()
    } else {
        format!("`{}`", section.header)
    };
    let mut out = format!(
        "### {title}\n\n| key | type | without it | meaning | example |\n| --- | --- | --- | --- | --- |\n"
    );
    for key in section.keys.iter().filter(|key| !is_own_section(key)) {
        let without = match key.need {
            Need::Required => "refused",
            Need::Optional if key.default.is_empty() => "—",
            Need::Optional => key.default,
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {without} | {} | `{}` |",
            key.name,
            key.shape.label(),
            key.doc,
            key.example
        );
    }
    out
}

/// True for a key that has a table of its own, except the small one of a task.
fn is_own_section(key: &Key) -> bool {
    match key.shape {
        Shape::Table(_) => key.example.is_empty(),
        Shape::Named(_) | Shape::Rows(_) => true,
        _ => false,
    }
}
