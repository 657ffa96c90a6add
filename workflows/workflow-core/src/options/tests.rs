//! Which options are taken, and which orders are the same.

use super::TaskOptions;
use crate::key::ContentKey;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const RESULT: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/1";

fn resolve(options: &Value) -> Result<TaskOptions, String> {
    TaskOptions::resolve(options).map_err(|faults| {
        let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
        messages.join("\n")
    })
}

/// The key of an order with role and prompt and these options.
fn key_with(options: &Value) -> ContentKey {
    let mut all = json!({ "role": "scout", "prompt": "x" });
    let (all_members, members) = (all.as_object_mut().unwrap(), options.as_object().unwrap());
    all_members.extend(members.clone());
    resolve(&all).unwrap().content_key()
}

fn refused(options: &Value, expected: &str) {
    assert_eq!(resolve(options).unwrap_err(), expected, "{options}");
}

#[test]
fn all_faults_are_told_at_once() {
    refused(
        &json!(["role"]),
        "a task is ordered with an object of options",
    );
    refused(
        &json!({ "role": " ", "promt": "typo", "timeout": 10 }),
        "unknown option `promt`: a task takes role, prompt, id, needs, of, files, check, review, budget, timeout, output, schema, key\n\
         the option `role` must be a text that is not blank\n\
         the option `prompt` is missing\n\
         the option `timeout` must be a text that is not blank",
    );
}

#[test]
fn a_failed_task_cannot_be_needed() {
    let order = |name: &str, value: Value| json!({ "role": "r", "prompt": "p", name: value });
    for (name, value) in [
        ("needs", Value::Null),
        ("needs", json!([RESULT, null])),
        ("of", Value::Null),
    ] {
        let expected = format!(
            "the option `{name}` holds null where a task's result should be: that task failed"
        );
        refused(&order(name, value), &expected);
    }
    let expected = "the option `needs` must be a list of results of tasks";
    refused(&order("needs", json!(["survey"])), expected);
    assert!(resolve(&order("needs", json!([RESULT]))).is_ok());
}

#[test]
fn values_of_the_wrong_shape_are_refused() {
    let deep = (0..super::SCHEMA_MAX_DEPTH).fold(json!({}), |schema, _| json!({ "a": schema }));
    for (name, value) in [
        ("files", json!("tests/**")),
        ("files", json!([""])),
        ("check", json!([1])),
        ("budget", json!({ "tokens": -1 })),
        ("budget", json!({ "tokens": 1.5 })),
        ("budget", json!({ "tokens": "abc" })),
        ("budget", json!({ "euro": 1 })),
        ("budget", json!(5)),
        ("output", json!({})),
        ("output", json!({ "schema": 1 })),
        ("schema", json!("s.json")),
        ("schema", deep),
        ("key", json!("")),
        ("key", json!("k".repeat(201))),
        ("of", json!(3)),
    ] {
        let order = json!({ "role": "r", "prompt": "p", name: value });
        let message = resolve(&order).unwrap_err();
        assert!(
            message.starts_with(&format!("the option `{name}` must be ")),
            "{message}"
        );
    }
    refused(
        &json!({ "role": "r", "prompt": "p", "schema": {}, "output": { "schema": "s.json" } }),
        "give `schema` or `output`, not both",
    );
}

#[test]
fn what_says_nothing_changes_no_key() {
    let bare = key_with(&json!({}));
    for nothing in [
        json!({ "needs": [] }),
        json!({ "files": [], "check": [] }),
        json!({ "budget": {} }),
        json!({ "review": null, "budget": null, "schema": null, "key": null }),
    ] {
        assert_eq!(key_with(&nothing), bare, "{nothing}");
    }
}

#[test]
fn different_options_have_different_keys() {
    let orders = [
        json!({}),
        json!({ "id": "a" }),
        json!({ "prompt": "e\u{301}" }),
        json!({ "prompt": "\u{e9}" }),
        json!({ "prompt": "x " }),
        json!({ "files": ["a"] }),
        json!({ "check": ["a"] }),
        json!({ "check": ["a", "b"] }),
        json!({ "check": ["b", "a"] }),
        json!({ "check": ["a,b"] }),
        json!({ "review": "a" }),
        json!({ "timeout": "30m" }),
        json!({ "budget": { "tokens": 0 } }),
        json!({ "budget": { "tokens": 1 } }),
        json!({ "budget": { "usd": 1 } }),
        json!({ "of": RESULT }),
        json!({ "needs": [RESULT] }),
        json!({ "schema": {} }),
        json!({ "schema": { "enum": [null] } }),
        json!({ "output": { "schema": "a" } }),
        json!({ "key": "a" }),
        json!({ "key": "b" }),
    ];
    for (index, one) in orders.iter().enumerate() {
        for other in &orders[..index] {
            assert_ne!(key_with(one), key_with(other), "{one} {other}");
        }
    }
}

#[test]
fn an_authors_key_decides_alone() {
    let one = key_with(&json!({ "key": "survey", "prompt": "a" }));
    assert_eq!(one, key_with(&json!({ "key": "survey", "prompt": "b" })));
    assert_eq!(one, ContentKey::explicit("survey"));
}

#[test]
fn keys_are_the_same_in_every_version() {
    let options = json!({
        "role": "builder",
        "prompt": "Write tests for é",
        "files": ["tests/**"],
        "budget": { "usd": 0.5, "tokens": 300_000 },
    });
    let key = resolve(&options).unwrap().content_key();
    assert_eq!(
        key.to_string(),
        "5fee965186346b17b6c6efa68523e9b48563c95d62b92091f516384435cafb91"
    );
}

/// Options that are taken, out of a small world so that equal ones are frequent.
fn any_options() -> impl Strategy<Value = Map<String, Value>> {
    let budget =
        (0_u32..3, 0_u32..3).prop_map(|(tokens, usd)| json!({ "tokens": tokens, "usd": usd }));
    let member = prop_oneof![
        ("role|prompt|id|review|timeout|key", "[ab]").prop_map(|(name, text)| (name, json!(text))),
        ("files|check", prop::collection::vec("[ab]", 0..3))
            .prop_map(|(name, texts)| (name, json!(texts))),
        budget.prop_map(|budget| ("budget".to_owned(), budget)),
        Just(("of".to_owned(), json!(RESULT))),
    ];
    prop::collection::vec(member, 0..4).prop_map(|members| {
        let mut options = Map::new();
        options.insert("role".to_owned(), json!("scout"));
        options.insert("prompt".to_owned(), json!("x"));
        options.extend(members);
        options
    })
}

/// The same JSON written with its members the other way round and its numbers as floats.
fn respelled(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(name, value)| {
                    format!("{}: {}", Value::from(name.as_str()), respelled(value))
                })
                .collect();
            format!("{{ {} }}", members.join(" , "))
        }
        Value::Number(number) => format!("{number}.0"),
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn spelling_changes_no_key(options in any_options()) {
        let options = Value::Object(options);
        let again: Value = serde_json::from_str(&respelled(&options)).unwrap();
        let (one, other) = (resolve(&options).unwrap(), resolve(&again).unwrap());
        prop_assert_eq!(one.content_key(), other.content_key());
    }

    #[test]
    fn equal_keys_mean_equal_options(one in any_options(), other in any_options()) {
        let one = resolve(&Value::Object(one)).unwrap();
        let other = resolve(&Value::Object(other)).unwrap();
        let same = if one.key.is_some() || other.key.is_some() {
            one.key == other.key
        } else {
            one.resolved() == other.resolved()
        };
        prop_assert_eq!(one.content_key() == other.content_key(), same);
    }
}
