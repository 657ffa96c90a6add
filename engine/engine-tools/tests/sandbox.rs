//! What a confined command can and cannot reach, tried on the running kernel.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use engine_tools::shell::{
    Confinement, End, Exit, Fence, Hold, Job, Network, ShellError, Shortfall,
};
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use support::{env, job, runner};
use tokio_util::sync::CancellationToken;

async fn run(job: &Job) -> (End, String, Confinement) {
    let finished = runner().run(job, &CancellationToken::new()).await.unwrap();
    (finished.end, finished.output.text, finished.confinement)
}

fn with_fence(job: Job, change: impl FnOnce(&mut Vec<std::path::PathBuf>, &mut Network)) -> Job {
    let Fence::Confined {
        mut writable,
        mut network,
        shortfall,
    } = job.fence
    else {
        panic!("the job of the tests is confined")
    };
    change(&mut writable, &mut network);
    let fence = Fence::Confined {
        writable,
        network,
        shortfall,
    };
    Job { fence, ..job }
}

/// A workspace with a folder beside it.
fn places() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("ws")).unwrap();
    fs::create_dir(top.path().join("out")).unwrap();
    fs::write(top.path().join("out/f"), "precious").unwrap();
    top
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn nothing_outside_the_granted_places_changes() {
    let top = places();
    let check = async |line: &str| {
        let (end, output, confinement) = run(&job(&top.path().join("ws"), line)).await;
        assert!(
            matches!(end, End::Exited(Exit::Code(1..))),
            "{line}: {end:?} {output}"
        );
        assert!(confinement.is_sealed());
        assert_eq!(names(&top.path().join("out")), ["f"], "{line}");
        assert_eq!(
            fs::read(top.path().join("out/f")).unwrap(),
            b"precious",
            "{line}"
        );
    };
    check("echo x > ../out/g").await;
    check("echo x >> ../out/f").await;
    check(": > ../out/f").await;
    check("truncate -s 0 ../out/f").await;
    check("rm ../out/f").await;
    check("mv ../out/f .").await;
    check("touch g; mv g ../out").await;
    check("mkdir ../out/d").await;
    check("ln -s f ../out/l").await;
    check("ln ../out/f hard && echo x >> hard").await;
    check("ln -s ../out link; echo x > link/g").await;
}

#[tokio::test]
async fn the_workspace_and_the_sandboxs_own_folders_can_be_changed() {
    let top = places();
    let check = async |line: &str| {
        let (end, output, _) = run(&job(&top.path().join("ws"), line)).await;
        assert!(end.is_success(), "{line}: {end:?} {output}");
    };
    check("mkdir -p a b; echo x > a/f; mv a/f b/g; rm -r a; cat b/g").await;
    check("echo x > /dev/null; f=$(mktemp); echo x > $f; echo x > ~/f; [ \"${f#$TMPDIR}\" != $f ]")
        .await;
    check("echo x > /dev/stdout; echo x > /dev/stderr; exec 5<> <(:)").await;
    check("cat ../out/f; cat /etc/passwd > p").await;
    let granted = with_fence(
        job(&top.path().join("ws"), "echo x > ../out/g"),
        |writable, _| {
            writable.push(top.path().join("out"));
        },
    );
    assert!(run(&granted).await.0.is_success());
    assert_eq!(names(&top.path().join("out")), ["f", "g"]);
}

#[tokio::test]
async fn a_place_that_cannot_be_granted_is_named() {
    let top = places();
    let job = with_fence(job(&top.path().join("ws"), "true"), |writable, _| {
        writable.push(top.path().join("missing"));
    });
    let result = runner().run(&job, &CancellationToken::new()).await;
    let Err(ShellError::Refused(reason)) = result else {
        panic!("{result:?}")
    };
    assert!(reason.contains("missing` cannot be granted"), "{reason}");
}

#[tokio::test]
async fn without_network_no_socket_leads_anywhere() {
    let top = places();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
    );
    let line = format!(
        "(echo x > /dev/tcp/127.0.0.1/{tcp_port}); (echo x > /dev/udp/127.0.0.1/{udp_port}); true"
    );
    let denied = job(&top.path().join("ws"), &line);
    let (_, _, confinement) = run(&denied).await;
    assert_eq!(confinement.network, Hold::Full);
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(
        udp.recv(&mut [0; 8]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );

    let granted = with_fence(denied, |_, network| *network = Network::Granted);
    let (_, _, confinement) = run(&granted).await;
    assert_eq!(confinement.network, Hold::Open);
    assert!(tcp.accept().is_ok());
    assert_eq!(udp.recv(&mut [0; 8]).unwrap(), 2);
}

#[tokio::test]
async fn a_command_can_neither_look_into_nor_signal_processes_outside() {
    let top = places();
    let outside = std::process::id();
    let check = async |line: &str| {
        let (end, output, _) = run(&job(&top.path().join("ws"), line)).await;
        assert!(
            matches!(end, End::Exited(Exit::Code(1..))),
            "{line}: {end:?} {output}"
        );
    };
    check(&format!("cat /proc/{outside}/environ")).await;
    check("cat /proc/$PPID/environ").await;
    check(&format!("kill -0 {outside}")).await;
    check("kill -9 $PPID").await;
    let (end, _, _) = run(&job(
        &top.path().join("ws"),
        "sleep 60 & kill $!; wait $!; true",
    ))
    .await;
    assert!(end.is_success(), "its own children it may signal");
}

#[tokio::test]
async fn unconfined_commands_are_not_confined() {
    let top = places();
    let open = Job {
        fence: Fence::Open,
        ..job(&top.path().join("ws"), "echo x > ../out/g")
    };
    let (end, _, confinement) = run(&open).await;
    assert!(end.is_success());
    assert_eq!(confinement, Confinement::OPEN);
    assert_eq!(names(&top.path().join("out")), ["f", "g"]);
}

#[tokio::test]
async fn accepting_less_does_not_mean_asking_for_less() {
    let top = places();
    let job = job(&top.path().join("ws"), "echo x > ../out/g");
    let accepting = Job {
        fence: Fence::Confined {
            writable: vec![top.path().join("ws")],
            network: Network::Denied,
            shortfall: Shortfall::Accepted,
        },
        ..job
    };
    assert!(!run(&accepting).await.0.is_success());
    assert_eq!(names(&top.path().join("out")), ["f"]);
}

#[tokio::test]
async fn a_worktree_can_be_committed_to_with_the_folders_of_its_own_branch() {
    let top = places();
    let shell = |line: &str| {
        let output = std::process::Command::new("bash")
            .args(["-euc", line])
            .current_dir(top.path())
            .env_clear()
            .envs([
                ("PATH", std::env::var("PATH").unwrap()),
                ("HOME", "/nonexistent".to_owned()),
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    shell(
        "git init -q -b main repo; cd repo; git config user.name n; git config user.email e@e; \
         git commit -q --allow-empty -m first; git branch side; \
         git worktree add -q -b codewhale/r/t/one/1 ../ws/one; \
         mkdir -p .git/logs/refs/heads/codewhale/r/t/one",
    );
    let tree = top.path().join("ws/one");
    let try_line = async |line: &str| {
        let job = with_fence(job(&tree, line), |writable, _| {
            let git = top.path().join("repo/.git");
            writable.extend(
                [
                    "objects",
                    "worktrees/one",
                    "refs/heads/codewhale/r/t/one",
                    "logs/refs/heads/codewhale/r/t/one",
                ]
                .map(|below| git.join(below)),
            );
        });
        run(&Job { env: env(), ..job }).await
    };
    let (end, output, _) = try_line("echo x > f; git add f; git commit -qm work").await;
    assert!(end.is_success(), "{output}");
    assert_eq!(
        shell("git -C repo log --format=%s codewhale/r/t/one/1"),
        "work\nfirst\n"
    );
    for line in [
        "git branch -f side HEAD",
        "git config alias.x y",
        "echo x > ../../repo/.git/hooks/pre-commit",
        "git tag t",
        "echo x > ../../repo/f",
    ] {
        let (end, output, _) = try_line(line).await;
        assert!(!end.is_success(), "{line}: {output}");
    }
}
