//! One helper from its start to its end, as the runner sees it. Never decides when to stop.

use super::job::Job;
use super::spawner::{Helper, Spawner};
use super::wire::{Order, Report};
use crate::process::ProcessId;
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Bytes of output taken at once.
const PIECE_BYTES: usize = 64 * 1024;

/// A helper with its three pipes. Dropping it makes the helper end everything it supervises.
#[derive(Debug)]
pub(super) struct Session {
    helper: Helper,
    order: Option<Sender>,
    reports: Lines<BufReader<Receiver>>,
    output: Option<Receiver>,
    piece: Vec<u8>,
    /// Process group of the command, once it has started.
    group: Option<i32>,
}

/// What happened next in a session.
#[derive(Debug)]
pub(super) enum Event {
    /// The helper reports.
    Report(Report),
    /// This many bytes of output are in [`Session::piece`].
    Output(usize),
    /// The helper has ended; no report will follow.
    Over,
}

impl Session {
    /// Starts a helper, which waits for its order.
    pub(super) async fn open(spawner: &Spawner, job: &Job) -> io::Result<Self> {
        let env = job
            .env
            .complete(job.scratch.home(), job.scratch.temporary());
        let mut helper = spawner.spawn_helper(env).await?;
        let child = helper.child();
        let missing = || io::Error::other("the helper has no pipe");
        let order = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
        let reports = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
        let output = OwnedFd::from(child.stderr.take().ok_or_else(missing)?);
        Ok(Self {
            helper,
            order: Some(Sender::from_owned_fd(order)?),
            reports: BufReader::new(Receiver::from_owned_fd(reports)?).lines(),
            output: Some(Receiver::from_owned_fd(output)?),
            piece: vec![0; PIECE_BYTES],
            group: None,
        })
    }

    /// Who the helper is.
    pub(super) fn process(&mut self) -> Option<ProcessId> {
        ProcessId::of(i32::try_from(self.helper.child().id()).ok()?)
    }

    /// Gives the order: the command starts.
    pub(super) async fn give(&mut self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        match &mut self.order {
            Some(pipe) => pipe.write_all(&line).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Tells the helper to end everything.
    pub(super) fn end(&mut self) {
        self.order = None;
    }

    /// Waits for what happens next. Cancel safe: nothing is lost when the wait is given up.
    pub(super) async fn next(&mut self) -> io::Result<Event> {
        loop {
            tokio::select! {
                biased;
                line = self.reports.next_line() => {
                    let Some(line) = line? else { return Ok(Event::Over) };
                    let report: Report = serde_json::from_str(&line)?;
                    if let Report::Started { pid, .. } = &report {
                        self.group = Some(*pid);
                    }
                    return Ok(Event::Report(report));
                }
                read = read_piece(self.output.as_mut(), &mut self.piece) => match read? {
                    0 => self.output = None,
                    bytes => return Ok(Event::Output(bytes)),
                }
            }
        }
    }

    /// The bytes of the last [`Event::Output`].
    pub(super) fn piece(&self, bytes: usize) -> &[u8] {
        &self.piece[..bytes]
    }

    /// Takes what lies in the output pipe now, without waiting for more.
    ///
    /// Asks the kernel itself: the runtime's notion of readiness may lag behind what was written.
    pub(super) fn drain(&mut self, take: &mut impl FnMut(&[u8])) {
        while let Some(output) = &self.output {
            match rustix::io::read(output, &mut self.piece[..]) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => return,
                Ok(bytes) => take(&self.piece[..bytes]),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => self.output = None,
            }
        }
    }

    /// Reads and drops everything until the helper has ended.
    pub(super) async fn see_off(&mut self) {
        while let Ok(Event::Report(_) | Event::Output(_)) = self.next().await {}
    }

    /// The last resort when the helper itself is lost: the hard signal to it and the command's group.
    pub(super) fn kill(&mut self) {
        self.end();
        let _ = self.helper.child().kill();
        if let Some(group) = self.group.and_then(rustix::process::Pid::from_raw) {
            // No such group is what is wanted.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

async fn read_piece(output: Option<&mut Receiver>, piece: &mut [u8]) -> io::Result<usize> {
    match output {
        Some(output) => output.read(piece).await,
        None => std::future::pending().await,
    }
}
