//! The JSON Schema of a roster, for editors. It says what a schema can say; what needs the environment
//! or other files (references, circles, variables) only `load` finds.

use super::ROSTER;
use super::shape::{Key, Need, Shape, Sort};
use serde_json::{Map, Value, json};

/// Grammar of names, as a schema pattern.
const NAME_PATTERN: &str = "^[a-z0-9][a-z0-9-]{0,39}$";

/// Grammar of names of environment variables, as a schema pattern.
const VARIABLE_PATTERN: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// Hours, minutes and the like, as a schema pattern.
const DURATION_PATTERN: &str = "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$";

/// JSON Schema 2020-12 of `roster.toml`, as indented JSON text ending in a line break.
#[must_use]
pub fn schema() -> String {
    let mut root = table(ROSTER);
    let about = [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("title", "codewhale roster"),
        (
            "description",
            "Who works, on what, within which limits, and what counts as done.",
        ),
    ];
    for (name, text) in about {
        root.insert(name.to_owned(), text.into());
    }
    let mut text = format!("{:#}", Value::Object(root));
    text.push('\n');
    text
}

fn table(keys: &[Key]) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.need == Need::Required)
        .map(|key| key.name)
        .collect();
    let mut table = Map::new();
    table.insert("type".to_owned(), "object".into());
    table.insert("properties".to_owned(), properties.into());
    table.insert("additionalProperties".to_owned(), false.into());
    if !required.is_empty() {
        table.insert("required".to_owned(), json!(required));
    }
    table
}

fn property(key: &Key) -> Value {
    let mut value = shape(&key.shape);
    value["description"] = if key.default.is_empty() {
        key.doc.into()
    } else {
        format!("{} Without it: {}.", key.doc, key.default).into()
    };
    value
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text | Shape::Revision | Shape::Path | Shape::RepoFile | Shape::BaseUrl => {
            json!({"type": "string", "pattern": "\\S"})
        }
        Shape::Name | Shape::Reference(Sort::Role | Sort::Task) => {
            json!({"type": "string", "pattern": NAME_PATTERN})
        }
        Shape::Reference(Sort::Tool) => json!({"type": "string", "pattern": "^[a-z_]+$"}),
        Shape::Variable => json!({"type": "string", "pattern": VARIABLE_PATTERN}),
        Shape::Model => json!({"type": "string", "pattern": "^(.+/.+|.*\\$\\{.+\\}.*)$"}),
        Shape::Count { least, most } if *most == u64::MAX => {
            json!({"type": "integer", "minimum": least})
        }
        Shape::Count { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Duration => {
            json!({"type": "string", "minLength": 2, "pattern": DURATION_PATTERN})
        }
        Shape::Choice(words) => json!({"enum": words}),
        Shape::List(item) => json!({"type": "array", "items": self::shape(item)}),
        Shape::Set(item) => {
            json!({"type": "array", "items": self::shape(item), "uniqueItems": true})
        }
        Shape::Table(keys) => table(keys).into(),
        Shape::Named(keys) => json!({
            "type": "object",
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": table(keys),
        }),
        Shape::Rows(keys) => json!({"type": "array", "minItems": 1, "items": table(keys)}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{check_name, is_variable};
    use proptest::prelude::*;
    use proptest::string::string_regex;

    /// Texts that match a pattern of the schema.
    fn matching(pattern: &str) -> impl Strategy<Value = String> + use<> {
        let inside = pattern.trim_start_matches('^').trim_end_matches('$');
        string_regex(inside).expect("a pattern is a regular expression")
    }

    proptest! {
        #[test]
        fn what_the_schema_takes_for_a_name_is_one(text in matching(NAME_PATTERN)) {
            prop_assert!(check_name(&text).is_ok());
        }

        #[test]
        fn what_the_schema_takes_for_a_variable_is_one(text in matching(VARIABLE_PATTERN)) {
            prop_assert!(is_variable(&text));
        }
    }

    #[test]
    fn the_schema_names_its_dialect_and_refuses_other_keys_everywhere() {
        let schema: Value = serde_json::from_str(&schema()).expect("the schema is JSON");
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        let closed = |table: &Value| table["additionalProperties"] == false;
        let properties = &schema["properties"];
        assert!(closed(&schema));
        assert!(closed(&properties["limits"]));
        assert!(closed(&properties["role"]["additionalProperties"]));
        assert!(closed(&properties["task"]["items"]));
        assert!(closed(&properties["task"]["items"]["properties"]["budget"]));
    }
}
