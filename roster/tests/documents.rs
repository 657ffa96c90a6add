//! What ships beside the code says what the code does: the page, the schema, the template, the examples.

mod surroundings;

use engine_core::tool::Access;
use fleet_core::spec::RunSpec;
use roster::{Diagnostic, RepoFacts, Roster, load, schema, tables, template};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use surroundings::Around;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn good(text: &str, around: &Around) -> Roster {
    let found: Vec<Diagnostic> = match around.with(|around| load(text, around)) {
        Ok(roster) if roster.warnings().is_empty() => return roster,
        Ok(roster) => roster.warnings().to_vec(),
        Err(found) => found,
    };
    panic!("{found:#?}\n{text}");
}

#[test]
fn the_page_holds_the_tables_of_the_code() {
    let page = read(&docs().join("roster.md"));
    for (name, table) in [
        ("keys", tables::keys()),
        ("roles", tables::roles()),
        ("codes", tables::codes()),
        ("not yet", tables::not_yet()),
    ] {
        let begin = format!("<!-- {name}: begin -->\n");
        let end = format!("<!-- {name}: end -->");
        let (_, rest) = page.split_once(&begin).expect("the page has the mark");
        let (found, _) = rest.split_once(&end).expect("the page has the mark");
        assert!(
            found.trim() == table.trim(),
            "docs/roster.md is behind the code; between the marks of `{name}` belongs:\n\n{table}"
        );
    }
}

#[test]
fn the_page_shows_only_rosters_that_load() {
    let page = read(&docs().join("roster.md"));
    let blocks: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        good(block, &Around::default());
    }
}

#[test]
fn the_template_loads_whatever_is_known_of_the_repository() {
    for facts in [
        RepoFacts::default(),
        RepoFacts {
            folder: Some("My Project (2)"),
            check: Some("cargo test -q"),
        },
        RepoFacts {
            folder: Some("日本"),
            check: Some("sh -c 'echo \"a\\b\"'"),
        },
    ] {
        let roster = good(&template(&facts), &Around::default());
        let build = roster.spec().tasks.last().expect("the template has tasks");
        let check: Vec<&str> = build.check.iter().map(String::as_str).collect();
        assert_eq!(check, facts.check.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn three_lines_of_the_template_point_it_at_a_server() {
    let text = template(&RepoFacts::default());
    let marked: Vec<&str> = text.lines().filter(|line| line.contains("# <- ")).collect();
    let keys: Vec<&str> = marked
        .iter()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(keys, ["model", "base_url", "key_env"]);
}

fn example(name: &str) -> (PathBuf, Roster) {
    let dir = docs().join("examples").join(name);
    let around = Around {
        dir: dir.to_str().expect("a path in UTF-8").to_owned(),
        ..Around::default()
    };
    let roster = good(&read(&dir.join("roster.toml")), &around);
    (dir, roster)
}

#[test]
fn the_examples_load_and_name_files_that_are_there() {
    for name in ["quickstart", "three-lines"] {
        let (_, roster) = example(name);
        for named in roster.named_paths() {
            assert!(Path::new(&named.path).exists(), "{}", named.path);
        }
    }
}

/// Whether an agent of a task, or of a task's review, has a tool.
fn has_tool(spec: &RunSpec, name: &str, tool: &str) -> bool {
    let (task, is_review) = match name.split_once("-review-") {
        Some((task, _)) => (task, true),
        None => (name, false),
    };
    let known = spec.tasks.iter().find(|known| known.id.as_str() == task);
    let task = known.expect("a turn is for a task of the roster");
    let reviewer = task.review.as_ref();
    let role = if is_review {
        reviewer.expect("only reviewed tasks have reviews")
    } else {
        &task.role
    };
    let role = &spec.roles[role];
    match tool {
        "read" | "list" | "glob" | "grep" | "git" => true,
        "write" | "edit" | "shell" => role.access == Access::Write,
        "verdict" => role.gives_verdict,
        _ => false,
    }
}

#[test]
fn the_turns_of_the_quickstart_fit_its_roster() {
    let (dir, roster) = example("quickstart");
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut before = (String::new(), None, 0);
    for line in read(&dir.join("turns.jsonl")).lines() {
        let turn: Value = serde_json::from_str(line).expect("a turn is JSON");
        let name = turn["task"].as_str().expect("a turn names its task");
        let number = turn["turn"].as_u64().expect("a turn has a number");
        let this = (name.to_owned(), turn["attempt"].as_u64(), number);
        let follows = before == (this.0.clone(), this.1, number - 1);
        assert!(number == 1 || follows, "{line}");
        for call in turn["calls"].as_array().into_iter().flatten() {
            let tool = call["name"].as_str().expect("a call names its tool");
            assert!(has_tool(roster.spec(), name, tool), "{line}");
        }
        names.insert(name.to_owned());
        before = this;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(
        names,
        ["farewell", "greeting", "greeting-review-2", "survey"]
    );
}

/// Whether a value fits a schema, by the words that the schema of a roster uses, without patterns.
fn fits(value: &Value, schema: &Value) -> Result<(), String> {
    let known = [
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "additionalProperties",
        "required",
        "items",
        "minItems",
        "uniqueItems",
        "enum",
        "minimum",
        "maximum",
        "pattern",
        "minLength",
        "propertyNames",
    ];
    let words = schema.as_object().ok_or("a schema is an object")?;
    if let Some(word) = words.keys().find(|word| !known.contains(&word.as_str())) {
        return Err(format!("`{word}` is no word of this schema"));
    }
    let right_type = match schema["type"].as_str() {
        None => schema["enum"]
            .as_array()
            .is_some_and(|words| words.contains(value)),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some(other) => return Err(format!("`{other}` is no type")),
    };
    if !right_type {
        return Err(format!("{value} is not {schema}"));
    }
    if let Some(number) = value.as_u64() {
        let least = schema["minimum"].as_u64().unwrap_or(0);
        let most = schema["maximum"].as_u64().unwrap_or(u64::MAX);
        if !(least..=most).contains(&number) {
            return Err(format!("{number} is out of range"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        fits(item, &schema["items"])?;
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        let name = required.as_str().ok_or("a name is a text")?;
        value.get(name).ok_or(format!("`{name}` is missing"))?;
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(property) => fits(inner, property)?,
            None if schema["additionalProperties"].is_object() => {
                fits(inner, &schema["additionalProperties"])?;
            }
            None => return Err(format!("unknown key {name}")),
        }
    }
    Ok(())
}

fn check_schema(text: &str, expected: Result<(), &str>) {
    let schema: Value = serde_json::from_str(&schema()).expect("the schema is JSON");
    let value: toml::Value = toml::from_str(text).expect("the text is TOML");
    let value = serde_json::to_value(value).expect("TOML without dates is JSON");
    let found = fits(&value, &schema);
    assert_eq!(
        found.as_ref().map_err(String::as_str),
        expected.as_ref().map_err(|e| *e).map(|()| &()),
        "{text}"
    );
}

#[test]
fn the_schema_accepts_what_loads_and_refuses_slips() {
    check_schema(&template(&RepoFacts::default()), Ok(()));
    for name in ["quickstart", "three-lines"] {
        check_schema(
            &read(&docs().join("examples").join(name).join("roster.toml")),
            Ok(()),
        );
    }
    let task = "[[task]]\nid = \"a\"\nprompt = \"p\"\n";
    check_schema("name = \"x\"", Err("`task` is missing"));
    check_schema("[[task]]\nid = \"a\"", Err("`prompt` is missing"));
    check_schema(&format!("{task}timout = \"1h\""), Err("unknown key timout"));
    check_schema(
        &format!("workflow = \"w\"\n{task}"),
        Err("unknown key workflow"),
    );
    check_schema(
        &format!("budget.tokens = 0\n{task}"),
        Err("0 is out of range"),
    );
    check_schema(
        &format!("[limits]\nagents = 257\n{task}"),
        Err("257 is out of range"),
    );
    check_schema(
        &format!("[role.x]\naccess = \"wrte\"\n{task}"),
        Err(
            "\"wrte\" is not {\"description\":\"What it may do to its workspace: `read` has the reading tools, `write` also edits and runs commands in a sandbox. Without it: that of the built-in role, else `read`.\",\"enum\":[\"read\",\"write\"]}",
        ),
    );
}
