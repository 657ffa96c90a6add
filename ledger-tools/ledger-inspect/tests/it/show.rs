//! Showing: records for people and programs, filters, and marks where something is missing.

use crate::common::{anonymous, folder_with, lines_of, run_of, written};
use ledger_inspect::{Filter, InspectError, Style, show};
use std::path::Path;

fn shown(path: &Path, filter: &Filter, style: Style) -> String {
    let mut out = Vec::new();
    show(path, filter, style, &mut out).unwrap();
    anonymous(&String::from_utf8(out).unwrap(), path)
}

fn sample() -> tempfile::TempDir {
    written(&[
        &[r#"{"type":"run.opened","run":"demo-261130-ab12","version":"0.1.0"}"#],
        &[
            r#"{"type":"task.queued","spec":{"id":"tests","role":"builder"}}"#,
            r#"{"type":"attempt.started","task":"tests","attempt":1,"base":null}"#,
        ],
        &[
            r#"{"type":"tool.started","task":"tests","attempt":1,"tool":"shell","summary":"cargo test"}"#,
        ],
        &[
            r#"{ "type" : "tool.finished", "task":"tests","attempt":1,"text":"\u001b[31mred\u001b[0m and a long text that does not fit into the line"}"#,
        ],
        &[r#"{"type":"task.queued","spec":{"id":"docs","role":"scout"}}"#],
    ])
}

#[test]
fn records_for_people_stand_one_to_a_line_and_move_no_cursor() {
    let folder = sample();
    let text = shown(folder.path(), &Filter::default(), Style::Text);
    assert!(!text.contains('\u{1b}'));
    insta::assert_snapshot!(text, @r#"
         1 2026-11-30T12:31:08.114Z e1 run.opened run="demo-261130-ab12" version="0.1.0"
         2 2026-11-30T12:31:08.114Z e1 task.queued tests spec={"id":"tests","role":"builder"}
         2 2026-11-30T12:31:08.114Z e1 attempt.started tests/1 base=null
         3 2026-11-30T12:31:08.114Z e1 tool.started tests/1 tool="shell" summary="cargo test"
         4 2026-11-30T12:31:08.114Z e1 tool.finished tests/1 text="\u001b[31mred\u001b[0m and a long text that does not fit in…
         5 2026-11-30T12:31:08.114Z e1 task.queued docs spec={"id":"docs","role":"scout"}
         6 2026-11-30T12:31:08.114Z e1 (vouches for the lines before it)
    "#);
}

#[test]
fn records_for_programs_are_as_they_stand_with_their_place() {
    let folder = sample();
    let text = shown(folder.path(), &Filter::default(), Style::Json);
    insta::assert_snapshot!(text, @r#"
    {"seq":1,"epoch":1,"at":"2026-11-30T12:31:08.114Z","type":"run.opened","run":"demo-261130-ab12","version":"0.1.0"}
    {"seq":2,"epoch":1,"at":"2026-11-30T12:31:08.114Z","type":"task.queued","spec":{"id":"tests","role":"builder"}}
    {"seq":2,"epoch":1,"at":"2026-11-30T12:31:08.114Z","type":"attempt.started","task":"tests","attempt":1,"base":null}
    {"seq":3,"epoch":1,"at":"2026-11-30T12:31:08.114Z","type":"tool.started","task":"tests","attempt":1,"tool":"shell","summary":"cargo test"}
    {"seq":4,"epoch":1,"at":"2026-11-30T12:31:08.114Z","type" : "tool.finished", "task":"tests","attempt":1,"text":"\u001b[31mred\u001b[0m and a long text that does not fit into the line"}
    {"seq":5,"epoch":1,"at":"2026-11-30T12:31:08.114Z","type":"task.queued","spec":{"id":"docs","role":"scout"}}
    "#);
    let parsed: Vec<serde_json::Value> = serde_jsonlines::JsonLinesReader::new(text.as_bytes())
        .read_all()
        .map(Result::unwrap)
        .collect();
    assert_eq!(parsed.len(), 6);
    assert!(
        parsed
            .iter()
            .all(|record| record["seq"].is_u64() && record["type"].is_string())
    );
}

/// The numbers of the lines that have a record which `task` and `types` take.
fn taken(task: Option<&str>, types: &[&str]) -> Vec<u64> {
    let filter = Filter {
        task: task.map(str::to_owned),
        attempt: None,
        types: types.iter().map(|kind| (*kind).to_owned()).collect(),
    };
    let text = shown(sample().path(), &filter, Style::Json);
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    records
        .map(|record| record["seq"].as_u64().unwrap())
        .collect()
}

#[test]
fn filters_take_by_task_and_by_type_or_family() {
    assert_eq!(taken(None, &[]), [1, 2, 2, 3, 4, 5]);
    assert_eq!(taken(Some("tests"), &[]), [2, 2, 3, 4]);
    assert_eq!(taken(Some("docs"), &[]), [5]);
    assert_eq!(taken(None, &["tool"]), [3, 4]);
    assert_eq!(taken(None, &["tool.started", "run.opened"]), [1, 3]);
    assert_eq!(taken(Some("tests"), &["task"]), [2]);
    assert_eq!(taken(None, &["too"]), [0_u64; 0]);
    assert_eq!(taken(Some("nobody"), &[]), [0_u64; 0]);
}

/// The numbers shown and the marks, in order.
fn check_damaged(bytes: &[u8], expected: &[&str]) {
    let folder = folder_with(bytes);
    let text = shown(folder.path(), &Filter::default(), Style::Json);
    let seen: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|row| match row["type"].as_str().unwrap() {
            "ledger.damaged" => format!("damaged {} lost {}", row["place"]["line"], row["lost"]),
            "ledger.torn" => format!("torn {}", row["place"]["line"]),
            _ => row["seq"].to_string(),
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn good_records_before_and_after_damage_are_there_with_one_mark_each() {
    let lines = lines_of(run_of(7).path());
    let two = lines[..2].concat();
    let nuls = [&[0; 300], &b"\n"[..]].concat();
    let rest = lines[3..].concat();
    check_damaged(
        &[two.clone(), nuls, rest.clone()].concat(),
        &["1", "2", "damaged 3 lost [3,3]", "4", "5", "6"],
    );
    let glued = [&lines[2][..120], &lines[3]].concat();
    check_damaged(
        &[two.clone(), glued, lines[4..].concat()].concat(),
        &["1", "2", "damaged 3 lost [3,4]", "5", "6"],
    );
    check_damaged(
        &[two.clone(), b"\n".to_vec(), lines[2..].concat()].concat(),
        &["1", "2", "damaged 3 lost null", "3", "4", "5", "6"],
    );
    let long = [vec![b'x'; 20_000_000], b"\n".to_vec()].concat();
    check_damaged(
        &[lines[0].clone(), long, lines[2..].concat()].concat(),
        &["1", "damaged 2 lost [2,2]", "3", "4", "5", "6"],
    );
    check_damaged(
        &[two, rest].concat(),
        &["1", "2", "damaged 3 lost [3,3]", "4", "5", "6"],
    );
}

#[test]
fn what_a_torn_write_left_is_marked_and_not_shown() {
    let lines = lines_of(run_of(4).path());
    let torn = [lines[..2].concat(), vec![0; 100]].concat();
    check_damaged(&torn, &["1", "2", "torn 3"]);
    let folder = folder_with(&torn);
    let text = shown(folder.path(), &Filter::default(), Style::Text);
    assert!(
        text.lines()
            .last()
            .unwrap()
            .starts_with("------ torn: RUN/ledger.jsonl, line 3")
    );
}

#[test]
fn lines_that_are_missing_at_the_end_are_marked_there() {
    let folder = run_of(6);
    let lines = lines_of(folder.path());
    std::fs::write(folder.path().join("ledger.jsonl"), lines[..4].concat()).unwrap();
    let text = shown(folder.path(), &Filter::default(), Style::Text);
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("------ damaged:") && last.ends_with("lines 5 to 6 are lost"),
        "{last}"
    );
}

#[test]
fn a_newer_line_is_refused_after_what_stands_before_it() {
    let lines = lines_of(run_of(4).path());
    let newer = as_format_2(&lines[1], &lines[2]);
    let folder = folder_with(&[lines[..2].concat(), newer.into_bytes()].concat());
    let mut out = Vec::new();
    let error = show(folder.path(), &Filter::default(), Style::Text, &mut out).unwrap_err();
    assert!(
        matches!(
            error,
            InspectError::Newer {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 2);
}

/// The line as a newer writer would have written it after `before`.
fn as_format_2(before: &[u8], line: &[u8]) -> String {
    use sha2::Digest as _;
    let newer = String::from_utf8(line.to_vec())
        .unwrap()
        .replace(r#"{"v":1"#, r#"{"v":2"#);
    let body = &newer[..newer.len() - 43];
    let hash = sha2::Sha256::new()
        .chain_update(&before[before.len() - 35..before.len() - 3])
        .chain_update(body)
        .finalize();
    let sum: String = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{body},\"sum\":\"{sum}\"}}\n")
}

/// Takes a few bytes, then fails as a closed pipe does.
struct Closed(usize);

impl std::io::Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_output_ends_the_showing_with_its_own_error() {
    let folder = run_of(5);
    let error = show(
        folder.path(),
        &Filter::default(),
        Style::Text,
        &mut Closed(100),
    )
    .unwrap_err();
    assert!(matches!(error, InspectError::Write(_)), "{error}");
}
