//! The socket from both sides: what clients do to it must never reach the manager.

use super::*;
use crate::blobs::RunBlobs;
use crate::mailbox::{Letter, Mailbox};
use engine_core::ids::TaskId;
use fleet_core::decide::{Decline, Input, Reply, Wish};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

/// A run's folder, a place for sockets, and a manager that grants everything but what concerns `gone`.
struct Place {
    temp: TempDir,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("run")).unwrap();
        Self { temp }
    }

    fn run(&self) -> PathBuf {
        self.temp.path().join("run")
    }

    fn folders(&self) -> Folders {
        Folders(vec![self.temp.path().join("s")])
    }

    fn socket(&self) -> PathBuf {
        self.folders().sockets_of(&self.run()).unwrap().remove(0)
    }

    fn serve(&self) -> Manager {
        let server = Server::bind(&self.folders(), &self.run()).unwrap();
        let (mailbox, mut letters) = Mailbox::new(Arc::new(RunBlobs::new(&self.run())));
        let answering = tokio::spawn(async move {
            while let Some(letter) = letters.recv().await {
                if let Letter::Input(Input::Wish(wish), reply) = letter {
                    let _ = reply.send(granted(&wish));
                }
            }
        });
        Manager {
            _serving: AbortOnDropHandle::new(tokio::spawn(server.serve(mailbox))),
            _answering: AbortOnDropHandle::new(answering),
        }
    }

    async fn connect(&self) -> Client {
        Client(BufReader::new(
            UnixStream::connect(self.socket()).await.unwrap(),
        ))
    }

    async fn ask(&self, request: &Request) -> Result<Result<(), Refusal>, Unreachable> {
        ask(&self.folders(), &self.run(), std::process::id(), request).await
    }
}

struct Manager {
    _serving: AbortOnDropHandle<()>,
    _answering: AbortOnDropHandle<()>,
}

fn granted(wish: &Wish) -> Reply {
    match wish {
        Wish::Cancel { task } if task.as_str() == "gone" => {
            Reply::Declined(Decline::NoTask(task.clone()))
        }
        _ => Reply::Accepted,
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    async fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.unwrap();
    }

    /// The next line; empty at the end.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line
    }
}

fn cancel(task: &str) -> Request {
    let task: TaskId = task.parse().unwrap();
    Request::Cancel { task }
}

#[tokio::test]
async fn each_request_gets_one_answer() {
    let place = Place::new();
    let _manager = place.serve();
    assert_eq!(place.ask(&cancel("t")).await.unwrap(), Ok(()));
    assert_eq!(place.ask(&Request::Stop {}).await.unwrap(), Ok(()));
    let refusal = place.ask(&cancel("gone")).await.unwrap().unwrap_err();
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::NoTask, "no task is called `gone`")
    );
    let mut client = place.connect().await;
    client
        .send(b"{\"v\":1,\"do\":\"cancel\",\"task\":\"a\"}\n{\"v\":1,\"do\":\"cancel-all\"}\n")
        .await;
    for _ in 0..2 {
        assert_eq!(client.line().await, "{\"v\":1,\"ok\":true}\n");
    }
}

#[tokio::test]
async fn a_line_that_is_no_request_is_refused_by_its_code_and_the_next_one_is_heard() {
    let place = Place::new();
    let _manager = place.serve();
    let mut client = place.connect().await;
    for (line, code) in [
        ("", "malformed"),
        ("[]", "malformed"),
        ("\u{0}\u{1}", "malformed"),
        ("{\"do\":\"stop\"}", "version"),
        ("{\"v\":2,\"do\":\"stop\"}", "version"),
        ("{\"v\":1,\"do\":\"explode\"}", "malformed"),
        ("{\"v\":1,\"do\":\"stop\",\"now\":true}", "malformed"),
        (
            "{\"v\":1,\"do\":\"cancel\",\"task\":\"No Task\"}",
            "malformed",
        ),
    ] {
        client.send(format!("{line}\n").as_bytes()).await;
        let answer = client.line().await;
        let expected = format!("{{\"v\":1,\"ok\":false,\"code\":\"{code}\",");
        assert!(answer.starts_with(&expected), "{line:?}: {answer}");
    }
    client.send(b"{\"v\":1,\"do\":\"cancel-all\"}\n").await;
    assert_eq!(client.line().await, "{\"v\":1,\"ok\":true}\n");
}

#[tokio::test]
async fn a_line_without_end_is_cut_off() {
    let place = Place::new();
    let _manager = place.serve();
    let mut client = place.connect().await;
    client.send(&vec![b'x'; LINE_MAX_BYTES]).await;
    let answer = client.line().await;
    assert!(answer.contains("too-long"), "{answer}");
    assert_eq!(client.line().await, "");
}

#[tokio::test]
async fn clients_that_say_nothing_are_bounded_and_keep_nobody_waiting() {
    let place = Place::new();
    let _manager = place.serve();
    let mut silent = Vec::new();
    for _ in 0..15 {
        let mut client = place.connect().await;
        client.send(b"{\"v\":1,").await;
        silent.push(client);
    }
    assert_eq!(place.ask(&cancel("t")).await.unwrap(), Ok(()));
    // Those that stay take the last places; whoever comes then is told so.
    for _ in 0..20 {
        let mut next = place.connect().await;
        next.send(b"{\"v\":1,\"do\":\"cancel-all\"}\n").await;
        if next.line().await.contains("busy") {
            return;
        }
        silent.push(next);
    }
    panic!("35 clients stay connected");
}

#[tokio::test]
async fn what_a_dead_manager_left_is_replaced_and_what_another_uses_is_left_alone() {
    let place = Place::new();
    let folder = place.temp.path().join("s");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let bound = |path: &Path| std::os::unix::net::UnixListener::bind(path).unwrap();
    // A listener that is dropped leaves its file, as one that was killed.
    drop(bound(&place.socket()));
    drop(bound(&folder.join("dead.sock")));
    let other = bound(&folder.join("other.sock"));
    let manager = place.serve();
    assert_eq!(place.ask(&cancel("t")).await.unwrap(), Ok(()));
    let names = || {
        let entries = std::fs::read_dir(&folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    let own = place
        .socket()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let mut expected = vec![own, "other.sock".to_owned()];
    expected.sort_unstable();
    assert_eq!(names(), expected);
    let Manager {
        _serving,
        _answering,
    } = manager;
    _serving.abort();
    let _ = _serving.await;
    assert_eq!(names(), ["other.sock"]);
    drop(other);
    let nowhere = place.ask(&cancel("t")).await.unwrap_err();
    assert!(matches!(nowhere, Unreachable::Nowhere), "{nowhere}");
}

#[tokio::test]
async fn another_process_is_not_taken_for_the_manager() {
    let place = Place::new();
    let _manager = place.serve();
    let other = std::process::id() + 1;
    let refused = ask(&place.folders(), &place.run(), other, &cancel("t")).await;
    assert!(matches!(refused, Err(Unreachable::Nowhere)), "{refused:?}");
}

#[tokio::test]
async fn a_folder_that_others_could_enter_is_not_used_and_neither_is_one_too_deep() {
    let place = Place::new();
    let at = |name: &str| place.temp.path().join(name);
    std::fs::create_dir(at("open")).unwrap();
    std::fs::set_permissions(at("open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(at("own")).unwrap();
    std::fs::set_permissions(at("own"), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(at("own"), at("link")).unwrap();
    std::fs::write(at("file"), "").unwrap();
    let refused = |folder: PathBuf| {
        let bound = Server::bind(&Folders(vec![folder.clone()]), &place.run());
        assert!(bound.is_err(), "{}", folder.display());
    };
    let deep = at(&"d".repeat(100));
    let unusable = [at("open"), at("link"), at("file"), at("no/such"), deep];
    unusable.iter().cloned().for_each(refused);
    let mut folders = unusable.to_vec();
    folders.push(at("own"));
    let server = Server::bind(&Folders(folders), &place.run()).unwrap();
    assert_eq!(std::fs::read_dir(at("own")).unwrap().count(), 1);
    drop(server);
    assert_eq!(std::fs::read_dir(at("own")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_run_keeps_its_socket_when_its_repository_is_moved() {
    let place = Place::new();
    let _manager = place.serve();
    let moved = place.temp.path().join("moved");
    std::fs::rename(place.run(), &moved).unwrap();
    let answer = ask(&place.folders(), &moved, std::process::id(), &cancel("t")).await;
    assert_eq!(answer.unwrap(), Ok(()));
}
