//! Asking a manager over its control socket. Never waits for long, and never takes another process for
//! the manager.

use super::place::Folders;
use super::protocol::{LINE_MAX_BYTES, Refusal, Request, answer_of_line};
use rustix::process::geteuid;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a manager may take to answer: what it answers is on disk by then.
const MANAGER_PATIENCE: Duration = Duration::from_secs(10);

/// Why a manager could not be asked. What was asked for may have been done all the same when it was
/// silent.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// It has no socket where one would be.
    #[error("it listens nowhere")]
    Nowhere,
    /// It does not answer.
    #[error("it does not answer")]
    Silent,
    /// What it answers is not understood.
    #[error("its answer is not understood")]
    Unintelligible,
    /// The connection failed.
    #[error("{0}")]
    Broken(#[from] io::Error),
}

/// Asks the manager of a run: `pid`, as the lock of the run names it.
///
/// # Errors
/// When it cannot be reached; inside, when it refuses.
pub async fn ask(
    folders: &Folders,
    run: &Path,
    pid: u32,
    request: &Request,
) -> Result<Result<(), Refusal>, Unreachable> {
    timeout(MANAGER_PATIENCE, async {
        for path in folders.sockets_of(run)? {
            let Ok(stream) = UnixStream::connect(&path).await else {
                continue;
            };
            let peer = stream.peer_cred()?;
            let is_manager = peer.pid().and_then(|pid| u32::try_from(pid).ok()) == Some(pid)
                && peer.uid() == geteuid().as_raw();
            if is_manager {
                return converse(stream, request).await;
            }
        }
        Err(Unreachable::Nowhere)
    })
    .await
    .unwrap_or(Err(Unreachable::Silent))
}

async fn converse(
    stream: UnixStream,
    request: &Request,
) -> Result<Result<(), Refusal>, Unreachable> {
    let (reader, mut writer) = stream.into_split();
    writer.write_all(request.line().as_bytes()).await?;
    let mut line = Vec::new();
    BufReader::new(reader.take(LINE_MAX_BYTES as u64))
        .read_until(b'\n', &mut line)
        .await?;
    answer_of_line(&line).ok_or(Unreachable::Unintelligible)
}
