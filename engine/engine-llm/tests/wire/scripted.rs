//! The scripted provider: what its file may hold and how its turns are found.

use crate::support::{agent, request, shown, user};
use engine_core::ids::Tokens;
use engine_core::message::{Answer, Message, Stop};
use engine_core::provider::ProviderSpec;
use engine_llm::providers::build;
use engine_llm::{Model, ModelError, PlainHttp, StreamEvent};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A script in a folder of its own.
struct Written {
    folder: TempDir,
}

impl Written {
    fn new(lines: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let text = lines.join("\n");
        std::fs::write(folder.path().join("turns.jsonl"), text).expect("a file can be written");
        Self { folder }
    }

    fn open(&self) -> Result<Arc<dyn Model>, String> {
        let script = self.folder.path().join("turns.jsonl");
        let spec = ProviderSpec::Scripted {
            script: script.display().to_string(),
        };
        build(&spec, &|_| None, PlainHttp::LoopbackOnly).map_err(|error| self.bare(&error))
    }

    /// A message without the name of the temporary folder.
    fn bare(&self, error: &dyn std::fmt::Display) -> String {
        let folder = format!("{}/", self.folder.path().display());
        error.to_string().replace(&folder, "")
    }
}

/// Runs with virtual time, and tells how much of it passed.
fn run<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be built");
    runtime.block_on(async {
        let begun = tokio::time::Instant::now();
        (future.await, begun.elapsed())
    })
}

/// Asks for the turn after so many answers.
fn ask(
    model: &dyn Model,
    task: &str,
    attempt: u32,
    answers: usize,
) -> (Result<String, ModelError>, Duration) {
    let said = Message::Model(Answer {
        blocks: Vec::new(),
        stop: Stop::End,
    });
    let mut messages = vec![user("go")];
    messages.extend(std::iter::repeat_n(said, answers));
    let agent = agent(task, attempt);
    let prepared = model.prepare(&request(&agent, &messages));
    let (result, time) = run(model.ask(&prepared, Tokens(9), &mut |_| {}));
    (result.map(|response| shown(&response)), time)
}

fn check_answer(model: &dyn Model, place: (&str, u32, usize), expected: &str) {
    let (task, attempt, answers) = place;
    let (answer, _) = ask(model, task, attempt, answers);
    assert_eq!(answer.as_deref(), Ok(expected), "{place:?}");
}

#[test]
fn a_turn_is_found_by_task_attempt_and_answers_so_far() {
    let written = Written::new(&[
        r#"{"task":"tests","turn":1,"text":"any attempt"}"#,
        r#"{"task":"tests","attempt":2,"turn":1,"text":"second attempt"}"#,
        r#"{"task":"tests","turn":2,"text":"I write.","calls":[{"name":"write","arguments":{"path":"a"}},{"id":"x","name":"read","arguments":"{\"p"}],"usage":{"input":900,"output":120}}"#,
        r#"{"task":"tests","turn":3,"reasoning":"hm","calls":[{"name":"write","arguments":{}}],"stop":"output_limit"}"#,
        r#"{"task":"other","turn":1}"#,
    ]);
    let model = written.open().expect("a good script");
    check_answer(&*model, ("tests", 1, 0), r#""any attempt" | End"#);
    check_answer(&*model, ("tests", 2, 0), r#""second attempt" | End"#);
    check_answer(&*model, ("tests", 3, 0), r#""any attempt" | End"#);
    check_answer(
        &*model,
        ("tests", 2, 1),
        r#""I write." | call_2_1 write {"path":"a"} | x read INVALID {"p (EOF while parsing a string at line 1 column 3) | Calls | 900+120"#,
    );
    check_answer(
        &*model,
        ("tests", 1, 2),
        r#"reasoning "hm" | call_3_1 write {} | OutputLimit"#,
    );
    check_answer(&*model, ("other", 1, 0), "End");
}

#[test]
fn a_turn_that_is_not_written_is_named() {
    let written = Written::new(&[r#"{"task":"tests","attempt":1,"turn":1,"text":"a"}"#]);
    let model = written.open().expect("a good script");
    for (task, attempt, answers, expected) in [
        ("tests", 1, 1, "no line for task `tests`, attempt 1, turn 2"),
        ("tests", 2, 0, "no line for task `tests`, attempt 2, turn 1"),
        ("other", 1, 0, "no line for task `other`, attempt 1, turn 1"),
    ] {
        let (answer, _) = ask(&*model, task, attempt, answers);
        let error = answer.expect_err("it is not written");
        assert_eq!(written.bare(&error), format!("turns.jsonl: {expected}"));
        assert_eq!(error.kind(), "no-such-turn");
    }
}

#[test]
fn a_delay_passes_and_a_failure_ends_after_its_times() {
    let written = Written::new(&[
        r#"{"task":"slow","turn":1,"text":"at last","delay_ms":250}"#,
        r#"{"task":"busy","turn":1,"text":"now","error":{"status":429,"message":"slow down","retry_after_secs":7,"times":2}}"#,
        r#"{"task":"dead","turn":1,"error":{"status":401}}"#,
    ]);
    let model = written.open().expect("a good script");
    let (answer, time) = ask(&*model, "slow", 1, 0);
    assert_eq!(answer.as_deref(), Ok(r#""at last" | End"#));
    assert_eq!(time, Duration::from_millis(250));
    let told = || {
        let (answer, _) = ask(&*model, "busy", 1, 0);
        answer.map_err(|error| written.bare(&error))
    };
    let limited = "turns.jsonl: rate limited, asked to wait 7 s: slow down";
    assert_eq!(told().as_deref(), Err(&limited.to_owned()));
    assert_eq!(told().as_deref(), Err(&limited.to_owned()));
    assert_eq!(told().as_deref(), Ok(r#""now" | End"#));
    for _ in 0..3 {
        let (answer, _) = ask(&*model, "dead", 1, 0);
        assert_eq!(answer.expect_err("it always fails").kind(), "key-refused");
    }
}

#[test]
fn the_pieces_of_an_answer_are_heard() {
    let written = Written::new(&[
        r#"{"task":"t","turn":1,"reasoning":"hm","text":"so","calls":[{"name":"now","arguments":{}}]}"#,
    ]);
    let model = written.open().expect("a good script");
    let agent = agent("t", 1);
    let prepared = model.prepare(&request(&agent, &[user("go")]));
    let mut heard = Vec::new();
    let mut listen = |event| heard.push(event);
    run(model.ask(&prepared, Tokens(9), &mut listen))
        .0
        .expect("it is written");
    let name = "now".to_owned();
    assert_eq!(
        heard,
        [
            StreamEvent::Reasoning("hm".to_owned()),
            StreamEvent::Text("so".to_owned()),
            StreamEvent::Call { name },
        ]
    );
}

#[test]
fn what_is_not_a_turn_is_refused_with_its_line() {
    let good = r#"{"task":"a","turn":1}"#;
    let cases: Vec<String> = [
        r#"{"task":"a","turn":2,"txt":"x"}"#,
        r#"{"task":"a"}"#,
        r#"{"task":"a","turn":0}"#,
        r#"{"task":"a","turn":1}"#,
        r#"{"task":"a","turn":2,"usage":{"input":1,"output":2,"total":3}}"#,
        r#"{"task":"a","turn":2,"#,
        "",
    ]
    .iter()
    .map(|bad| {
        let written = Written::new(&[good, bad, r#"{"task":"a","turn":9}"#]);
        written.open().err().unwrap_or_default()
    })
    .collect();
    insta::assert_snapshot!(cases.join("\n"), @r"
    turns.jsonl:2: unknown field `txt`, expected one of `task`, `attempt`, `turn`, `reasoning`, `text`, `calls`, `stop`, `usage`, `delay_ms`, `error` (column 26)
    turns.jsonl:2: missing field `turn` (column 12)
    turns.jsonl:2: turns are counted from 1
    turns.jsonl:2: this turn is already written in line 1
    turns.jsonl:2: unknown field `total`, expected one of `input`, `output`, `cached` (column 58)
    turns.jsonl:2: EOF while parsing a value
    turns.jsonl:2: EOF while parsing a value
    ");
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let folder = TempDir::new().expect("a temporary folder");
    let written = Written { folder };
    let told = written.open().err().unwrap_or_default();
    assert_eq!(
        told,
        "the script turns.jsonl cannot be read: No such file or directory (os error 2)"
    );
}
