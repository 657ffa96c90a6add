//! Which tools an access gives, and how their arguments are understood. Never runs a tool.

use crate::call::{Action, OnFiles, Refusal, nearest, one_line};
use crate::shell::bounded;
use crate::tools::{edit, git, git_rules, glob, grep, list, patch, read, shell, todo, write};
use engine_core::message::{Arguments, ToolCall};
use engine_core::tool::{Access, EffectClass, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Most bytes of what is wrong with arguments: it may quote them.
const ERROR_MAX_BYTES: usize = 1024;

/// A tool of this crate.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    description: &'static str,
    parameters: &'static str,
    /// The least access that has it.
    access: Access,
    /// What a call may touch. The shell's depends on its sandbox.
    effect: EffectClass,
    parse: fn(Value) -> Result<Action, serde_json::Error>,
}

/// Every tool, in the order shown to models.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "read",
        description: read::DESCRIPTION,
        parameters: read::PARAMETERS,
        access: Access::Read,
        effect: EffectClass::Reads,
        parse: |value| files(value, OnFiles::Read),
    },
    Tool {
        name: "list",
        description: list::DESCRIPTION,
        parameters: list::PARAMETERS,
        access: Access::Read,
        effect: EffectClass::Reads,
        parse: |value| files(value, OnFiles::List),
    },
    Tool {
        name: "glob",
        description: glob::DESCRIPTION,
        parameters: glob::PARAMETERS,
        access: Access::Read,
        effect: EffectClass::Reads,
        parse: |value| files(value, OnFiles::Glob),
    },
    Tool {
        name: "grep",
        description: grep::DESCRIPTION,
        parameters: grep::PARAMETERS,
        access: Access::Read,
        effect: EffectClass::Reads,
        parse: |value| files(value, OnFiles::Grep),
    },
    Tool {
        name: "git",
        description: git::DESCRIPTION,
        parameters: git::PARAMETERS,
        access: Access::Read,
        effect: EffectClass::Reads,
        parse: |value| arguments(value).map(Action::Git),
    },
    Tool {
        name: "todo",
        description: todo::DESCRIPTION,
        parameters: todo::PARAMETERS,
        access: Access::Read,
        effect: EffectClass::Reads,
        parse: |value| arguments(value).map(Action::Todo),
    },
    Tool {
        name: "write",
        description: write::DESCRIPTION,
        parameters: write::PARAMETERS,
        access: Access::Write,
        effect: EffectClass::Edits,
        parse: |value| files(value, OnFiles::Write),
    },
    Tool {
        name: "edit",
        description: edit::DESCRIPTION,
        parameters: edit::PARAMETERS,
        access: Access::Write,
        effect: EffectClass::Edits,
        parse: |value| files(value, OnFiles::Edit),
    },
    Tool {
        name: "patch",
        description: patch::DESCRIPTION,
        parameters: patch::PARAMETERS,
        access: Access::Write,
        effect: EffectClass::Edits,
        parse: |value| files(value, OnFiles::Patch),
    },
    Tool {
        name: "shell",
        description: shell::DESCRIPTION,
        parameters: shell::PARAMETERS,
        access: Access::Write,
        effect: EffectClass::Reaches,
        parse: |value| arguments(value).map(Action::Shell),
    },
];

fn arguments<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

fn files<T: DeserializeOwned>(
    value: Value,
    made: fn(T) -> OnFiles,
) -> Result<Action, serde_json::Error> {
    arguments(value).map(|args| Action::Files(made(args)))
}

/// Names of the tools that an access gives, in the order shown to models.
#[must_use]
pub fn tool_names(access: Access) -> Vec<&'static str> {
    allowed(access).map(|tool| tool.name).collect()
}

fn allowed(access: Access) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(move |tool| tool.access <= access)
}

/// The tools of one agent.
#[derive(Debug)]
pub(crate) struct Catalog {
    specs: Vec<ToolSpec>,
}

/// A name to narrow by that is no tool of the access.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}` with this access; there are {known}")]
pub struct UnknownTool {
    /// The name.
    pub name: String,
    /// What there is.
    pub known: String,
}

impl Catalog {
    /// The tools of an access, narrowed to the named ones if there are names.
    pub(crate) fn new(
        access: Access,
        narrow: Option<&[String]>,
        shell_effect: EffectClass,
    ) -> Result<Self, UnknownTool> {
        let names = tool_names(access);
        let unknown = narrow
            .into_iter()
            .flatten()
            .find(|name| !names.contains(&name.as_str()));
        if let Some(name) = unknown {
            return Err(UnknownTool {
                name: name.clone(),
                known: names.join(", "),
            });
        }
        let wanted = |tool: &&Tool| narrow.is_none_or(|names| names.iter().any(|n| n == tool.name));
        let specs = allowed(access).filter(wanted).map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            parameters: tool.parameters.to_owned(),
            effect: match tool.name {
                "shell" => shell_effect,
                _ => tool.effect,
            },
        });
        Ok(Self {
            specs: specs.collect(),
        })
    }

    pub(crate) fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool and the meaning of a call.
    pub(crate) fn understand(
        &self,
        call: &ToolCall,
    ) -> Result<(&'static str, EffectClass, Action), Refusal> {
        let names = || self.specs.iter().map(|spec| spec.name.as_str());
        let spec = self.specs.iter().find(|spec| spec.name == call.name);
        let tool = TOOLS.iter().find(|tool| tool.name == call.name);
        let (Some(spec), Some(tool)) = (spec, tool) else {
            return Err(Refusal::UnknownTool {
                name: one_line(&call.name),
                near: nearest(&call.name, names()),
                known: names().collect::<Vec<_>>().join(", "),
            });
        };
        let given = object(tool, &call.arguments)?;
        known_only(tool, &given)?;
        let action = (tool.parse)(Value::Object(given)).map_err(|error| Refusal::BadArguments {
            tool: tool.name.to_owned(),
            error: bounded(error.to_string(), ERROR_MAX_BYTES),
        })?;
        if let Action::Git(args) = &action {
            git_rules::check(&args.args)?;
        }
        Ok((tool.name, spec.effect, action))
    }
}

fn object(tool: &Tool, arguments: &Arguments) -> Result<Map<String, Value>, Refusal> {
    let refused = |error: String| Refusal::NotAnObject {
        tool: tool.name.to_owned(),
        error: bounded(error, ERROR_MAX_BYTES),
    };
    match arguments {
        Arguments::Invalid { error, .. } => Err(refused(error.clone())),
        Arguments::Object(text) if text.trim().is_empty() => Ok(Map::new()),
        Arguments::Object(text) => {
            serde_json::from_str(text).map_err(|error| refused(error.to_string()))
        }
    }
}

fn known_only(tool: &Tool, given: &Map<String, Value>) -> Result<(), Refusal> {
    let known = argument_names(tool.parameters);
    match given.keys().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(field) => Err(Refusal::UnknownArgument {
            tool: tool.name.to_owned(),
            field: one_line(field),
            near: nearest(field, known.iter().map(String::as_str)),
            known: known.join(", "),
        }),
    }
}

/// The names in a schema's `properties`. The schemas are this crate's own and checked by a test.
fn argument_names(parameters: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(parameters).unwrap_or_default();
    schema["properties"]
        .as_object()
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_core::ids::CallId;
    use serde_json::json;

    /// A value that fits a property of a schema.
    fn sample(property: &Value) -> Value {
        if let Some(first) = property["enum"].get(0) {
            return first.clone();
        }
        match property["type"].as_str() {
            Some("string") => json!("x"),
            Some("integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([sample(&property["items"])]),
            Some("object") => {
                let properties = property["properties"].as_object().unwrap().iter();
                properties
                    .map(|(name, p)| (name.clone(), sample(p)))
                    .collect()
            }
            other => panic!("a type that no sample is known for: {other:?}"),
        }
    }

    #[test]
    fn each_schema_says_exactly_what_its_tool_takes() {
        for tool in TOOLS {
            let schema: Value = serde_json::from_str(tool.parameters).unwrap();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            let properties = schema["properties"].as_object().unwrap();
            let required: Vec<&str> = schema["required"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            assert!(required.iter().all(|name| properties.contains_key(*name)));
            let all: Map<String, Value> = properties
                .iter()
                .map(|(name, p)| (name.clone(), sample(p)))
                .collect();
            assert!(
                (tool.parse)(Value::Object(all.clone())).is_ok(),
                "{}",
                tool.name
            );
            for name in properties.keys() {
                let mut without = all.clone();
                without.remove(name);
                let parsed = (tool.parse)(Value::Object(without));
                assert_eq!(
                    parsed.is_err(),
                    required.contains(&name.as_str()),
                    "{} {name}",
                    tool.name
                );
            }
            let mut beside = all;
            beside.insert("zzz".to_owned(), json!(1));
            assert!(
                (tool.parse)(Value::Object(beside)).is_err(),
                "{}",
                tool.name
            );
        }
    }

    #[test]
    fn access_decides_which_tools_there_are() {
        let check = |access: Access, expected: &str| {
            assert_eq!(tool_names(access).join(" "), expected);
        };
        check(Access::Read, "read list glob grep git todo");
        check(
            Access::Write,
            "read list glob grep git todo write edit patch shell",
        );
        check(
            Access::Full,
            "read list glob grep git todo write edit patch shell",
        );
    }

    #[test]
    fn every_tool_is_documented_with_its_access() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/roster.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("### Tools\n").nth(1).unwrap();
        let section = section.split("\n### ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let documented: Vec<String> = rows
            .map(|row| row.split('|').skip(1).take(2).collect::<String>())
            .collect();
        let access = |tool: &Tool| match tool.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Full => "full",
        };
        let row = |tool: &Tool| format!(" `{}`  `{}` ", tool.name, access(tool));
        assert_eq!(documented, TOOLS.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn narrowing_keeps_the_named_tools_and_refuses_unknown_names() {
        let narrow = |access, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
            let catalog = Catalog::new(access, Some(&names), EffectClass::Runs)?;
            let shown: Vec<String> = catalog.specs().iter().map(|s| s.name.clone()).collect();
            Ok::<_, UnknownTool>(shown.join(" "))
        };
        assert_eq!(
            narrow(Access::Read, &["grep", "read"]).unwrap(),
            "read grep"
        );
        assert_eq!(narrow(Access::Read, &[]).unwrap(), "");
        assert_eq!(
            narrow(Access::Read, &["write"]).unwrap_err().to_string(),
            "there is no tool `write` with this access; there are read, list, glob, grep, git, todo"
        );
    }

    #[test]
    fn a_call_that_is_not_understood_is_told_what_to_do() {
        let check = |name: &str, arguments: &str, expected: &str| {
            let catalog = Catalog::new(Access::Read, None, EffectClass::Runs).unwrap();
            let call = ToolCall {
                id: CallId("c1".to_owned()),
                name: name.to_owned(),
                arguments: Arguments::Object(arguments.to_owned()),
            };
            assert_eq!(catalog.understand(&call).unwrap_err().to_string(), expected);
        };
        check(
            "raed",
            "{}",
            "there is no tool `raed` here; did you mean `read`?; there are read, list, glob, grep, git, todo",
        );
        check(
            "shell",
            "{}",
            "there is no tool `shell` here; there are read, list, glob, grep, git, todo",
        );
        check(
            "read",
            r#"{"pth":"a"}"#,
            "`read` has no argument `pth`; did you mean `path`?; it has limit, offset, path",
        );
        check(
            "read",
            "{}",
            "the arguments of `read` do not fit: missing field `path`",
        );
        check(
            "read",
            r#"{"path":1}"#,
            "the arguments of `read` do not fit: invalid type: integer `1`, expected a string",
        );
        check(
            "read",
            r#"{"path":"#,
            "the arguments of `read` are not a JSON object: EOF while parsing a value at line 1 column 8",
        );
        check(
            "git",
            r#"{"args":[]}"#,
            "`args` is empty; begin with a subcommand, for instance `status`",
        );
    }
}
