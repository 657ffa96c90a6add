//! One text for each JSON value, whatever way it was written. Never decides what counts: it writes
//! all it is given.
//!
//! Members of an object stand in the order of their names' bytes. A number is its exact value: `1`,
//! `1.0` and `1e0` are one, `-0` is `0`. Texts are taken as they are: two spellings of one visible
//! character differ, because a model reads them differently.

use serde_json::{Map, Number, Value};
use std::fmt::Write as _;

/// The text of an object.
pub(crate) fn text_of(object: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_object(object, &mut text);
    text
}

fn write_value(value: &Value, into: &mut String) {
    match value {
        Value::Null => into.push_str("null"),
        Value::Bool(true) => into.push_str("true"),
        Value::Bool(false) => into.push_str("false"),
        Value::Number(number) => write_number(number, into),
        Value::String(text) => write_text(text, into),
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    into.push(',');
                }
                write_value(item, into);
            }
            into.push(']');
        }
        Value::Object(object) => write_object(object, into),
    }
}

fn write_object(object: &Map<String, Value>, into: &mut String) {
    let mut members: Vec<(&String, &Value)> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| name.as_bytes());
    into.push('{');
    for (index, (name, value)) in members.into_iter().enumerate() {
        if index > 0 {
            into.push(',');
        }
        write_text(name, into);
        into.push(':');
        write_value(value, into);
    }
    into.push('}');
}

fn write_text(text: &str, into: &mut String) {
    // The escaping of JSON is one to one, so different texts stay different.
    write!(into, "{}", Value::from(text)).expect("writing to a String cannot fail");
}

fn write_number(number: &Number, into: &mut String) {
    let written = match number.as_f64() {
        Some(float) if number.is_f64() => write_float(float, into),
        _ => write!(into, "{number}"),
    };
    written.expect("writing to a String cannot fail");
}

fn write_float(float: f64, into: &mut String) -> std::fmt::Result {
    /// Whole numbers below 2^64 have the text that an integer of the same value has.
    const INTEGERS_END: f64 = 18_446_744_073_709_551_616.0;
    if float.fract() == 0.0 && float.abs() < INTEGERS_END {
        write!(into, "{}", float as i128)
    } else {
        write!(into, "{float}")
    }
}

#[cfg(test)]
mod tests {
    use super::write_value;
    use proptest::prelude::*;
    use serde_json::Value;

    fn text_of(value: &Value) -> String {
        let mut text = String::new();
        write_value(value, &mut text);
        text
    }

    fn check(one: &str, expected: &str) {
        let value: Value = serde_json::from_str(one).unwrap();
        assert_eq!(text_of(&value), expected, "{one}");
    }

    #[test]
    fn members_are_sorted_at_every_depth() {
        check(
            r#"{"b":[{"d":1,"c":2}],"a":{}}"#,
            r#"{"a":{},"b":[{"c":2,"d":1}]}"#,
        );
        check(r#"{"é":1,"z":2,"Z":3}"#, r#"{"Z":3,"z":2,"é":1}"#);
    }

    #[test]
    fn a_number_is_its_value_not_its_spelling() {
        for spelling in ["1", "1.0", "1e0", "10e-1", "0.1e1"] {
            check(spelling, "1");
        }
        for (spelling, expected) in [
            ("-0", "0"),
            ("-0.0", "0"),
            ("0.1", "0.1"),
            ("1e3", "1000"),
            ("-2.5", "-2.5"),
            ("18446744073709551615", "18446744073709551615"),
            ("9223372036854775808", "9223372036854775808"),
            ("9223372036854775808.0", "9223372036854775808"),
            ("-9223372036854775808", "-9223372036854775808"),
        ] {
            check(spelling, expected);
        }
    }

    #[test]
    fn a_text_is_its_characters_not_their_escapes() {
        check(r#""\u0061\/\u00e9""#, r#""a/é""#);
        check("\"e\u{301}\"", "\"e\u{301}\"");
        check(r#""\u0001\n\"""#, r#""\u0001\n\"""#);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            // Reading a long fraction back may miss it by one bit, so these are short ones.
            any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_text_is_json_and_its_own_canonical_form(value in any_value()) {
            let text = text_of(&value);
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(text_of(&again), text);
        }

        #[test]
        fn different_values_have_different_texts(one in any_value(), other in any_value()) {
            // Compared by what comes back, because `1` and `1.0` are one value here.
            let back = |value: &Value| serde_json::from_str::<Value>(&text_of(value)).unwrap();
            prop_assert_eq!(text_of(&one) == text_of(&other), back(&one) == back(&other));
        }
    }
}
