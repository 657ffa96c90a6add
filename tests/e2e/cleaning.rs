//! What stays of runs, and what can be taken away without losing work.

use crate::environment::TestEnvironment;
use testkit::model_server::{ModelServer, Reply, Script};

/// One builder whose work lands, and one whose check fails.
const ROSTER: &str = r#"name = "pair"
[provider.here]
kind = "openai"
base_url = "@URL@"
[role.builder]
model = "here/m"
[limits]
attempts = 1
[[task]]
id = "good"
role = "builder"
prompt = "MAKE good"
check = ["test -s good.txt"]
[[task]]
id = "bad"
role = "builder"
prompt = "MAKE bad"
check = ["false"]
"#;

/// A repository in which that fleet has worked; one of its tasks has failed.
fn worked() -> TestEnvironment {
    let file = |name: &str| format!(r#"{{"path":"{name}.txt","content":"made\n"}}"#);
    let script = Script::new()
        .turn(
            "MAKE good",
            1,
            Reply::calls([("write", file("good").as_str())]),
        )
        .turn("MAKE good", 2, Reply::text("Made it."))
        .turn(
            "MAKE bad",
            1,
            Reply::calls([("write", file("bad").as_str())]),
        )
        .turn("MAKE bad", 2, Reply::text("Made it."));
    let server = ModelServer::scripted(script);
    let environment = TestEnvironment::new().with_repository();
    environment.write("roster.toml", &ROSTER.replace("@URL@", &server.base_url()));
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(3);
    environment
}

/// The refs of the fleet, without the name of the run.
fn refs(environment: &TestEnvironment) -> Vec<String> {
    let format = "--format=%(refname)";
    let all = environment.git(&[
        "for-each-ref",
        format,
        "refs/codewhale",
        "refs/heads/codewhale",
    ]);
    let bare = |name: &str| {
        let parts: Vec<&str> = name
            .split('/')
            .filter(|p| !p.starts_with("pair-"))
            .collect();
        parts.join("/")
    };
    all.lines().map(bare).collect()
}

#[test]
fn branches_and_snapshots_go_when_asked_and_what_is_lost_is_named() {
    let environment = worked();
    let before = refs(&environment);
    assert_eq!(
        before,
        [
            "refs/codewhale/s/bad/1",
            "refs/codewhale/s/good/1",
            "refs/heads/codewhale/integration",
            "refs/heads/codewhale/t/bad/1",
        ]
    );
    let plain = environment.run(&["fleet", "clean", "--json"]).exits(0);
    assert_eq!(refs(&environment), before, "{plain:#?}");
    let plain = &plain.json()[0];
    assert_eq!(plain["kept"].as_array().expect("a list").len(), 1);

    let landed = environment
        .run(&["fleet", "clean", "--refs", "landed"])
        .exits(0);
    assert!(landed.stdout.contains("1 ref removed"), "{landed:#?}");
    assert!(
        landed.stdout.contains("its work is on no other branch"),
        "{landed:#?}"
    );
    let left = refs(&environment);
    assert_eq!(left, [&before[..1], &before[2..]].concat());

    // Only without its folder does the branch go.
    let kept = plain["kept"][0]["path"].as_str().expect("a path");
    let kept = kept.replace("$T", environment.root());
    std::fs::remove_dir_all(&kept).expect("it can go");
    environment.git(&["worktree", "prune"]);
    let tip = environment.git(&[
        "for-each-ref",
        "--format=%(objectname)",
        "refs/heads/codewhale/*/t/*/*",
    ]);
    let all = environment
        .run(&["fleet", "clean", "--refs", "all", "--json"])
        .exits(0);
    let lost = &all.json()[0]["lost_refs"];
    let commits: Vec<&str> = lost
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|lost| lost["commit"].as_str())
        .collect();
    assert_eq!(commits.len(), 2, "{lost}");
    assert!(commits.contains(&tip.as_str()), "{lost}");
    assert_eq!(refs(&environment), ["refs/heads/codewhale/integration"]);
    assert_eq!(environment.git(&["cat-file", "-t", &tip]), "commit");
}

#[test]
fn nothing_stays_behind_of_a_run_whose_work_landed_but_its_branch() {
    let environment = worked();
    let state = environment.path("home/.local/state/codewhale/worktrees");
    let folders = || walk(&state);
    let names: Vec<String> = folders();
    assert!(
        names.iter().any(|name| name.ends_with("bad.1")),
        "{names:?}"
    );
    assert!(
        !names
            .iter()
            .any(|name| name.contains("/good") || name.contains("/_")),
        "{names:?}"
    );
}

/// Folders below a folder, three deep.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = vec![folder.to_owned()];
    for _ in 0..3 {
        let below = found
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
        found = below
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
    }
    found
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn runs_of_a_repository_that_was_moved_are_cleaned_all_the_same() {
    let environment = worked();
    std::fs::rename(environment.path("desk"), environment.path("moved")).expect("a new name");
    std::fs::create_dir(environment.path("desk")).expect("a folder");
    let moved = environment.path("moved").display().to_string();
    let cleaned = environment
        .run(&["-C", &moved, "fleet", "clean", "--json"])
        .exits(0);
    let kept = &cleaned.json()[0]["kept"];
    assert!(
        kept[0]["reason"]
            .as_str()
            .expect("a reason")
            .contains("on no other branch"),
        "{cleaned:#?}"
    );
    let path = kept[0]["path"]
        .as_str()
        .expect("a path")
        .replace("$T", environment.root());
    assert_eq!(environment.git(&["-C", &path, "status", "--porcelain"]), "");
}
