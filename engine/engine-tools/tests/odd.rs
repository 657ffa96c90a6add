//! Odd names through every tool that takes or shows one: what a tool shows, every tool takes.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_core::tool::Access;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use support::{toolbox, use_tool};

/// Names with how they are shown.
const NAMES: &[(&[u8], &str)] = &[
    (b"with space.txt", "with space.txt"),
    (b"tab\there", r#""tab\there""#),
    (b"new\nline", r#""new\nline""#),
    (b"-rf", "-rf"),
    (b"--help", "--help"),
    (b"quote\"s", "quote\"s"),
    (b"\"q\"", r#""\"q\"""#),
    ("ünïcödé.md".as_bytes(), "ünïcödé.md"),
    (b"bad\xFFutf8", r#""bad\377utf8""#),
    (b"a;b$(touch pwned)`id`", "a;b$(touch pwned)`id`"),
    (b"\x1B[31mred", r#""\033[31mred""#),
    (b"star*[a]?", "star*[a]?"),
    (b"~", "~"),
    (b"...", "..."),
];

#[tokio::test]
async fn what_one_tool_shows_every_tool_takes() {
    for (name, shown) in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OsStr::from_bytes(name));
        fs::write(&file, "needle\n").unwrap();
        let tools = toolbox(folder.path(), Access::Write);
        let check = async |tool: &str, arguments: Value, expected: &str| {
            let told = use_tool(&tools, tool, arguments).await;
            assert_eq!(told.as_deref(), Ok(expected), "{tool} {shown}");
        };
        check("list", json!({}), &format!("{shown}\n")).await;
        check("glob", json!({"pattern": "**"}), &format!("{shown}\n")).await;
        let line = format!("{shown}:1:needle\n");
        check("grep", json!({"pattern": "needle"}), &line).await;
        check("grep", json!({"pattern": "needle", "path": shown}), &line).await;
        check("read", json!({"path": shown}), "needle\n").await;
        let edit = json!({"path": shown, "old": "needle", "new": "pin"});
        check(
            "edit",
            edit,
            &format!("edited {shown}: +1 -1\n@@ -1 +1 @@\n-needle\n+pin\n"),
        )
        .await;
        let write = json!({"path": shown, "content": "hook\n"});
        check(
            "write",
            write,
            &format!("wrote {shown}: +1 -1\n@@ -1 +1 @@\n-pin\n+hook\n"),
        )
        .await;
        let inner = shown
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let side = |prefix: &str| match inner {
            Some(inner) => format!("\"{prefix}/{inner}\""),
            None => format!("{prefix}/{shown}"),
        };
        let patch = format!(
            "--- {}\n+++ {}\n@@ -1 +1 @@\n-hook\n+eye\n",
            side("a"),
            side("b")
        );
        check(
            "patch",
            json!({"patch": patch}),
            &format!("changed {shown}: +1 -1\n"),
        )
        .await;
        assert_eq!(fs::read(&file).unwrap(), b"eye\n", "{shown}");
        let envelope = format!("*** Begin Patch\n*** Delete File: {shown}\n*** End Patch\n");
        check(
            "patch",
            json!({"patch": envelope}),
            &format!("deleted {shown}\n"),
        )
        .await;
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "{shown}");
    }
}

#[tokio::test]
async fn a_name_with_a_real_line_break_is_taken_as_well() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("new\nline"), "a\n").unwrap();
    let tools = toolbox(folder.path(), Access::Read);
    let told = use_tool(&tools, "read", json!({"path": "new\nline"})).await;
    assert_eq!(told.as_deref(), Ok("a\n"));
}

#[tokio::test]
async fn a_very_deep_folder_is_walked_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let deep = format!("{}leaf", "d/".repeat(40));
    let tools = toolbox(folder.path(), Access::Write);
    let write = json!({"path": deep, "content": "x\n"});
    use_tool(&tools, "write", write).await.unwrap();
    let found = use_tool(&tools, "glob", json!({"pattern": "leaf"})).await;
    assert_eq!(found, Ok(format!("{deep}\n")));
    let patch = format!("--- a/{deep}\n+++ b/{deep}\n@@ -1 +1 @@\n-x\n+y\n");
    use_tool(&tools, "patch", json!({"patch": patch}))
        .await
        .unwrap();
    assert_eq!(fs::read_to_string(folder.path().join(deep)).unwrap(), "y\n");
}
