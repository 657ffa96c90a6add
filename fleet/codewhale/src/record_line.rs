//! A record as one line: JSON for programs, a sentence for people. The same in `logs`, `run` and
//! `exec`. Never decides which records are shown.

use crate::json::instant;
use engine_core::content::Content;
use engine_core::message::ToolStatus;
use engine_core::record::{ContextCompacted, Older, SummaryBy, Verdict};
use engine_core::request::Purpose;
use fleet_core::record::{AttemptEnd, Record};
use fleet_core::time::Stamp;
use fleet_tui::line::{Line, Tone};
use fleet_tui::words;

/// A record with its place as one JSON object: `type`, `seq`, `at`, `run`, then its own fields.
pub(crate) fn json(run: &str, stamp: Stamp, record: &Record) -> String {
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    placed(run, stamp, &text)
}

/// The same for the JSON text of a record that this version does not know. `type` comes first in what
/// this product writes; in what another wrote, it stays where it is.
pub(crate) fn placed(run: &str, stamp: Stamp, record: &str) -> String {
    let place = format!("\"seq\":{},\"at\":\"{}\"", stamp.seq, instant(stamp.at));
    let names_run = record.starts_with("{\"type\":\"run.opened\"");
    let place = if names_run {
        place
    } else {
        format!("{place},\"run\":\"{run}\"")
    };
    let after_type = record
        .strip_prefix("{\"type\":\"")
        .and_then(|rest| rest.find('"'))
        .map(|end| "{\"type\":\"".len() + end + 1);
    match after_type {
        Some(at) => format!("{},{place}{}", &record[..at], &record[at..]),
        None => format!("{{{place},{}", record.trim_start().trim_start_matches('{')),
    }
}

/// A record as a person reads it.
pub(crate) fn sentence(record: &Record) -> Line {
    let line = match record.task() {
        Some(task) => Line::new().and(Tone::Strong, &format!("{task}  ")),
        None => Line::new(),
    };
    let (tone, text) = said(record);
    line.and(tone, &text)
}

fn said(record: &Record) -> (Tone, String) {
    match record {
        Record::RunOpened(r) => (
            Tone::Live,
            format!("run {} opened on {}", r.run, r.repository),
        ),
        Record::RunResumed(r) => (Tone::Live, format!("resumed by process {}", r.pid)),
        Record::RunEnded(r) => {
            let why = r.reason.as_deref().map(|reason| format!(": {reason}"));
            let word = r.outcome.word();
            (
                words::tone(word),
                format!("run ended {word}{}", why.unwrap_or_default()),
            )
        }
        Record::RunLanded(r) => (
            Tone::Good,
            format!("taken onto {} as {}", r.branch, short(r.commit.as_str())),
        ),
        Record::RunRejected(r) => {
            let why = r.reason.as_deref().map(|reason| format!(": {reason}"));
            (
                Tone::Warn,
                format!("its work was rejected{}", why.unwrap_or_default()),
            )
        }
        Record::TaskQueued(r) => (Tone::Faint, format!("queued for {}", r.spec.role)),
        Record::TaskEnded(r) => {
            let why = r.reason.as_deref().map(|reason| format!(": {reason}"));
            let word = r.state.word();
            (
                words::tone(word),
                format!("{word}{}", why.unwrap_or_default()),
            )
        }
        Record::TaskRetried(r) => (Tone::Live, retried(r.instructions.as_deref())),
        Record::TaskTold(r) => (Tone::Live, format!("is told: {}", first_of(&r.text))),
        Record::AttemptStarted(r) => (Tone::Live, format!("attempt {} started", r.attempt)),
        Record::AttemptResumed(r) => (Tone::Live, format!("attempt {} goes on", r.attempt)),
        Record::AttemptFinished(r) => ended(&r.end),
        Record::WorkspaceReady(r) => (Tone::Faint, format!("works in {}", r.path)),
        Record::WorkspaceSnapshotted(r) => (Tone::Faint, format!("snapshot {}", short(&r.commit))),
        other => said_of_agent(other),
    }
}

fn said_of_agent(record: &Record) -> (Tone, String) {
    match record {
        Record::ModelRequested(r) => {
            let size = words::counted(r.bytes, "byte");
            let what = match r.purpose {
                Purpose::Work => "asks its model",
                Purpose::Compaction => "asks its model for a summary",
            };
            (Tone::Faint, format!("step {}: {what} ({size})", r.step.0))
        }
        Record::ModelResponded(r) => {
            let used = r.usage.map_or_else(
                || "usage unreported".to_owned(),
                |usage| {
                    let (input, output) = (usage.input.0, usage.output.0);
                    format!("{} in, {} out", words::count(input), words::count(output))
                },
            );
            (Tone::Faint, format!("step {}: answer ({used})", r.step.0))
        }
        Record::ModelFailed(r) => (
            Tone::Warn,
            format!("step {}: {}: {}", r.step.0, r.kind, r.message),
        ),
        Record::ContextCompacted(r) => (Tone::Plain, compacted(r)),
        Record::ToolStarted(r) => (Tone::Plain, format!("{} {}", r.tool, r.summary)),
        Record::ToolFinished(r) if r.status == ToolStatus::Error => (
            Tone::Warn,
            format!("{} failed: {}", r.tool, first_line(&r.text)),
        ),
        Record::ToolFinished(r) => (Tone::Faint, format!("{} done", r.tool)),
        Record::ReviewGiven(r) => match r.verdict {
            Verdict::Approve => (Tone::Good, "approves".to_owned()),
            Verdict::Reject => (Tone::Warn, format!("rejects: {}", first_line(&r.findings))),
        },
        other => said_of_work(other),
    }
}

fn said_of_work(record: &Record) -> (Tone, String) {
    match record {
        Record::WorkUnchanged(_) => (Tone::Plain, "nothing was changed".to_owned()),
        Record::WorkCommitted(r) if r.files == 0 => (Tone::Plain, "nothing to commit".to_owned()),
        Record::WorkCommitted(r) if !r.unresolved.is_empty() => (
            Tone::Warn,
            format!(
                "marks of the conflict are left in {}",
                r.unresolved.join(", ")
            ),
        ),
        Record::WorkCommitted(r) => {
            let files = words::counted(r.files.into(), "file");
            let (plus, minus) = (r.insertions, r.deletions);
            (
                Tone::Plain,
                format!(
                    "committed {} ({files}, +{plus} -{minus})",
                    short(r.commit.as_str())
                ),
            )
        }
        Record::CheckFinished(r) if r.exit == Some(0) => {
            (Tone::Good, format!("check passed: {}", r.command))
        }
        Record::CheckFinished(r) => {
            let how = match r.exit {
                Some(code) => format!("exit {code}"),
                None => "time limit or signal".to_owned(),
            };
            (Tone::Warn, format!("check failed ({how}): {}", r.command))
        }
        Record::LandingPrepared(r) => (
            Tone::Faint,
            format!("to land as {}", short(r.commit.as_str())),
        ),
        Record::LandingConflicted(r) => {
            (Tone::Warn, format!("conflicts in {}", r.paths.join(", ")))
        }
        Record::WorkLanded(r) => (
            Tone::Good,
            format!("landed as {}", short(r.commit.as_str())),
        ),
        other => (Tone::Plain, other.kind().to_owned()),
    }
}

fn compacted(record: &ContextCompacted) -> String {
    let how = match &record.older {
        Older::Cut { .. } => "long results were cut",
        Older::Replaced { by, .. } => match by {
            SummaryBy::Model => "older messages became the model's summary",
            SummaryBy::Fleet => "older messages became a list of calls",
        },
    };
    let (before, after) = (words::count(record.before), words::count(record.after));
    format!("compacted from {before} to {after} bytes: {how}")
}

fn ended(end: &AttemptEnd) -> (Tone, String) {
    match end {
        AttemptEnd::Finished { text } => (Tone::Plain, format!("finished: {}", first_line(text))),
        AttemptEnd::Verdict { .. } => (Tone::Plain, "finished with a verdict".to_owned()),
        AttemptEnd::Failed { kind, message } => (Tone::Bad, format!("failed: {kind}: {message}")),
        AttemptEnd::Refused { message } => (Tone::Bad, format!("refused: {message}")),
        AttemptEnd::Interrupted => (Tone::Warn, "interrupted".to_owned()),
        AttemptEnd::Provider { message } => (Tone::Bad, format!("provider: {message}")),
        AttemptEnd::Budget { message } => (Tone::Bad, format!("budget: {message}")),
    }
}

fn retried(instructions: Option<&str>) -> String {
    match instructions {
        Some(text) => format!("is retried: {}", first_of(text)),
        None => "is retried".to_owned(),
    }
}

fn first_of(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn first_line(content: &Content) -> String {
    match content {
        Content::Inline(text) => first_of(text).to_owned(),
        Content::Blob(blob) => words::counted(blob.bytes, "byte"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_core::ids::AttemptNo;
    use fleet_core::record::{AttemptStarted, RunEnded, RunOutcome};
    use fleet_core::time::Timestamp;

    const STAMP: Stamp = Stamp {
        seq: 7,
        epoch: 1,
        at: Timestamp(0),
    };

    fn started() -> Record {
        AttemptStarted {
            task: "tests".parse().expect("a task"),
            attempt: AttemptNo(2),
            base: None,
            start: None,
        }
        .into()
    }

    fn compaction(older: Older) -> Record {
        ContextCompacted {
            task: "tests".parse().expect("a task"),
            attempt: AttemptNo(1),
            kept: 4,
            kept_max: None,
            older,
            before: 120_000,
            after: 48_000,
        }
        .into()
    }

    fn stopped() -> Record {
        RunEnded {
            outcome: RunOutcome::Stopped,
            exit: 130,
            reason: Some("Ctrl-C".to_owned()),
        }
        .into()
    }

    #[test]
    fn the_place_stands_between_the_type_and_the_fields() {
        let check = |record: &Record, expected: &str| {
            let line = json("r-1", STAMP, record);
            assert_eq!(line, expected);
            let parsed: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(parsed["type"], record.kind());
        };
        let place = r#""seq":7,"at":"1970-01-01T00:00:00.000Z","run":"r-1""#;
        check(
            &started(),
            &format!(
                r#"{{"type":"attempt.started",{place},"task":"tests","attempt":2,"base":null,"start":null}}"#
            )
            .replace(r#","base":null,"start":null"#, ""),
        );
        check(
            &stopped(),
            &format!(
                r#"{{"type":"run.ended",{place},"outcome":"stopped","exit":130,"reason":"Ctrl-C"}}"#
            ),
        );
    }

    #[test]
    fn a_record_of_another_version_keeps_its_fields() {
        let check = |record: &str| {
            let line = placed("r-1", STAMP, record);
            let parsed: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(
                (&parsed["type"], &parsed["z"]),
                (&"future".into(), &1.into())
            );
            assert_eq!((&parsed["seq"], &parsed["run"]), (&7.into(), &"r-1".into()));
        };
        check(r#"{"type":"future","ignorable":true,"z":1}"#);
        check(r#"{"z":1,"ignorable":true,"type":"future"}"#);
        check(r#" {"z":1,"type" : "future"}"#);
    }

    #[test]
    fn people_read_a_sentence() {
        let check =
            |record: &Record, expected: &str| assert_eq!(sentence(record).plain(), expected);
        check(&started(), "tests  attempt 2 started");
        check(&stopped(), "run ended stopped: Ctrl-C");
        let summary = Older::Replaced {
            summary: "what was done".into(),
            by: SummaryBy::Model,
        };
        check(
            &compaction(Older::Cut { max: 2_048 }),
            "tests  compacted from 120,000 to 48,000 bytes: long results were cut",
        );
        check(
            &compaction(summary),
            "tests  compacted from 120,000 to 48,000 bytes: older messages became the model's summary",
        );
    }
}
