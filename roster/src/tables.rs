//! The tables of `docs/roster.md`, made from what the code holds, so that a test can compare them. Never
//! writes a file.

use crate::diagnostic::Code;
use crate::role_rules::word;
use crate::roles::BUILT_IN_ROLES;
use crate::schema::{Key, NOT_YET, Need, SECTIONS, Section, Shape};

/// Every key with type, default and meaning, one table for each section.
#[must_use]
pub fn keys() -> String {
    let tables: Vec<String> = SECTIONS.iter().map(section).collect();
    tables.join("\n")
}

/// The built-in roles.
#[must_use]
pub fn roles() -> String {
    let rows = BUILT_IN_ROLES.iter();
    table(
        &["role", "access", "for whom"],
        rows.map(|role| {
            vec![
                code(role.name),
                code(word(role.access)),
                role.purpose.to_owned(),
            ]
        }),
    )
}

/// The sorts of faults.
#[must_use]
pub fn codes() -> String {
    let rows = Code::ALL.iter();
    table(
        &["code", "what is wrong"],
        rows.map(|sort| vec![code(sort.name()), sort.about().to_owned()]),
    )
}

/// What is refused as *not supported yet*.
#[must_use]
pub fn not_yet() -> String {
    let rows = NOT_YET.iter().map(|row| {
        let refused = match row.value {
            Some(value) => format!("{} = \"{value}\"", row.place),
            None => row.place.to_owned(),
        };
        vec![code(&refused), row.instead.to_owned()]
    });
    table(&["refused", "today"], rows)
}

fn section(section: &Section) -> String {
    let title = if section.place.is_empty() {
        "The top of the file".to_owned()
    } else {
        code(section.header)
    };
    let own = section.keys.iter().filter(|key| !has_own_section(key));
    let rows = table(
        &["key", "type", "without it", "meaning", "example"],
        own.map(|key| {
            let without = match key.need {
                Need::Required => "refused",
                Need::Optional if key.default.is_empty() => "see its meaning",
                Need::Optional => key.default,
            };
            vec![
                code(key.name),
                key.shape.label(),
                without.to_owned(),
                key.doc.to_owned(),
                code(key.example),
            ]
        }),
    );
    format!("### {title}\n\n{rows}")
}

/// True for a key that has a table of its own, except the small one of a task.
fn has_own_section(key: &Key) -> bool {
    match key.shape {
        Shape::Table(_) => key.example.is_empty(),
        Shape::Named(_) | Shape::Rows(_) => true,
        _ => false,
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = vec!["---".to_owned(); head.len()];
    let body: String = rows.map(|cells| line(&cells)).collect();
    line(&head) + &line(&rule) + &body
}
