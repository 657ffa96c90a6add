//! The one long-lived thread that starts and collects child processes. Never waits for one.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tokio::sync::oneshot;

/// How often children that were given back and have not ended yet are looked at.
const COLLECT_EVERY: Duration = Duration::from_millis(20);

/// Looks at each child that was given back this often at most, then lets go of it.
const COLLECT_AT_MOST: u32 = 500;

/// The program that supervises commands: this product's own binary with a hidden first argument.
#[derive(Debug, Clone)]
pub struct HelperProgram {
    /// The binary; its `main` must call [`crate::helper::run_if_asked`] before anything else.
    pub path: PathBuf,
    /// What makes it the helper: [`crate::helper::FIRST_ARGUMENT`].
    pub first_argument: OsString,
}

impl HelperProgram {
    /// The running binary itself, also when its file was replaced by a newer one meanwhile.
    ///
    /// # Errors
    /// When the system does not tell which binary runs.
    pub fn this_program() -> io::Result<Self> {
        let path = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe()?
        };
        Ok(Self::at(path))
    }

    /// Another binary whose `main` calls [`crate::helper::run_if_asked`].
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self {
            path,
            first_argument: crate::helper::FIRST_ARGUMENT.into(),
        }
    }
}

/// Handle of the thread. It ends when the last clone is gone and every child is collected.
#[derive(Debug, Clone)]
pub struct Spawner {
    program: HelperProgram,
    requests: Sender<Request>,
}

#[derive(Debug)]
enum Request {
    Spawn(Box<Command>, oneshot::Sender<io::Result<Child>>),
    Collect(Child),
}

impl Spawner {
    /// Starts the thread. One is enough for a process.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(program: HelperProgram) -> io::Result<Self> {
        let (requests, inbox) = channel();
        std::thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || serve(&inbox))?;
        Ok(Self { program, requests })
    }

    /// Starts a helper with pipes on all three standard streams and only `env` around it.
    pub(crate) async fn spawn_helper<I>(&self, env: I) -> io::Result<Helper>
    where
        I: IntoIterator<Item = (OsString, OsString)>,
    {
        let mut command = Command::new(&self.program.path);
        command
            .arg(&self.program.first_argument)
            .env_clear()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let gone = || io::Error::other("the thread that starts processes is gone");
        let (reply, answer) = oneshot::channel();
        self.requests
            .send(Request::Spawn(Box::new(command), reply))
            .map_err(|_| gone())?;
        let child = answer.await.map_err(|_| gone())??;
        Ok(Helper {
            child: Some(child),
            requests: self.requests.clone(),
        })
    }
}

/// A helper that was started. Dropping it gives it back to the thread, which collects it when it
/// has ended; it ends when its standard input is closed.
#[derive(Debug)]
pub(crate) struct Helper {
    child: Option<Child>,
    requests: Sender<Request>,
}

impl Helper {
    /// The child process.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.child
            .as_mut()
            .expect("the child is there until it is dropped")
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            // The thread is only gone when the process ends: then there is nobody to collect for.
            let _ = self.requests.send(Request::Collect(child));
        }
    }
}

fn serve(inbox: &Receiver<Request>) {
    let mut given_back: Vec<(Child, u32)> = Vec::new();
    loop {
        let request = if given_back.is_empty() {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            inbox.recv_timeout(COLLECT_EVERY)
        };
        match request {
            Ok(Request::Spawn(mut command, reply)) => {
                // A caller that is gone drops the child's pipes: the helper then ends by itself.
                if let Err(Ok(mut child)) = reply.send(command.spawn()) {
                    drop(child.stdin.take());
                    given_back.push((child, 0));
                }
            }
            Ok(Request::Collect(child)) => given_back.push((child, 0)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                if given_back.is_empty() {
                    return;
                }
                std::thread::sleep(COLLECT_EVERY);
            }
        }
        given_back.retain_mut(|(child, looks)| {
            *looks += 1;
            matches!(child.try_wait(), Ok(None)) && *looks < COLLECT_AT_MOST
        });
    }
}
