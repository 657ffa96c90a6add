//! `shell`: what the model is told of a command, and what it is told of its end. Never runs one.

use crate::shell::{End, Exit, Finished};
use engine_core::message::ToolStatus;
use serde::Deserialize;
use std::fmt::Write;
use std::time::Duration;

pub(crate) const DESCRIPTION: &str = "Run a command line with bash in the workspace. There is no \
terminal and no input. Gives standard output and error together. Processes left in the background \
run on until the task ends. Example: {\"command\":\"cargo test -q 2>&1 | tail -40\",\"timeout_secs\":600}";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "command": {"type": "string", "description": "The command line"},
    "timeout_secs": {"type": "integer", "minimum": 1, "maximum": 1800, "description": "Default 120"}
  },
  "required": ["command"],
  "additionalProperties": false
}"#;

/// Longest time a call may ask for, in seconds.
const TIME_MAX_SECS: u64 = 1800;

/// Time limit of a call that names none.
const TIME_DEFAULT: Duration = Duration::from_secs(120);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) command: String,
    #[serde(default)]
    timeout_secs: Option<u64>,
}

impl Args {
    pub(crate) fn time(&self) -> Duration {
        self.timeout_secs.map_or(TIME_DEFAULT, |secs| {
            Duration::from_secs(secs.clamp(1, TIME_MAX_SECS))
        })
    }
}

/// What the model reads, and whether that is a success.
pub(crate) fn tell(finished: &Finished, time: Duration) -> (ToolStatus, String) {
    let mut text = finished.output.text.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // Writing into a text does not fail.
    let _ = match finished.end {
        End::Exited(Exit::Code(0)) | End::Cancelled => Ok(()),
        End::Exited(Exit::Code(code)) => writeln!(text, "[exit code {code}]"),
        End::Exited(Exit::Signal(signal)) => writeln!(text, "[ended by signal {signal}]"),
        End::TimedOut => writeln!(
            text,
            "[stopped: its time limit of {} s was over; it may have had effects]",
            time.as_secs()
        ),
    };
    if let Some(background) = &finished.background {
        let named = background.processes().iter();
        let named: Vec<String> = named.map(|p| format!("{} ({})", p.pid, p.name)).collect();
        let _ = writeln!(
            text,
            "[left running until the task ends: {}]",
            named.join(", ")
        );
    }
    if !finished.survivors.is_empty() {
        let _ = writeln!(text, "[could not be ended: {:?}]", finished.survivors);
    }
    if let Some(lack) = finished.confinement.shortfall() {
        let _ = writeln!(text, "[note: {lack}]");
    }
    let status = if finished.end.is_success() {
        ToolStatus::Ok
    } else {
        ToolStatus::Error
    };
    (status, text)
}
