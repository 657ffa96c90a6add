//! Any text at all: reading it never panics, and every finding points into it.

mod surroundings;

use proptest::prelude::*;
use roster::{Diagnostic, Source, load, parse_user_config, render};
use surroundings::Around;

const GOOD: &str = r#"name = "x"
model = "p/m"
[limits]
agents = 2
wall = "1h"
[provider.p]
kind = "openai"
base_url = "https://h/v1"
[role.builder]
access = "write"
tools = ["read", "shell"]
[[task]]
id = "a"
prompt = """
täglich 日本
"""
[[task]]
id = "b"
prompt = 'x'
needs = ["a"]
check = ["true", "false"]
budget = { tokens = 1_000 }
"#;

/// Pieces that make and break TOML.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        "\"",
        "\"\"\"",
        "'",
        "'''",
        ",",
        ".",
        "\n",
        "\r\n",
        "#",
        " ",
        "\u{feff}",
        "\0",
        "\\",
        "é",
        "🐋",
        "role",
        "task",
        "id",
        "prompt",
        "needs",
        "1",
        "-1",
        "0x",
        "1e9",
        "true",
        "[role.x]\n",
        "[[task]]\n",
        "id = \"a\"\n",
        "needs = [\"a\"]\n",
        "${",
        "}",
        "~",
    ];
    prop_oneof![
        4 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat());
    let cut = (0..GOOD.len(), 0..40usize, piece()).prop_map(|(at, length, piece)| {
        let start = GOOD.floor_char_boundary(at);
        let end = GOOD.ceil_char_boundary((start + length).min(GOOD.len()));
        [&GOOD[..start], &piece, &GOOD[end..]].concat()
    });
    prop_oneof![any::<String>(), pieces, cut]
}

fn check_places(text: &str, found: &[Diagnostic]) -> Result<(), TestCaseError> {
    let inside = |start: usize, end: usize| {
        start <= end
            && end <= text.len()
            && text.is_char_boundary(start)
            && text.is_char_boundary(end)
    };
    for one in found {
        prop_assert!(inside(one.span.start, one.span.end), "{one:?}");
        for related in &one.related {
            prop_assert!(inside(related.span.start, related.span.end), "{one:?}");
        }
    }
    let source = Source { name: "t", text };
    let shown = render::to_text(&source, found);
    let is_safe = |c: char| c == '\n' || !c.is_control();
    prop_assert!(shown.chars().all(is_safe), "{shown:?}");
    let json = render::to_json(&source, found);
    prop_assert_eq!(json.as_array().map_or(0, Vec::len), found.len());
    Ok(())
}

proptest! {
    #[test]
    fn a_roster_is_loaded_or_refused_with_places_inside_its_text(text in texts()) {
        match Around::default().with(|around| load(&text, around)) {
            Ok(roster) => {
                prop_assert!(!roster.plan().to_string().is_empty());
                check_places(&text, roster.warnings())?;
            }
            Err(found) => {
                prop_assert!(!found.is_empty());
                check_places(&text, &found)?;
            }
        }
    }

    #[test]
    fn a_user_configuration_is_read_or_refused_with_places_inside_its_text(text in texts()) {
        if let Err(found) = Around::default().with(|around| parse_user_config(&text, around)) {
            prop_assert!(!found.is_empty());
            check_places(&text, &found)?;
        }
    }
}
