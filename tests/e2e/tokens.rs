//! Tokens are counted once, and alike wherever they are shown: hand-made ledgers, and a real run beside them.

use crate::crew::{Crew, ends_as};
use crate::environment::TestEnvironment;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

const RUN: &str = "hand-261130-ab12";

const BEGIN: &[&str] = &[
    r#"{"type":"run.opened","run":"hand-261130-ab12","version":"0.1.0","repository":"/r","base":null,"integration":null,"seed":1,"plan":{"name":"hand","limits":{"agents":3,"attempts":2,"steps":200,"wall_secs":600},"budget":{},"workspace":{"site":"here"},"providers":{"wire":{"kind":"openai","base_url":"http://127.0.0.1:9/v1"}},"roles":{"scout":{"model":{"provider":"wire","model":"m"},"access":"read","network":false,"gives_verdict":false}},"tasks":[]},"tasks":[{"id":"look","role":"scout","prompt":"Look."}],"task_count":1}"#,
    r#"{"type":"task.queued","spec":{"id":"look","role":"scout","prompt":"Look."}}"#,
];

/// The ledger of a run of one task, each record a line of its own.
struct HandMade {
    environment: TestEnvironment,
    text: String,
    sum: String,
    seq: u64,
}

impl HandMade {
    fn new() -> Self {
        let mut this = Self {
            environment: TestEnvironment::new().with_repository(),
            text: String::new(),
            sum: String::new(),
            seq: 0,
        };
        BEGIN.iter().for_each(|record| this.line(1, record));
        this
    }

    fn line(&mut self, epoch: u32, record: &str) {
        let before = self.seq;
        self.seq += 1;
        let body = format!(
            r#"{{"v":1,"seq":{},"epoch":{epoch},"dw":{before},"at":"2026-11-30T12:31:08.114Z","records":[{record}]"#,
            self.seq
        );
        let digest = Sha256::digest(format!("{}{body}", self.sum));
        self.sum = digest[..16].iter().map(|b| format!("{b:02x}")).collect();
        let sum = &self.sum;
        self.text.push_str(&format!("{body},\"sum\":\"{sum}\"}}\n"));
    }

    fn begun(&mut self, attempt: u32) {
        for kind in ["attempt.started", "workspace.ready"] {
            let place = if kind == "workspace.ready" {
                r#","path":"/r""#
            } else {
                ""
            };
            self.line(
                1,
                &format!(r#"{{"type":"{kind}","task":"look","attempt":{attempt}{place}}}"#),
            );
        }
    }

    fn asked(&mut self, epoch: u32, attempt: u32, step: u32) {
        let hash = "0".repeat(64);
        self.line(
            epoch,
            &format!(r#"{{"type":"model.requested","task":"look","attempt":{attempt},"step":{step},"hash":"{hash}","bytes":9,"max_output":1024,"reserved":2000}}"#),
        );
    }

    /// An answer; with `call`, one that asks for a tool, which is then run.
    fn answered(&mut self, epoch: u32, at: (u32, u32), usage: (u32, u32)) {
        let ((attempt, step), (input, output)) = (at, usage);
        let call = format!("call_{step}_1");
        self.line(
            epoch,
            &format!(r#"{{"type":"model.responded","task":"look","attempt":{attempt},"step":{step},"answer":{{"blocks":[{{"block":"text","text":"I look."}},{{"block":"call","id":"{call}","name":"list","arguments":{{"object":"{{}}"}}}}],"stop":"calls"}},"usage":{{"input":{input},"output":{output}}}}}"#),
        );
        self.line(
            epoch,
            &format!(r#"{{"type":"tool.started","task":"look","attempt":{attempt},"call":"{call}","tool":"list","effect":"reads","summary":"."}}"#),
        );
        self.line(
            epoch,
            &format!(r#"{{"type":"tool.finished","task":"look","attempt":{attempt},"call":"{call}","tool":"list","status":"ok","text":"x"}}"#),
        );
    }

    fn write(&self) {
        self.environment.write(
            &format!("desk/.git/codewhale/runs/{RUN}/ledger.jsonl"),
            &self.text,
        );
    }

    /// Input and output as every command shows them, which must be the same.
    #[track_caller]
    fn shown(&self) -> (u64, u64) {
        self.write();
        let status = self
            .environment
            .run(&["fleet", "status", "--json"])
            .exits(0);
        let status = status.json().remove(0);
        let task = &status["tasks"][0]["tokens"];
        let run = counted(&status["tokens"]);
        assert_eq!(counted(task), run, "the task and the run");
        let stats = self
            .environment
            .run(&["ledger", "stats", "--json"])
            .exits(0);
        assert_eq!(counted(&stats.json()[0]["tokens"][0]), run, "ledger stats");
        run
    }
}

fn counted(tokens: &Value) -> (u64, u64) {
    let number = |name: &str| tokens[name].as_u64().expect("a number");
    (number("input"), number("output"))
}

#[test]
fn an_answer_with_text_and_a_call_counts_once() {
    let mut run = HandMade::new();
    run.begun(1);
    run.asked(1, 1, 1);
    run.answered(1, (1, 1), (10, 5));
    assert_eq!(run.shown(), (10, 5));
}

#[test]
fn an_answer_that_is_recorded_twice_is_never_counted_twice() {
    let mut run = HandMade::new();
    run.begun(1);
    run.asked(1, 1, 1);
    run.answered(1, (1, 1), (10, 5));
    run.answered(1, (1, 1), (10, 5));
    run.write();
    let status = run.environment.run(&["fleet", "status", "--json"]).exits(7);
    assert_eq!(counted(&status.json()[0]["tokens"]), (10, 5));
    assert!(status.stderr.contains("line 9"), "{}", status.stderr);
    let stats = run.environment.run(&["ledger", "stats", "--json"]);
    assert_eq!(counted(&stats.json()[0]["tokens"][0]), (10, 5));
}

#[test]
fn what_was_used_before_a_kill_is_kept_by_the_resume() {
    let mut run = HandMade::new();
    run.begun(1);
    run.asked(1, 1, 1);
    run.answered(1, (1, 1), (80, 20));
    run.line(2, r#"{"type":"run.resumed","version":"0.1.0","pid":1}"#);
    run.line(2, r#"{"type":"attempt.resumed","task":"look","attempt":1}"#);
    run.line(
        2,
        r#"{"type":"workspace.ready","task":"look","attempt":1,"path":"/r"}"#,
    );
    run.asked(2, 1, 2);
    run.answered(2, (1, 2), (50, 10));
    assert_eq!(run.shown(), (130, 30));
}

#[test]
fn a_failed_attempt_is_paid_for_beside_the_good_one() {
    let mut run = HandMade::new();
    run.begun(1);
    run.asked(1, 1, 1);
    run.answered(1, (1, 1), (10, 0));
    run.line(
        1,
        r#"{"type":"attempt.finished","task":"look","attempt":1,"end":{"how":"failed","kind":"steps","message":"too many"}}"#,
    );
    run.begun(2);
    run.asked(1, 2, 1);
    run.answered(1, (2, 1), (10, 5));
    assert_eq!(run.shown(), (20, 5));
    let status = run.environment.run(&["fleet", "status", "--json"]);
    assert_eq!(status.json()[0]["tasks"][0]["attempt"], 2);
}

#[test]
fn a_real_run_is_counted_alike_by_all_that_show_it() {
    let crew = Crew::new();
    ends_as(crew.start().ended(), "done", 0);
    let told = crew.story().tokens();
    let status = crew.status();
    assert_eq!(counted(&status["tokens"]), (told.input, told.output));
    let stats = crew
        .environment
        .run(&["ledger", "stats", "--json"])
        .exits(0);
    let stats = stats.json().remove(0);
    for task in status["tasks"].as_array().expect("tasks") {
        let rows = stats["tokens"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["task"] == task["task"]);
        let row = row.expect("every task asked");
        assert_eq!(counted(row), counted(&task["tokens"]), "{row}");
        assert_eq!(
            (&row["role"], &row["model"]),
            (&task["role"], &task["model"])
        );
    }
    let shown = crew.environment.run(&["fleet", "status"]).exits(0);
    let text = crew.environment.run(&["ledger", "stats"]).exits(0);
    let all = (told.input + told.output + told.unreported).to_string();
    assert!(
        text.stdout.contains(&format!("tokens in all: {all}")),
        "{}",
        text.stdout
    );
    assert!(shown.stdout.contains("done"), "{}", shown.stdout);
}
