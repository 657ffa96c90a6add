//! Ledgers in numbers, and as tables: of whole ones and of what is whole of damaged ones.

use crate::common::{anonymous, folder_with, forged, lines_of, written};
use ledger_inspect::{Filter, Stats, export_csv, stats};
use std::path::Path;

const OPENED: &str = r#"{"type":"run.opened","run":"r","plan":{"roles":{"scout":{"model":{"provider":"p","model":"small"}},"builder":{"model":{"provider":"p","model":"large"}}}}}"#;

/// Two tasks: one asked twice, once in vain; the other is answered without a count, and asks again.
fn run() -> tempfile::TempDir {
    written(&[
        &[OPENED],
        &[
            r#"{"type":"task.queued","spec":{"id":"look","role":"scout"}}"#,
            r#"{"type":"task.queued","spec":{"id":"make","role":"builder"}}"#,
        ],
        &[r#"{"type":"model.requested","task":"look","attempt":1,"step":1,"reserved":500}"#],
        &[
            r#"{"type":"model.failed","task":"look","attempt":1,"step":1,"kind":"stream-cut","message":"x","billed":"reservation"}"#,
        ],
        &[r#"{"type":"model.requested","task":"look","attempt":1,"step":1,"reserved":600}"#],
        &[
            r#"{"type":"model.responded","task":"look","attempt":1,"step":1,"answer":{"a,b":"\"quoted\""},"usage":{"input":100,"output":20,"cached":40}}"#,
        ],
        &[r#"{"type":"model.requested","task":"make","attempt":1,"step":1,"reserved":700}"#],
        &[
            r#"{"type":"model.failed","task":"make","attempt":1,"step":1,"kind":"rate-limited","message":"x","billed":"nothing"}"#,
        ],
        &[r#"{"type":"model.requested","task":"make","attempt":2,"step":1,"reserved":700}"#],
        &[r#"{"type":"model.responded","task":"make","attempt":2,"step":1,"answer":{}}"#],
        &[r#"{"type":"model.requested","task":"make","attempt":2,"step":2,"reserved":800}"#],
    ])
}

fn of(folder: &Path, filter: &Filter) -> Stats {
    stats(folder, filter).unwrap()
}

/// Requests, answers, lost, input, cached, output, unreported, open.
fn tokens(stats: &Stats, task: &str) -> [u64; 8] {
    let row = stats.tokens.iter().find(|row| row.task == task).unwrap();
    [
        row.requests,
        row.answers,
        row.lost,
        row.input,
        row.cached,
        row.output,
        row.unreported,
        row.open,
    ]
}

#[test]
fn tokens_are_booked_as_reported_or_at_their_reservation() {
    let folder = run();
    let stats = of(folder.path(), &Filter::default());
    assert_eq!(tokens(&stats, "look"), [2, 1, 1, 100, 40, 20, 500, 0]);
    assert_eq!(tokens(&stats, "make"), [3, 1, 1, 0, 0, 0, 700, 800]);
    let models: Vec<&str> = stats.tokens.iter().map(|row| row.model.as_str()).collect();
    assert_eq!(models, ["p/small", "p/large"]);
}

#[test]
fn an_answer_that_is_told_twice_counts_once() {
    let responded = r#"{"type":"model.responded","task":"a","attempt":1,"step":1,"answer":{},"usage":{"input":10,"output":5}}"#;
    let folder = written(&[
        &[r#"{"type":"model.requested","task":"a","attempt":1,"step":1,"reserved":50}"#],
        &[responded],
        &[responded],
    ]);
    let stats = of(folder.path(), &Filter::default());
    assert_eq!(tokens(&stats, "a"), [1, 1, 0, 10, 0, 5, 0, 0]);
}

#[test]
fn a_choice_of_records_narrows_records_and_tokens_only() {
    let folder = run();
    let all = of(folder.path(), &Filter::default());
    let second = Filter {
        task: Some("make".to_owned()),
        attempt: Some(2),
        types: vec![],
    };
    let some = of(folder.path(), &second);
    assert_eq!((some.lines, &some.batches), (all.lines, &all.batches));
    assert_eq!((all.records, some.records), (12, 3));
    assert_eq!(tokens(&some, "make"), [2, 1, 1, 0, 0, 0, 700, 800]);
    assert_eq!(some.tokens.len(), 1);
}

#[test]
fn batches_are_told_by_the_watermarks() {
    let folder = folder_with(&forged("ours", 200).lines.concat());
    let stats = of(folder.path(), &Filter::default());
    let batches = stats.batches;
    assert_eq!(
        (batches.count, batches.most_lines, batches.median_lines),
        (67, 3, 3)
    );
}

#[test]
fn of_a_damaged_ledger_what_is_whole_is_counted_and_the_rest_named() {
    let folder = run();
    let mut lines = lines_of(folder.path());
    lines[5][90] ^= 1;
    let damaged = folder_with(&lines.concat());
    let stats = of(damaged.path(), &Filter::default());
    assert!(!stats.is_sound());
    assert_eq!(tokens(&stats, "look"), [2, 0, 1, 0, 0, 0, 500, 600]);
    let mut text = Vec::new();
    stats.write_text(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("line 6, byte"), "{text}");
}

#[test]
fn the_numbers_for_people() {
    let folder = run();
    let mut text = Vec::new();
    of(folder.path(), &Filter::default())
        .write_text(&mut text)
        .unwrap();
    let text = anonymous(&String::from_utf8(text).unwrap(), folder.path());
    insta::assert_snapshot!(text, @"
    RUN/ledger.jsonl: 12 lines, 2524 bytes
    longest line: 273 bytes; lines that only vouch: 1
    batches: 12, of 1 lines in the middle and 1 at most
    from 2026-11-30T12:31:08.114Z to 2026-11-30T12:31:08.114Z
    epoch 1: 12 lines, 1 to 12, from 2026-11-30T12:31:08.114Z

    type                           records        bytes
    model.requested                      5          380
    model.failed                         2          228
    model.responded                      2          210
    run.opened                           1          154
    task.queued                          2          118
    all                                 12

    tokens by task                requests     input    cached    output      lost      open
    look                                 2       100        40        20       500         0
    make                                 3         0         0         0       700       800

    tokens by role                requests     input    cached    output      lost      open
    scout                                2       100        40        20       500         0
    builder                              3         0         0         0       700       800

    tokens by model               requests     input    cached    output      lost      open
    p/small                              2       100        40        20       500         0
    p/large                              3         0         0         0       700       800

    tokens in all: 1320
    ");
}

#[test]
fn the_table_ends_each_row_in_the_record_as_it_stands() {
    let folder = run();
    let filter = Filter {
        types: vec!["model.responded".to_owned()],
        ..Filter::default()
    };
    let mut table = Vec::new();
    export_csv(folder.path(), &filter, &mut table).unwrap();
    insta::assert_snapshot!(String::from_utf8(table).unwrap(), @r#"
    seq,epoch,at,type,task,attempt,step,call,record
    6,1,2026-11-30T12:31:08.114Z,model.responded,look,1,1,,"{""type"":""model.responded"",""task"":""look"",""attempt"":1,""step"":1,""answer"":{""a,b"":""\""quoted\""""},""usage"":{""input"":100,""output"":20,""cached"":40}}"
    10,1,2026-11-30T12:31:08.114Z,model.responded,make,2,1,,"{""type"":""model.responded"",""task"":""make"",""attempt"":2,""step"":1,""answer"":{}}"
    "#);

    let mut bytes = lines_of(folder.path());
    bytes[2] = b"\n".to_vec();
    let damaged = folder_with(&bytes.concat());
    let mut table = Vec::new();
    let shown = export_csv(damaged.path(), &filter, &mut table).unwrap();
    assert!(!shown.report.is_sound());
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("\n,,,ledger.damaged,,,,,\""), "{table}");
    assert_eq!(shown.records, 2);
}
