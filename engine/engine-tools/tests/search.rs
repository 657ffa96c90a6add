//! Listing, globbing and searching: in order, without what git ignores, bounded with exact counts.

#![cfg(test)]

mod support;

use engine_core::tool::Access;
use serde_json::{Value, json};
use std::fs;
use support::{toolbox, use_tool};

/// A repository with ignored, hidden, linked and binary files.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in [".git/info", "src/deep", "target", "docs"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    for (path, content) in [
        (".git/HEAD", "ref: needle\n"),
        (".gitignore", "/target\n*.log\n"),
        (".github.yml", "needle: hidden\n"),
        ("README.md", "no such thing\n"),
        ("src/lib.rs", "fn needle() {}\r\n// Needle\r\n"),
        ("src/deep/mod.rs", "use needle;\n"),
        ("src/out.log", "needle\n"),
        ("target/x.rs", "needle\n"),
        ("docs/bin", "needle\n\0\n"),
    ] {
        fs::write(at(path), content).unwrap();
    }
    std::os::unix::fs::symlink("src/lib.rs", at("link.rs")).unwrap();
    folder
}

async fn check(tool: &str, arguments: Value, expected: Result<&str, &str>) {
    let folder = repository();
    let tools = toolbox(folder.path(), Access::Read);
    let told = use_tool(&tools, tool, arguments.clone()).await;
    assert_eq!(
        told.as_deref().map_err(String::as_str),
        expected,
        "{tool} {arguments}"
    );
}

#[tokio::test]
async fn a_folder_is_listed_without_what_git_ignores() {
    let top = ".github.yml\n.gitignore\nREADME.md\ndocs/\nlink.rs -> src/lib.rs\nsrc/\n";
    check("list", json!({}), Ok(top)).await;
    check("list", json!({"path": "src"}), Ok("deep/\nlib.rs\n")).await;
    check(
        "list",
        json!({"path": "src/lib.rs"}),
        Err("`src/lib.rs` is not a folder"),
    )
    .await;
    check("list", json!({"path": "nope"}), Err("there is no `nope`")).await;
}

#[tokio::test]
async fn files_are_found_by_the_shape_of_their_path() {
    let check = async |pattern: &str, expected: &str| {
        check("glob", json!({"pattern": pattern}), Ok(expected)).await;
    };
    check("*.rs", "link.rs\nsrc/deep/mod.rs\nsrc/lib.rs\n").await;
    check("src/*.rs", "src/lib.rs\n").await;
    check("./src/**/*.rs", "src/deep/mod.rs\nsrc/lib.rs\n").await;
    check("**/{README,nope}.md", "README.md\n").await;
    check("*.log", "no files match").await;
    check(".git/**", "no files match").await;
}

#[tokio::test]
async fn lines_are_found_by_a_regular_expression() {
    let all = ".github.yml:1:needle: hidden\nsrc/deep/mod.rs:1:use needle;\n\
               src/lib.rs:1:fn needle() {}\n";
    check("grep", json!({"pattern": "needle"}), Ok(all)).await;
    let path = json!({"pattern": "(?i)needle$", "path": "src"});
    check("grep", path, Ok("src/lib.rs:2:// Needle\n")).await;
    let file = json!({"pattern": "^fn", "path": "src/lib.rs"});
    check("grep", file, Ok("src/lib.rs:1:fn needle() {}\n")).await;
    let glob = json!({"pattern": "needle", "glob": "*.yml"});
    check("grep", glob, Ok(".github.yml:1:needle: hidden\n")).await;
    let asked_for = json!({"pattern": "needle", "path": "target"});
    check("grep", asked_for, Ok("target/x.rs:1:needle\n")).await;
    check("grep", json!({"pattern": "zzz"}), Ok("no matches\n")).await;
    let folder = repository();
    let tools = toolbox(folder.path(), Access::Read);
    let told = use_tool(&tools, "grep", json!({"pattern": "("}))
        .await
        .unwrap_err();
    assert!(told.contains("unclosed group"), "{told}");
}

#[tokio::test]
async fn what_is_left_out_is_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let many: String = (0..150).map(|n| format!("hit {n}\n")).collect();
    for name in ["a", "b", "c"] {
        fs::write(folder.path().join(name), &many).unwrap();
    }
    for n in 0..1100 {
        fs::create_dir_all(folder.path().join("d")).unwrap();
        fs::write(folder.path().join(format!("d/{n:04}.txt")), "").unwrap();
    }
    let tools = toolbox(folder.path(), Access::Read);
    let check = async |tool: &str, arguments: Value, lines: usize, note: &str| {
        let told = use_tool(&tools, tool, arguments).await.unwrap();
        assert_eq!(told.lines().count(), lines + 1, "{tool}");
        assert_eq!(told.lines().last(), Some(note), "{tool}");
    };
    let note = "[… 250 more matching lines in 2 files left out …]";
    check("grep", json!({"pattern": "hit"}), 200, note).await;
    check(
        "glob",
        json!({"pattern": "*.txt"}),
        1000,
        "[… 100 more files left out …]",
    )
    .await;
    check(
        "list",
        json!({"path": "d"}),
        1000,
        "[… 100 more entries left out …]",
    )
    .await;
}

#[tokio::test]
async fn ignore_files_above_a_plain_folder_do_not_count() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join(".gitignore"), "*\n").unwrap();
    fs::create_dir(top.path().join("ws")).unwrap();
    fs::write(top.path().join("ws/.gitignore"), "b\n").unwrap();
    fs::write(top.path().join("ws/a"), "").unwrap();
    fs::write(top.path().join("ws/b"), "").unwrap();
    let tools = toolbox(&top.path().join("ws"), Access::Read);
    let told = use_tool(&tools, "list", json!({})).await;
    assert_eq!(told.as_deref(), Ok(".gitignore\na\n"));
}
