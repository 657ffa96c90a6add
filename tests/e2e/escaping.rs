//! Agents that misbehave: what they start does not outlive them, and what they do to git stays in their
//! own folder.

use crate::environment::TestEnvironment;
use crate::wait::eventually;
use rustix::process::Signal;
use testkit::model_server::{Gate, ModelServer, Reply};

/// A builder that runs one command, and says that it is done when the gate is open.
fn with_command(command: &str, gate: &Gate) -> (ModelServer, TestEnvironment) {
    let arguments = serde_json::json!({ "command": command }).to_string();
    let gate = gate.clone();
    let server = ModelServer::answering(move |request| match request.turn() {
        1 => Reply::calls([("shell", arguments.as_str())]),
        _ => Reply::text("Done.").after(&gate),
    });
    let environment = TestEnvironment::new()
        .with("HOLD", "$T/hold")
        .with_repository();
    let url = server.base_url();
    environment.write(
        "roster.toml",
        &format!(
            "name = \"odd\"\nmodel = \"wire/m\"\n[workspace]\npass_env = [\"HOLD\"]\n\
             [provider.wire]\nkind = \"openai\"\nbase_url = \"{url}\"\n\
             [[task]]\nid = \"odd\"\nrole = \"builder\"\nprompt = \"Be odd.\"\n"
        ),
    );
    (server, environment)
}

fn open_gate() -> Gate {
    let gate = Gate::closed();
    gate.open();
    gate
}

/// Starts processes that leave their parents, their group and their session.
const DAEMONS: &str = "(setsid sh -c 'sleep 301 & sleep 302' >/dev/null 2>&1 &) ; \
                       nohup sleep 303 >/dev/null 2>&1 & \
                       (trap '' TERM HUP INT; sleep 304) & echo started > made.txt";

fn has_sleepers(environment: &TestEnvironment, count: usize) -> Option<()> {
    let processes = environment.processes();
    let sleepers = processes.iter().filter(|p| p.line.starts_with("sleep 30"));
    (sleepers.count() == count).then_some(())
}

#[test]
fn what_an_agent_leaves_running_ends_with_its_attempt() {
    let gate = Gate::closed();
    let (_server, environment) = with_command(DAEMONS, &gate);
    let manager = environment.start(&["fleet", "run", "../roster.toml"]);
    eventually("all four run beside the agent", || {
        has_sleepers(&environment, 4)
    });
    gate.open();
    manager.ended().exits(0);
    environment.is_left_by_all();
}

#[test]
fn what_an_agent_leaves_running_ends_with_a_manager_that_is_stopped_or_killed() {
    for signal in [Signal::INT, Signal::KILL] {
        let (_server, environment) = with_command(DAEMONS, &Gate::closed());
        let manager = environment.start(&["fleet", "run", "../roster.toml"]);
        eventually("all four run", || has_sleepers(&environment, 4));
        manager.signal(signal);
        manager.ended();
        environment.is_left_by_all();
    }
}

#[test]
fn an_agent_that_plays_with_git_reaches_nothing_but_its_own_folder() {
    let command = "echo work > made.txt
        git add -A; git commit -qm 'My own way'; git checkout -q -b elsewhere
        git branch -f main HEAD; git update-ref refs/heads/main HEAD; git tag mine
        git config user.name Evil; git config --global user.name Evil
        git stash; git worktree add ../other; git worktree prune
        common=$(git rev-parse --git-common-dir)
        echo evil > $common/hooks/post-commit; echo evil >> $common/config
        echo evil > $common/packed-refs; rm -rf $common/codewhale $common/refs
        echo evil > $common/../made.txt
        rm -rf .git; echo more >> made.txt; true";
    let (server, environment) = with_command(command, &open_gate());
    let facts = |arguments: &[&[&str]]| -> Vec<String> {
        arguments.iter().map(|a| environment.git(a)).collect()
    };
    let mine: &[&[&str]] = &[
        &["rev-parse", "main", "HEAD"],
        &["config", "--list", "--show-origin"],
        &["tag"],
        &["stash", "list"],
        &["status", "--porcelain", "--ignored"],
        &["log", "--all", "--format=%an", "main"],
    ];
    let before = facts(mine);
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    assert_eq!(facts(&mine[..5]), before[..5]);
    assert!(!environment.path("desk/.git/hooks/post-commit").exists());
    let branch = environment.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/codewhale/*/integration",
    ]);
    let made = environment.git(&["cat-file", "blob", &format!("{branch}:made.txt")]);
    assert_eq!(made, "work\nmore");
    let commits = environment.git(&["log", "--format=%s by %an", &format!("main..{branch}")]);
    assert_eq!(commits, "Be odd. by codewhale builder");
    assert_eq!(server.requests().len(), 2);
    environment.git(&["fsck", "--strict"]);
}

#[test]
fn an_agent_that_writes_outside_its_folder_is_kept_from_it() {
    let command = "echo inside > inside.txt
        for place in \"$HOLD/../evil\" ../evil \"$HOLD/evil\" ~/../evil; do
            echo evil > $place && echo \"wrote $place\" >> inside.txt; done
        ln -s \"$HOLD/..\" out; echo evil > out/evil; rm out
        kill -9 $PPID; true";
    let (_server, environment) = with_command(command, &open_gate());
    environment
        .run(&["fleet", "run", "../roster.toml"])
        .exits(0);
    let branch = environment.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/codewhale/*/integration",
    ]);
    let said = environment.git(&["cat-file", "blob", &format!("{branch}:inside.txt")]);
    assert_eq!(said, "inside");
    for place in ["evil", "hold/evil"] {
        assert!(!environment.path(place).exists(), "{place}");
    }
}
