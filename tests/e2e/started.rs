//! The binary while it runs: signals to it, its end, and every process that belongs to a test. Only
//! ends what the test itself started.

use crate::environment::{Ran, TestEnvironment};
use crate::wait::eventually;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output};

/// A run of the binary that was started and not waited for. Dropping it kills it.
pub(crate) struct Started<'a> {
    environment: &'a TestEnvironment,
    child: Child,
    stdout: File,
    stderr: File,
}

/// A process that belongs to a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its id.
    pub(crate) pid: u32,
    /// Its command line.
    pub(crate) line: String,
}

impl TestEnvironment {
    /// Starts the binary in a process group of its own.
    pub(crate) fn start(&self, arguments: &[&str]) -> Started<'_> {
        self.start_command(self.command(arguments))
    }

    /// Starts a command in a process group of its own.
    pub(crate) fn start_command(&self, mut command: Command) -> Started<'_> {
        let file = || tempfile::tempfile_in(self.root()).expect("a file without a name");
        let (stdout, stderr) = (file(), file());
        let copy = |file: &File| file.try_clone().expect("one more handle");
        let child = command
            .stdout(copy(&stdout))
            .stderr(copy(&stderr))
            .process_group(0)
            .spawn()
            .expect("the binary starts");
        Started {
            environment: self,
            child,
            stdout,
            stderr,
        }
    }

    /// Every living process whose environment names the folder of this test.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let folder = self.root().as_bytes();
        let entries = std::fs::read_dir("/proc").expect("the processes of this machine");
        let ours = |path: &std::path::Path| {
            let environment = std::fs::read(path.join("environ")).ok()?;
            let names = environment.windows(folder.len()).any(|part| part == folder);
            let line = std::fs::read(path.join("cmdline")).ok()?;
            names.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
        };
        let found = entries.flatten().filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = ours(&entry.path())?;
            Some(Process { pid, line })
        });
        found.collect()
    }

    /// Waits until no process of this test is left.
    #[track_caller]
    pub(crate) fn is_left_by_all(&self) {
        let mut left = Vec::new();
        eventually("all processes of the test end", || {
            left = self.processes();
            left.is_empty().then_some(())
        });
    }
}

impl Started<'_> {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        // One that has ended already is waited for by whoever wanted to signal it.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Sends a signal to its whole process group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    /// True until it has ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_none()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn ended(mut self) -> Ran {
        let status = eventually("the binary ends", || {
            self.child.try_wait().expect("it is ours")
        });
        let text = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind().expect("a file can be read again");
            file.read_to_end(&mut bytes).expect("a file can be read");
            bytes
        };
        let output = Output {
            status,
            stdout: text(&mut self.stdout),
            stderr: text(&mut self.stderr),
        };
        self.environment.ran(&output)
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
