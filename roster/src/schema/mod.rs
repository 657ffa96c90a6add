//! What may be written: one table of keys that validation, *did you mean*, the JSON Schema and the
//! documentation follow. Never reads a text.

mod json_schema;
mod keys;
mod not_yet;
mod shape;

pub use json_schema::schema;
pub(crate) use keys::{BUDGET, LIMITS, PROVIDER, ROLE, ROSTER, TASK, USER_CONFIG, WORKSPACE};
pub(crate) use not_yet::{NOT_YET, not_yet_key, not_yet_value};
pub(crate) use shape::{Key, Need, Shape, listed};

/// A table of the roster that has keys of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    /// Path without names of tables: `role`, `task.budget`. Empty at the top.
    pub(crate) place: &'static str,
    /// How a person writes its beginning.
    pub(crate) header: &'static str,
    /// Its keys.
    pub(crate) keys: &'static [Key],
}

/// Every table, in the order they are documented.
pub(crate) static SECTIONS: &[Section] = &[
    Section {
        place: "",
        header: "the top of the file",
        keys: ROSTER,
    },
    Section {
        place: "limits",
        header: "[limits]",
        keys: LIMITS,
    },
    Section {
        place: "budget",
        header: "[budget]",
        keys: BUDGET,
    },
    Section {
        place: "workspace",
        header: "[workspace]",
        keys: WORKSPACE,
    },
    Section {
        place: "provider",
        header: "[provider.NAME]",
        keys: PROVIDER,
    },
    Section {
        place: "role",
        header: "[role.NAME]",
        keys: ROLE,
    },
    Section {
        place: "task",
        header: "[[task]]",
        keys: TASK,
    },
];

/// Every key with the section it stands in.
pub(crate) fn all_keys() -> impl Iterator<Item = (&'static Section, &'static Key)> {
    SECTIONS
        .iter()
        .flat_map(|section| section.keys.iter().map(move |key| (section, key)))
}
