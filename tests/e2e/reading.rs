//! A run in its own process, read record by record while it goes on.

use crate::environment::TestEnvironment;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// A run in its own process, read record by record.
pub(crate) struct Run {
    pub(crate) child: Child,
    records: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Run {
    /// Starts the binary with `--json`.
    pub(crate) fn start(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        let mut child = environment
            .command(&[arguments, &["--json"]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        Self {
            child,
            records: BufReader::new(stdout),
            seen: Vec::new(),
        }
    }

    /// Reads on until a record fits; that record.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let record = self.next().expect("the run goes on until then");
            if fits(&record) {
                return record;
            }
        }
    }

    /// The next record; none at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.records.read_line(&mut line).expect("a line of text");
        (read > 0).then(|| {
            let record: Value = serde_json::from_str(&line).expect("JSON");
            self.seen.push(record.clone());
            record
        })
    }

    /// Reads what it says to people until a line holds this text.
    pub(crate) fn until_said(&mut self, text: &str) {
        let talk = self.child.stderr.as_mut().expect("a pipe");
        let mut lines = BufReader::new(talk).lines();
        let found = lines.any(|line| line.is_ok_and(|line| line.contains(text)));
        assert!(found, "it never said `{text}`");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        let pid = Pid::from_raw(pid).expect("a pid above 0");
        kill_process(pid, signal).expect("a process of ours");
    }

    /// Waits for the end: the exit code, and every record.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>) {
        while self.next().is_some() {}
        let status = self.child.wait().expect("an end");
        (status.code(), self.seen)
    }
}
