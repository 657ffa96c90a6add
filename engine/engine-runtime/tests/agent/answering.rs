//! Answers and calls: what runs, in which order, and what is recorded of it.

use super::fakes::{Bench, answers, call, calls, finished, pairs, says};
use engine_core::ids::{CallId, Tokens};
use engine_core::message::{Arguments, Block, Message, Stop, ToolCall};
use engine_core::outcome::{AgentOutcome, FailureKind};
use engine_core::record::AgentRecord;
use engine_runtime::JournalClosed;

async fn check(
    bench: &Bench,
    outcome: Result<AgentOutcome, JournalClosed>,
    requests: usize,
    ran: &[&str],
) {
    assert_eq!(bench.run(&[]).await, outcome);
    assert_eq!(bench.requests(), requests);
    assert_eq!(bench.ran(), ran);
}

fn invalid(id: &str, tool: &str, raw: &str) -> Block {
    Block::Call(ToolCall {
        id: CallId(id.to_owned()),
        name: tool.to_owned(),
        arguments: Arguments::Invalid {
            raw: raw.to_owned(),
            error: "ends early at column 30".to_owned(),
        },
    })
}

#[tokio::test]
async fn one_tool_round_is_five_lines() {
    let bench = Bench::new([calls(&[("a", "edit")]), says("ready")]);
    check(&bench, finished("ready"), 2, &["a"]).await;
    let kind = |record: &AgentRecord| match record {
        AgentRecord::ModelRequested(_) => "requested",
        AgentRecord::ModelResponded(_) => "responded",
        AgentRecord::ToolStarted(_) => "started",
        AgentRecord::ToolFinished(_) => "finished",
        AgentRecord::WorkspaceSnapshotted(_) => "snapshotted",
        AgentRecord::ModelFailed(_)
        | AgentRecord::ContextCompacted(_)
        | AgentRecord::VerdictGiven(_) => "other",
    };
    let lines = bench.journal.lines.lock().unwrap().clone();
    let lines: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| line.iter().map(kind).collect())
        .collect();
    assert_eq!(
        lines,
        [
            vec!["requested"],
            vec!["responded", "started"],
            vec!["finished", "snapshotted"],
            vec!["requested"],
            vec!["responded"],
        ]
    );
}

#[tokio::test]
async fn readers_run_side_by_side_and_report_in_the_order_asked() {
    let meet = |id| call(id, "read", r#"{"meet":1}"#);
    let blocks = vec![meet("1"), meet("2"), meet("3"), call("4", "edit", "{}")];
    let bench = Bench::new([answers(blocks, Stop::Calls)]);
    check(&bench, finished("done"), 2, &["1", "2", "3", "4"]).await;
    let texts = pairs(&[("1", "1"), ("2", "2"), ("3", "3"), ("4", "4")]);
    assert_eq!(bench.results(), texts);
    assert_eq!(*bench.snapshots.taken.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_call_runs_although_the_answer_says_it_is_over() {
    let bench = Bench::new([answers(
        vec![call("c1", "read", r#"{"out":"text"}"#)],
        Stop::End,
    )]);
    check(&bench, finished("done"), 2, &["c1"]).await;
    assert_eq!(bench.results(), pairs(&[("c1", "text")]));
}

#[tokio::test]
async fn calls_that_the_output_limit_cut_never_run() {
    let cut = |block| answers(vec![block], Stop::OutputLimit);
    let bench = Bench::new([
        cut(invalid(
            "1",
            "edit",
            "{\"path\":\"notes.txt\",\"content\":\"line1\\nli",
        )),
        cut(call("2", "edit", r#"{"path":"notes.txt"}"#)),
        cut(invalid("3", "shell", "{\"command\":\"rm -rf build")),
        cut(invalid("4", "edit", "{\"path")),
    ]);
    let end = AgentOutcome::Failed {
        kind: FailureKind::OutputLimit,
        message: "the output limit cut 3 answers in a row".to_owned(),
    };
    check(&bench, Ok(end), 3, &[]).await;
    assert_eq!(*bench.snapshots.taken.lock().unwrap(), 0);
}

#[tokio::test]
async fn blank_texts_reach_no_request() {
    let blank = |text: &str| Block::Text {
        text: text.to_owned(),
    };
    let out = |id, text| call(id, "read", &format!(r#"{{"out":"{text}"}}"#));
    let bench = Bench::new([
        answers(vec![], Stop::End),
        answers(vec![blank("  \n"), out("a", "")], Stop::Calls),
        answers(vec![out("b", r" \n\t")], Stop::Calls),
    ]);
    assert_eq!(bench.run(&["   "]).await, finished("done"));
    let empty = "(no output)";
    assert_eq!(bench.results(), pairs(&[("a", empty), ("b", empty)]));
    let Message::Model(second) = &bench.last_sent()[1] else {
        panic!("the call alone is sent");
    };
    assert_eq!(second.blocks.len(), 1);
}

#[tokio::test]
async fn doubled_and_missing_ids_run_once_each_before_and_after_a_resume() {
    let bench = Bench::new([
        calls(&[("call_1", "edit"), ("call_1", "edit")]),
        calls(&[("", "read"), ("", "read")]),
        calls(&[("shell:0", "shell")]),
        calls(&[("shell:0", "shell")]),
        says("first"),
    ]);
    let ids = [
        "call_1",
        "call_1_2",
        "call_3",
        "call_4",
        "shell:0",
        "shell:0_2",
    ];
    check(&bench, finished("first"), 5, &ids).await;
    let before = bench.results();
    assert_eq!(bench.run(&["one more"]).await, finished("done"));
    assert_eq!(bench.results(), before);
    assert_eq!(bench.ran(), ids);
}

#[tokio::test]
async fn invalid_arguments_are_recorded_but_never_sent_again() {
    let bad = || {
        let raw = "{\"path\":\"a.txt\",\"content\":\"un";
        answers(vec![invalid("a", "read", raw)], Stop::Calls)
    };
    let bench = Bench::new([bad()]);
    check(&bench, finished("done"), 2, &[]).await;
    assert!(bench.results()[0].1.contains("ends early at column 30"));
    let Some(AgentRecord::ModelResponded(answer)) = bench.journal.records().into_iter().nth(1)
    else {
        panic!("the answer is recorded");
    };
    assert!(answer.answer.text().contains("a.txt"));
    let bench = Bench::new([bad(), bad(), bad(), bad(), bad()]);
    let end = AgentOutcome::Failed {
        kind: FailureKind::InvalidArguments,
        message: "5 answers in a row held invalid arguments".to_owned(),
    };
    check(&bench, Ok(end), 5, &[]).await;
}

#[tokio::test]
async fn usage_is_recorded_once_for_each_answer() {
    let text = Block::Text {
        text: "look".to_owned(),
    };
    let bench = Bench::new([answers(vec![text, call("a", "read", "{}")], Stop::Calls)]);
    check(&bench, finished("done"), 2, &["a"]).await;
    let usages = bench.journal.records().into_iter().filter_map(|r| match r {
        AgentRecord::ModelResponded(answer) => answer.usage,
        _ => None,
    });
    let totals: Vec<(Tokens, Tokens)> = usages.map(|u| (u.input, u.output)).collect();
    assert_eq!(totals, [(Tokens(10), Tokens(5)); 2]);
}

#[tokio::test]
async fn what_is_said_while_it_works_is_in_the_next_request() {
    let bench = Bench::new([calls(&[("a", "read")])]);
    assert_eq!(bench.run(&["mind the tests"]).await, finished("done"));
    let Message::User { text } = &bench.last_sent()[0] else {
        panic!("the first message is the person's");
    };
    assert_eq!(text, "go\n\nmind the tests");
    let Some(AgentRecord::ModelRequested(first)) = bench.journal.records().into_iter().next()
    else {
        panic!("the request is recorded");
    };
    assert_eq!(first.told, ["go".into(), "mind the tests".into()]);
}
