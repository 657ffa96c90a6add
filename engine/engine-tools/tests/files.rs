//! Reading, writing and editing files: every byte that was not meant to change stays.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_core::tool::Access;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use support::{toolbox, use_tool};

/// Gives a file these bytes, edits it, and compares its bytes afterwards.
async fn check_edit(before: &[u8], old: &str, new: &str, after: Result<&[u8], &str>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, before).unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let told = use_tool(&tools, "edit", json!({"path": "f", "old": old, "new": new})).await;
    let bytes = fs::read(&file).unwrap();
    match after {
        Ok(after) => {
            assert!(told.is_ok(), "{told:?}");
            assert_eq!(
                bytes.escape_ascii().to_string(),
                after.escape_ascii().to_string()
            );
        }
        Err(reason) => {
            assert!(told.as_ref().is_err_and(|t| t.contains(reason)), "{told:?}");
            assert_eq!(bytes, before);
        }
    }
}

#[tokio::test]
async fn line_ends_survive_an_edit() {
    let crlf = b"alpha\r\nbeta\r\ngamma\r\n";
    check_edit(
        crlf,
        "alpha\nbeta",
        "alpha\nBETA\nnew",
        Ok(b"alpha\r\nBETA\r\nnew\r\ngamma\r\n"),
    )
    .await;
    check_edit(b"a\nb\r\nc\n", "a", "A", Ok(b"A\nb\r\nc\n")).await;
    check_edit(b"a\nb\r\nc\n", "b", "B1\nB2", Ok(b"a\nB1\r\nB2\r\nc\n")).await;
    check_edit(b"50%\r100%\nend\n", "end", "END", Ok(b"50%\r100%\nEND\n")).await;
    check_edit(b"one\ntwo\n", "one\r\ntwo", "1\r\n2", Ok(b"1\n2\n")).await;
}

#[tokio::test]
async fn the_last_newline_is_the_files_own_business() {
    check_edit(b"one\ntwo", "one", "ONE", Ok(b"ONE\ntwo")).await;
    check_edit(b"one\ntwo\n\n", "one", "ONE", Ok(b"ONE\ntwo\n\n")).await;
    check_edit(b"one\ntwo", "two", "two\nthree", Ok(b"one\ntwo\nthree")).await;
    check_edit(b"one\n", "one\n", "one", Ok(b"one")).await;
}

#[tokio::test]
async fn every_tool_agrees_on_what_is_text() {
    let check = async |bytes: &'static [u8], old: &str, after: Result<&[u8], &str>| {
        check_edit(bytes, old, "NEW", after).await;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), bytes).unwrap();
        let tools = toolbox(folder.path(), Access::Write);
        let read = use_tool(&tools, "read", json!({"path": "f"})).await;
        assert_eq!(read.is_ok(), after.is_ok(), "{read:?}");
        let found = use_tool(&tools, "grep", json!({"pattern": old})).await;
        let is_shown = found.as_ref().is_ok_and(|text| text.starts_with("f:1:"));
        assert_eq!(is_shown, after.is_ok(), "{found:?}");
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap();
        let line = String::from_utf8_lossy(first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first));
        let (removed, added) = (line.to_string(), line.replace(old, "NEW"));
        let patch = format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{removed}\n+{added}\n");
        let told = use_tool(&tools, "patch", json!({"patch": patch})).await;
        let expected = after.unwrap_or(bytes);
        assert_eq!(
            fs::read(folder.path().join("f")).unwrap(),
            expected,
            "{told:?}"
        );
        assert_eq!(told.is_ok(), after.is_ok(), "{told:?}");
    };
    check(b"key=1\n# na\xEFve\n", "key", Err("not valid UTF-8")).await;
    check(b"\xEF\xBB\xBFa\n", "a", Ok(b"\xEF\xBB\xBFNEW\n")).await;
    check(b"\xFF\xFEa\0\n\0", "a", Err("is not text")).await;
    check(b"a\xEF\xBF\xBDb\n", "b", Ok(b"a\xEF\xBF\xBDNEW\n")).await;
    check(b"a\0b\n", "a", Err("is not text")).await;
}

#[tokio::test]
async fn an_edit_shows_only_the_real_change() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "a\r\nb\r\nc\r\n").unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let arguments = json!({"path": "f", "old": "a\nb\nc", "new": "a\nB\nc"});
    insta::assert_snapshot!(use_tool(&tools, "edit", arguments).await.unwrap(), @r"
    edited f: +1 -1
    @@ -2 +2 @@
    -b
    +B
    ");
}

/// A folder `ws` full of links, beside a folder `out` that nothing may touch.
fn linked() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    fs::create_dir(at("ws")).unwrap();
    fs::create_dir(at("out")).unwrap();
    fs::write(at("out/s.txt"), "secret").unwrap();
    fs::write(at("ws/real.txt"), "hi").unwrap();
    symlink("../out/new.txt", at("ws/todo.md")).unwrap();
    symlink("../out/s.txt", at("ws/leak.txt")).unwrap();
    symlink("../out", at("ws/d")).unwrap();
    symlink("real.txt", at("ws/inside.txt")).unwrap();
    symlink(at("ws/real.txt"), at("ws/absolute.txt")).unwrap();
    symlink("loop", at("ws/loop")).unwrap();
    symlink("ws", at("W")).unwrap();
    top
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn links_do_not_lead_out_of_the_workspace() {
    let top = linked();
    let tools = toolbox(&top.path().join("W"), Access::Write);
    let check = async |tool: &str, path: &str, expected: &str| {
        let arguments = match tool {
            "write" => json!({"path": path, "content": "x"}),
            "edit" => json!({"path": path, "old": "secret", "new": "x"}),
            _ => json!({"path": path}),
        };
        let told = use_tool(&tools, tool, arguments).await;
        let refused = told.as_ref().is_err_and(|text| text.contains(expected));
        assert!(refused, "{tool} {path}: {told:?}");
    };
    let out = "leads out of the workspace";
    check("write", "todo.md", out).await;
    check("write", "d/x.txt", out).await;
    check("write", "../out/y", out).await;
    check("write", "d/../../out/z", out).await;
    check("write", "new/../../out/z", "there is no").await;
    check(
        "write",
        &top.path().join("out/y").display().to_string(),
        out,
    )
    .await;
    check("edit", "leak.txt", out).await;
    check("read", "leak.txt", out).await;
    check("read", "/etc/passwd", out).await;
    check("list", "d", out).await;
    check("list", "..", out).await;
    check("read", "loop", "too many links").await;
    check("read", "real.txt/x", "is not a folder").await;
    check("read", "missing", "there is no").await;
    check("read", ".", "is a folder").await;
    check("write", "a\0b", "NUL").await;

    let found = use_tool(&tools, "grep", json!({"pattern": "secret"}))
        .await
        .unwrap();
    assert_eq!(found, "no matches\n");
    assert_eq!(listing(&top.path().join("out")), ["s.txt"]);
    assert_eq!(fs::read(top.path().join("out/s.txt")).unwrap(), b"secret");
}

#[tokio::test]
async fn links_within_the_workspace_work_and_stay_links() {
    let top = linked();
    let root = top.path().join("W");
    let tools = toolbox(&root, Access::Write);
    let check = async |path: &str, content: &str| {
        use_tool(&tools, "read", json!({"path": path}))
            .await
            .unwrap();
        let arguments = json!({"path": path, "content": content});
        use_tool(&tools, "write", arguments).await.unwrap();
        assert_eq!(
            fs::read_to_string(top.path().join("ws/real.txt")).unwrap(),
            content
        );
    };
    check("inside.txt", "1").await;
    check("absolute.txt", "2").await;
    check("./inside.txt", "3").await;
    check(&root.join("real.txt").display().to_string(), "4").await;
    assert!(top.path().join("ws/inside.txt").is_symlink());
}

#[tokio::test]
async fn a_whole_write_never_overwrites_what_was_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let write = |content: &str| json!({"path": "f", "content": content});
    let seen_by_two = async || {
        fs::write(&file, "seed\n").unwrap();
        let (a, b) = (
            toolbox(folder.path(), Access::Write),
            toolbox(folder.path(), Access::Write),
        );
        for tools in [&a, &b] {
            use_tool(tools, "read", json!({"path": "f"})).await.unwrap();
        }
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        use_tool(&b, "write", write("seed\nB\n")).await.unwrap();
        (a, before)
    };

    let (a, _) = seen_by_two().await;
    let told = use_tool(&a, "write", write("seed\nA\n")).await.unwrap_err();
    assert_eq!(told, "`f` changed since you read it; read it again first");
    assert_eq!(fs::read_to_string(&file).unwrap(), "seed\nB\n");

    let (a, old_time) = seen_by_two().await;
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(old_time)
        .unwrap();
    let told = use_tool(&a, "write", write("seed\nA\n")).await;
    assert!(told.is_err(), "the content counts, not the time: {told:?}");

    let (a, _) = seen_by_two().await;
    let edit = json!({"path": "f", "old": "seed", "new": "SEED"});
    use_tool(&a, "edit", edit).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "SEED\nB\n");
    let told = use_tool(&a, "write", write("A\n")).await;
    assert!(told.is_err(), "an edit is no reading of the rest: {told:?}");

    use_tool(&a, "read", json!({"path": "f"})).await.unwrap();
    use_tool(&a, "write", write("1\n")).await.unwrap();
    use_tool(&a, "write", write("2\n")).await.unwrap();

    let stranger = toolbox(folder.path(), Access::Write);
    let told = use_tool(&stranger, "write", write("x")).await.unwrap_err();
    assert_eq!(
        told,
        "`f` exists and you have not read it; read it first, or use edit"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "2\n");
}

#[tokio::test]
async fn a_write_keeps_the_mode_and_makes_folders() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("run.sh");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let edit = json!({"path": "run.sh", "old": "sh\n", "new": "sh\necho\n"});
    use_tool(&tools, "edit", edit).await.unwrap();
    assert_eq!(
        fs::metadata(&script).unwrap().permissions().mode() & 0o7777,
        0o750
    );

    let write = json!({"path": "a/b/c.txt", "content": "x\n"});
    let told = use_tool(&tools, "write", write).await.unwrap();
    assert_eq!(told, "wrote a/b/c.txt: new, 1 lines");
    assert_eq!(fs::read(folder.path().join("a/b/c.txt")).unwrap(), b"x\n");
    assert_eq!(
        listing(folder.path()),
        ["a", "run.sh"],
        "no temporary file is left"
    );
}

#[tokio::test]
async fn a_file_that_may_not_be_written_is_not_replaced_either() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, "old\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let edit = json!({"path": "f", "old": "old", "new": "new"});
    let told = use_tool(&tools, "edit", edit).await;
    // The superuser may write any file.
    let expected = match rustix::process::geteuid().is_root() {
        true => "new\n",
        false => "old\n",
    };
    assert_eq!(told.is_ok(), expected == "new\n", "{told:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
}

#[tokio::test]
async fn what_belongs_to_git_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
    fs::write(folder.path().join(".git/config"), "[core]\n").unwrap();
    symlink(".git", folder.path().join("innocent")).unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    let check = async |path: &str| {
        let write = json!({"path": path, "content": "x"});
        let told = use_tool(&tools, "write", write).await;
        assert!(
            told.as_ref().is_err_and(|t| t.contains("git itself")),
            "{path}: {told:?}"
        );
    };
    check(".git/hooks/pre-commit").await;
    check(".GIT/x").await;
    check("innocent/hooks/pre-commit").await;
    check("sub/.git").await;
    let edit = json!({"path": ".git/config", "old": "core", "new": "alias"});
    let told = use_tool(&tools, "edit", edit).await.unwrap_err();
    assert!(told.contains("git itself"), "{told}");
}

#[tokio::test]
async fn special_files_do_not_hold_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let tools = toolbox(folder.path(), Access::Write);
    for (tool, arguments) in [
        ("read", json!({"path": "pipe"})),
        ("grep", json!({"pattern": "x", "path": "pipe"})),
        ("write", json!({"path": "pipe", "content": "x"})),
    ] {
        let told = use_tool(&tools, tool, arguments).await;
        assert!(told.is_err(), "{tool}: {told:?}");
    }
}

#[tokio::test]
async fn a_part_of_a_file_is_read_by_lines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "1\n2\n3\n4").unwrap();
    fs::write(folder.path().join("crlf"), "1\r\n2\r\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    let wide = format!("{}界\nnext\n", "x".repeat(64 * 1024 - 1));
    fs::write(folder.path().join("wide"), &wide).unwrap();
    let tools = toolbox(folder.path(), Access::Read);
    let check = async |arguments: serde_json::Value, expected: Result<&str, &str>| {
        let told = use_tool(&tools, "read", arguments).await;
        assert_eq!(told.as_deref().map_err(String::as_str), expected);
    };
    check(json!({"path": "f"}), Ok("1\n2\n3\n4\n")).await;
    check(
        json!({"path": "f", "offset": 3}),
        Ok("3\n4\n[lines 3 to 4 of 4]\n"),
    )
    .await;
    check(
        json!({"path": "f", "offset": 2, "limit": 1}),
        Ok("2\n[lines 2 to 2 of 4; go on with offset 3]\n"),
    )
    .await;
    check(
        json!({"path": "f", "offset": 9}),
        Err("`f` has only 4 lines"),
    )
    .await;
    check(json!({"path": "crlf"}), Ok("1\n2\n[line ends: CR LF]\n")).await;
    check(json!({"path": "empty"}), Ok("(empty file)")).await;
    let told = use_tool(&tools, "read", json!({"path": "wide"}))
        .await
        .unwrap();
    let (shown, notes) = told.split_once('\n').unwrap();
    assert_eq!(shown.len(), 64 * 1024 - 1);
    assert_eq!(
        notes,
        "[… 3 more bytes in line 1 …]\n[lines 1 to 1 of 2; go on with offset 2]\n"
    );
}
