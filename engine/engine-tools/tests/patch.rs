//! The patch tool over real files: links, permissions, odd names, and git as the judge.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_core::tool::Access;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{toolbox, use_tool};

/// Every file, folder and link below a folder, with its mode and content.
fn snapshot(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        let content = if about.is_dir() {
            all.extend(snapshot(&path));
            Vec::new()
        } else if about.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec()
        } else {
            fs::read(&path).unwrap()
        };
        all.push((path, about.permissions().mode(), content));
    }
    all.sort();
    all
}

fn change(path: &str, old: &str, new: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
}

fn made(path: &str, line: &str) -> String {
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n")
}

fn moved(from: &str, to: &str) -> String {
    format!(
        "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
    )
}

fn deleted(path: &str) -> String {
    format!("diff --git a/{path} b/{path}\ndeleted file mode 100644\n")
}

async fn patch(root: &Path, patch: &str) -> Result<String, String> {
    let tools = toolbox(root, Access::Write);
    use_tool(&tools, "patch", json!({"patch": patch})).await
}

#[tokio::test]
async fn a_patch_is_told_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("a.txt"), "x\na\n").unwrap();
    fs::write(root.join("b.txt"), "b\n").unwrap();
    let text = [
        change("a.txt", "a", "A"),
        moved("b.txt", "c/d.txt"),
        made("n.txt", "n"),
    ];
    let told = patch(root, &text.concat()).await.unwrap();
    insta::assert_snapshot!(told, @r"
    changed a.txt: +1 -1
      hunk 1 was found 1 line further down than it says
    moved b.txt to c/d.txt
    made n.txt: +1 -0
    ");
    let names: Vec<_> = snapshot(root)
        .into_iter()
        .map(|(path, _, content)| {
            let path = path.strip_prefix(root).unwrap().display().to_string();
            (path, String::from_utf8(content).unwrap())
        })
        .collect();
    let expected = [
        ("a.txt", "x\nA\n"),
        ("c", ""),
        ("c/d.txt", "b\n"),
        ("n.txt", "n\n"),
    ];
    assert_eq!(
        names,
        expected.map(|(path, text)| (path.to_owned(), text.to_owned()))
    );
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing_and_names_every_fault() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("a.txt"), "a\n").unwrap();
    fs::write(root.join("b.txt"), "b\n").unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join("blob"), "a\0").unwrap();
    let before = snapshot(root);
    let text = [
        change("a.txt", "a", "A"),
        made("b.txt", "new"),
        "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n".to_owned(),
        made(".git/hooks/post-commit", "x"),
        made("../out", "x"),
        deleted("blob"),
        deleted("b.txt"),
    ];
    insta::assert_snapshot!(patch(root, &text.concat()).await.unwrap_err(), @r"
    the patch does not fit, nothing was changed:
    - `b.txt` exists already; a patch makes only files that are not there
    - there is no `c.txt`
    - `.git/hooks/post-commit` belongs to git itself and is not changed
    - `../out` leads out of the workspace
    - `blob` is not text: byte 1 is NUL (a binary file, or UTF-16)
    - `b.txt` exists and you have not read it; read it first, or use edit
    ");
    patch(root, &moved("a.txt", "b.txt")).await.unwrap_err();
    assert_eq!(snapshot(root), before);
    let twice = [change("a.txt", "a", "A"), change("a.txt", "A", "AA")].concat();
    patch(root, &twice).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "AA\n");
}

#[tokio::test]
async fn many_faults_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..25)
        .map(|n| change(&format!("f{n}"), "a", "b"))
        .collect();
    let told = patch(folder.path(), &text).await.unwrap_err();
    assert_eq!(told.lines().count(), 22);
    assert!(
        told.ends_with("- there is no `f19`\n[… 5 more faults …]"),
        "{told}"
    );
}

/// Runs `work` where the kernel lets nothing below `but` be written, whoever the person is.
fn without_writing_below(root: &Path, but: &str, work: impl FnOnce() + Send) {
    use landlock::{
        ABI, Access as _, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    };
    let all = AccessFs::from_all(ABI::V1);
    let mut rules = Ruleset::default()
        .handle_access(all)
        .unwrap()
        .create()
        .unwrap();
    let read = AccessFs::from_read(ABI::V1);
    rules = rules
        .add_rule(PathBeneath::new(PathFd::new("/").unwrap(), read))
        .unwrap();
    // The root itself can be written, and each folder in it but one.
    let own = AccessFs::from_all(ABI::V1);
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with(but) {
            rules = rules
                .add_rule(PathBeneath::new(PathFd::new(&path).unwrap(), own))
                .unwrap();
        }
    }
    std::thread::scope(|scope| {
        let confined = scope.spawn(|| {
            rules.restrict_self().unwrap();
            work();
        });
        confined.join().unwrap();
    });
}

#[test]
fn a_folder_that_cannot_be_written_undoes_the_whole_patch() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["ws", "ro"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("ws/a.txt"), "a\n").unwrap();
    let before = snapshot(root);
    let text = [
        change("ws/a.txt", "a", "A"),
        made("ws/n.txt", "n"),
        made("ws/deep/m.txt", "m"),
        made("ro/x.txt", "x"),
    ];
    let mut told = Err(String::new());
    let tools = toolbox(root, Access::Write);
    without_writing_below(root, "ro", || {
        // The threads of this runtime are confined as well.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let arguments = json!({"patch": text.concat()});
        told = runtime
            .unwrap()
            .block_on(use_tool(&tools, "patch", arguments));
    });
    let told = told.unwrap_err();
    assert!(
        told.starts_with("`ro/x.txt` could not be changed: Permission denied"),
        "{told}"
    );
    assert!(told.ends_with("; no file was changed"), "{told}");
    assert_eq!(snapshot(root), before);
}

#[tokio::test]
async fn a_patch_leads_through_no_link_out_of_the_workspace() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    fs::create_dir(at("ws")).unwrap();
    fs::create_dir(at("out")).unwrap();
    fs::write(at("out/s.txt"), "secret").unwrap();
    fs::write(at("ws/real.txt"), "hi\n").unwrap();
    symlink("../out/new.txt", at("ws/todo.md")).unwrap();
    symlink("../out/s.txt", at("ws/leak.txt")).unwrap();
    symlink("../out", at("ws/d")).unwrap();
    symlink("real.txt", at("ws/inside.txt")).unwrap();
    symlink("ws", at("W")).unwrap();
    let outside = snapshot(&at("out"));
    let check = async |text: String, expected: &str| {
        let told = patch(&at("W"), &text).await;
        let refused = told.as_ref().is_err_and(|told| told.contains(expected));
        assert!(refused, "{text} {told:?}");
    };
    let out = "leads out of the workspace";
    check(moved("real.txt", "d/m.txt"), out).await;
    check(made("d/x.txt", "x"), out).await;
    check(made("todo.md", "x"), out).await;
    check(change("leak.txt", "secret", "x"), out).await;
    check(moved("d/s.txt", "s.txt"), out).await;
    check(moved("leak.txt", "x"), "is a link").await;
    let text = [deleted("todo.md"), change("inside.txt", "hi", "HI")].concat();
    patch(&at("W"), &text).await.unwrap();
    assert!(!at("ws/todo.md").is_symlink());
    assert!(at("ws/inside.txt").is_symlink());
    assert_eq!(fs::read_to_string(at("ws/real.txt")).unwrap(), "HI\n");
    assert_eq!(snapshot(&at("out")), outside);
}

#[tokio::test]
async fn what_a_patch_did_is_known_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("f"), "seed\n").unwrap();
    let (a, b) = (toolbox(root, Access::Write), toolbox(root, Access::Write));
    let read = json!({"path": "f"});
    use_tool(&a, "read", read.clone()).await.unwrap();
    use_tool(&b, "read", read).await.unwrap();
    let text = "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n seed\n+B\n";
    use_tool(&b, "patch", json!({"patch": text})).await.unwrap();
    // By its lines, a change finds its place in what the other one made of the file.
    let whole = json!({"path": "f", "content": "seed\nA\n"});
    let told = use_tool(&a, "write", whole.clone()).await.unwrap_err();
    assert!(told.contains("changed since you read it"), "{told}");
    let told = use_tool(&a, "patch", json!({"patch": deleted("f")}))
        .await
        .unwrap_err();
    assert!(told.contains("changed since you read it"), "{told}");
    use_tool(&a, "patch", json!({"patch": change("f", "seed", "SEED")}))
        .await
        .unwrap();
    assert_eq!(fs::read_to_string(root.join("f")).unwrap(), "SEED\nB\n");
    // It did not see the other line, so it still does not know the whole.
    use_tool(&a, "write", whole).await.unwrap_err();
    // A file that it made, or moved when it knew it, it knows.
    use_tool(&a, "patch", json!({"patch": made("n", "1")}))
        .await
        .unwrap();
    use_tool(&a, "patch", json!({"patch": moved("n", "m")}))
        .await
        .unwrap();
    use_tool(&a, "write", json!({"path": "m", "content": "2\n"}))
        .await
        .unwrap();
    use_tool(&a, "patch", json!({"patch": deleted("m")}))
        .await
        .unwrap();
    assert!(!root.join("m").exists());
}

fn git(root: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "t")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "t@example.invalid")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    output.stdout
}

/// Names that break lines, quoting, shells and encodings.
const ODD_NAMES: &[&[u8]] = &[
    b"with space.txt",
    b"tab\there",
    b"new\nline",
    b"-rf",
    b"quote\"s",
    b"\"q\"",
    b"back\\slash",
    "ünïcödé.md".as_bytes(),
    b"bad\xFFutf8",
    b"a;b$(touch pwned)`id`",
    b"sub/a b/c",
];

#[tokio::test]
async fn what_git_calls_a_difference_the_patch_makes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    let odd = |name: &[u8]| root.join(OsStr::from_bytes(name));
    fs::create_dir_all(root.join("sub/a b")).unwrap();
    let body = |last: &str| format!("1\n2\n3\n4\n5\n6\n7\n8\n9\n{last}");
    for name in ODD_NAMES {
        fs::write(odd(name), body("x\n")).unwrap();
    }
    for (name, text) in [
        ("gone", "a\nb"),
        ("empty", ""),
        ("old name", "1\n2\n3\n4\n5\n"),
        ("tool.sh", "#!/bin/sh\n"),
        ("crlf", "a\r\nb\r\nc\r\n"),
        ("mark", "\u{FEFF}a\n"),
        ("tail", "a\nb"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    symlink("tail", root.join("link")).unwrap();
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "before"]);
    for (number, name) in ODD_NAMES.iter().enumerate() {
        match number % 3 {
            0 => fs::write(odd(name), body("y")).unwrap(),
            1 => fs::rename(
                odd(name),
                root.join(OsStr::from_bytes(&[name, &b"2"[..]].concat())),
            )
            .unwrap(),
            _ => fs::remove_file(odd(name)).unwrap(),
        }
    }
    for name in ["gone", "empty", "link"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    fs::create_dir(root.join("new\tfolder")).unwrap();
    fs::rename(root.join("old name"), root.join("new\tfolder/name")).unwrap();
    fs::set_permissions(root.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, text) in [
        ("crlf", "a\r\nB\nc\r\nd\r\n"),
        ("mark", "\u{FEFF}b\n"),
        ("tail", "a\nb\nc\n"),
        ("new\tfolder/name", "1\n2\n3\n4\nfive\n"),
        ("made", "--- x\n+++ y\n@@ -1 +1 @@\n"),
        ("made empty", ""),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    git(root, &["add", "-A"]);
    let difference = || git(root, &["diff", "--cached", "-M"]);
    let wanted = difference();
    git(root, &["reset", "-q", "--hard"]);
    let text = String::from_utf8(wanted.clone()).unwrap();
    assert!(text.contains("rename from"), "{text}");
    let told = patch(root, &text).await.unwrap();
    git(root, &["add", "-A"]);
    assert_eq!(String::from_utf8(difference()).unwrap(), text, "{told}");
    assert!(!root.join("pwned").exists());
}

#[tokio::test]
async fn a_patch_made_for_other_context_sizes_is_taken_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    let text = |a: &str, b: &str| format!("{a}\n2\n3\n4\n5\n6\n7\n8\n9\n{b}\n");
    fs::write(root.join("f"), text("1", "10")).unwrap();
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "before"]);
    for context in ["-U0", "-U1", "-U9"] {
        fs::write(root.join("f"), text("1\none", "ten")).unwrap();
        let difference = String::from_utf8(git(root, &["diff", context])).unwrap();
        git(root, &["checkout", "-q", "f"]);
        patch(root, &difference).await.unwrap();
        assert_eq!(
            fs::read_to_string(root.join("f")).unwrap(),
            text("1\none", "ten")
        );
    }
}
