//! The manager's side of the control socket: takes requests of the same person's processes, sends them
//! through the manager's one queue, and answers. Each client waits for itself: one that is slow, silent
//! or talks nonsense keeps nobody from anything. Never decides.

use super::place::{self, Folders};
use super::protocol::{Code, LINE_MAX_BYTES, Refusal, Request, answer_line, answer_of};
use crate::control::StopRequest;
use crate::mailbox::Mailbox;
use fleet_core::decide::Input;
use rustix::process::geteuid;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Clients that are listened to at once.
const CLIENTS_MAX: usize = 16;
/// How long a client may take for a line, or to take an answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(10);
/// Pause after the system gave no connection, as when no file can be opened.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Other sockets that are looked at for whether somebody listens.
const SWEEP_MAX: usize = 64;
/// Exit code of a manager that was asked to stop: that of the signal which asks the same.
const STOP_EXIT: u8 = 143;

/// A socket on which nobody listens any more once this is dropped.
pub(crate) struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Listens for a run that this process holds, in the first of the folders that can be used. What a
    /// dead manager left there is replaced.
    ///
    /// # Errors
    /// Why the last of the folders cannot be used.
    pub(crate) fn bind(folders: &Folders, run: &Path) -> io::Result<Self> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "there is no place for a socket");
        for path in folders.sockets_of(run)? {
            match bind(&path) {
                Ok(listener) => return Ok(Self { listener, path }),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Serves until it is dropped.
    pub(crate) async fn serve(self, mailbox: Mailbox) {
        let room = Arc::new(Semaphore::new(CLIENTS_MAX));
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if is_own(&stream) => {
                        let (mailbox, room) = (mailbox.clone(), Arc::clone(&room));
                        clients.spawn(async move {
                            match room.try_acquire() {
                                Ok(_permit) => attend(stream, &mailbox).await,
                                Err(_) => turn_away(stream).await,
                            }
                        });
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "no connection to the control socket");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(_) = clients.join_next() => {}
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The run is still held by this process, so the name is still that of this socket.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Listens under another name first: what bears the right one has a listener from its first moment on,
/// and whatever nobody listens on is left over.
fn bind(path: &Path) -> io::Result<UnixListener> {
    place::prepare(path)?;
    let new = path.with_extension(std::process::id().to_string());
    let _ = std::fs::remove_file(&new);
    let listener = UnixListener::bind(&new)?;
    std::fs::rename(&new, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })?;
    sweep(path);
    Ok(listener)
}

/// Takes away what killed managers left in the folder of a socket.
fn sweep(own: &Path) {
    let others = own.parent().and_then(|folder| folder.read_dir().ok());
    let others = others.into_iter().flatten().flatten();
    for other in others.take(SWEEP_MAX).map(|entry| entry.path()) {
        let is_socket = other.extension().is_some_and(|ending| ending == "sock");
        if is_socket && other != own {
            let connected = std::os::unix::net::UnixStream::connect(&other);
            if connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                let _ = std::fs::remove_file(&other);
            }
        }
    }
}

/// The folder keeps others out; should it fail to, this does.
fn is_own(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Answers one client, request by request, until it has no more or takes too long.
async fn attend(stream: UnixStream, mailbox: &Mailbox) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(LINE_MAX_BYTES as u64);
        let read = timeout(CLIENT_PATIENCE, bounded.read_until(b'\n', &mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return;
        }
        let is_whole = line.ends_with(b"\n");
        let answer = if is_whole || line.len() < LINE_MAX_BYTES {
            answer(&line, mailbox).await
        } else {
            let message = format!("a line has at most {LINE_MAX_BYTES} bytes");
            Err(Refusal::new(Code::TooLong, message))
        };
        let text = answer_line(&answer);
        let written = timeout(CLIENT_PATIENCE, writer.write_all(text.as_bytes())).await;
        if !is_whole || !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
}

async fn turn_away(mut stream: UnixStream) {
    let busy = Refusal::new(Code::Busy, "too many others are connected");
    let text = answer_line(&Err(busy));
    let _ = timeout(CLIENT_PATIENCE, stream.write_all(text.as_bytes())).await;
}

async fn answer(line: &[u8], mailbox: &Mailbox) -> Result<(), Refusal> {
    let ending = |_| Refusal::new(Code::Ending, "the run has just ended");
    let Some(wish) = Request::of_line(line)?.into_wish() else {
        mailbox
            .halt(StopRequest {
                reason: "asked to stop".to_owned(),
                exit: STOP_EXIT,
            })
            .await;
        return Ok(());
    };
    let reply = mailbox.send(Input::Wish(wish)).await.map_err(ending)?;
    answer_of(reply)
}
