//! Pictures of runs in rooms of all sizes.

use super::*;
use crate::text::columns;
use engine_core::ids::{ModelName, RoleName, TaskId, Tokens};
use fleet_core::budget::{Account, Spent};
use fleet_core::ids::RunId;
use fleet_core::state::ChangeSize;
use proptest::prelude::*;

const MINUTE: i64 = 60_000;

fn account(spent: u64, cap: Option<u64>) -> Account {
    let spent = Spent {
        input: Tokens(spent),
        ..Spent::default()
    };
    Account {
        cap: cap.map(Tokens),
        spent,
        reserved: Tokens(0),
        ..Account::default()
    }
}

fn task(id: &str, role: &str, state: &'static str) -> TaskView {
    TaskView {
        task: id.parse::<TaskId>().expect("a task id"),
        role: RoleName(role.to_owned()),
        model: Some(ModelName {
            provider: "local".to_owned(),
            model: "qwen3-coder".to_owned(),
        }),
        state,
        note: None,
        attempt: AttemptNo(1),
        steps: 4,
        account: account(3_210, None),
        started_at: Some(Timestamp(0)),
        ended_at: None,
        blocked_by: None,
        review_of: None,
        change: None,
    }
}

fn run(state: &'static str, tasks: Vec<TaskView>) -> RunView {
    RunView {
        run: RunId("raise-coverage-261130-k3f9".to_owned()),
        state,
        reason: None,
        exit: None,
        repository: "/r".to_owned(),
        base: None,
        integration: None,
        head: None,
        base_branch: None,
        taken: None,
        rejected: None,
        account: account(12_345, Some(2_000_000)),
        opened_at: Timestamp(0),
        last_at: Timestamp(MINUTE),
        tasks,
    }
}

fn small_run() -> RunView {
    let survey = TaskView {
        ended_at: Some(Timestamp(12_000)),
        ..task("survey", "scout", "settled")
    };
    let tests = TaskView {
        note: Some("shell cargo test -q".to_owned()),
        attempt: AttemptNo(2),
        started_at: Some(Timestamp(15_000)),
        ..task("tests", "builder", "running")
    };
    let docs = TaskView {
        ended_at: Some(Timestamp(50_000)),
        change: Some(ChangeSize {
            files: 2,
            insertions: 40,
            deletions: 1,
        }),
        ..task("docs", "builder", "landed")
    };
    let last = TaskView {
        attempt: AttemptNo(0),
        steps: 0,
        account: Account::default(),
        started_at: None,
        ..task("sum-up", "scout", "queued")
    };
    run("running", vec![survey, tests, docs, last])
}

fn drawn(view: &RunView, width: usize, height: usize) -> String {
    let lines = frame(view, Timestamp(2 * MINUTE), Room { width, height });
    let texts: Vec<String> = lines.iter().map(Line::plain).collect();
    texts.join("\n")
}

#[test]
fn a_wide_room_shows_everything() {
    insta::assert_snapshot!(drawn(&small_run(), 120, 24), @"
    raise-coverage-261130-k3f9  running  2:00  12,345 of 2,000,000 tokens
    ✓  survey  scout    local/qwen3-coder  settled  step 4     3,210  0:12
    ●  tests   builder  local/qwen3-coder  running  step 4 #2  3,210  1:45  shell cargo test -q
    ✓  docs    builder  local/qwen3-coder  landed   step 4     3,210  0:50  2 files (+40 -1)
    ○  sum-up  scout    local/qwen3-coder  queued
    1 running, 1 queued, 1 landed, 1 settled
    ");
}

#[test]
fn the_usual_room_leaves_the_model_out() {
    insta::assert_snapshot!(drawn(&small_run(), 80, 24), @"
    raise-coverage-261130-k3f9  running  2:00  12,345 of 2,000,000 tokens
    ✓  survey  scout    settled  step 4     3,210  0:12
    ●  tests   builder  running  step 4 #2  3,210  1:45  shell cargo test -q
    ✓  docs    builder  landed   step 4     3,210  0:50  2 files (+40 -1)
    ○  sum-up  scout    queued
    1 running, 1 queued, 1 landed, 1 settled
    ");
}

#[test]
fn a_narrow_room_keeps_names_and_states() {
    insta::assert_snapshot!(drawn(&small_run(), 24, 24), @"
    raise-coverage-261130-k…
    ✓  survey  settled
    ●  tests   running
    ✓  docs    landed
    ○  sum-up  queued
    1 running, 1 queued, 1 …
    ");
}

#[test]
fn in_a_low_room_the_tasks_at_work_stay() {
    insta::assert_snapshot!(drawn(&small_run(), 70, 4), @"
    raise-coverage-261130-k3f9  running  2:00  12,345 of 2,000,000 tokens
    ●  tests   builder  running  3,210  1:45  shell cargo test -q
    ○  sum-up  scout    queued
    1 running, 1 queued, 1 landed, 1 settled · not shown: 1 landed, 1 set…
    ");
}

#[test]
fn a_run_nobody_works_on_has_clocks_that_stand_still() {
    let mut view = small_run();
    view.state = "stopped";
    view.reason = Some("its manager is gone; `fleet resume` goes on".to_owned());
    view.tasks[1].state = "interrupted";
    let at = |now| {
        frame(
            &view,
            Timestamp(now),
            Room {
                width: 80,
                height: 24,
            },
        )
    };
    assert_eq!(at(2 * MINUTE), at(900 * MINUTE));
    insta::assert_snapshot!(drawn(&view, 100, 3), @"
    raise-coverage-261130-k3f9  stopped  1:00  12,345 of 2,000,000 tokens  its manager is gone; `fleet …
    ‖  tests  builder  local/qwen3-coder  interrupted  step 4 #2  3,210  0:45  shell cargo test -q
    1 interrupted, 1 queued, 1 landed, 1 settled · not shown: 1 queued, 1 landed, 1 settled
    ");
}

#[test]
fn a_run_without_tasks_is_drawn() {
    insta::assert_snapshot!(drawn(&run("running", Vec::new()), 80, 24), @"raise-coverage-261130-k3f9  running  2:00  12,345 of 2,000,000 tokens");
}

proptest! {
    #[test]
    fn every_room_is_kept_to(
        note in "\\PC{0,40}|[\\x00-\\x{1f}a界\u{301}\u{200d}👩é]{0,40}",
        states in proptest::collection::vec(0_usize..12, 0..30),
        width in 0_usize..130,
        height in 0_usize..30,
    ) {
        const STATES: [&str; 12] = [
            "queued", "running", "waiting", "settled", "verified", "landed", "failed", "skipped",
            "conflict", "cancelled", "interrupted", "budget",
        ];
        let tasks = states.iter().enumerate().map(|(at, state)| TaskView {
            note: Some(note.clone()),
            role: RoleName(note.clone()),
            ..task(&format!("t{at}"), "builder", STATES[*state])
        });
        let mut view = run("running", tasks.collect());
        view.reason = Some(note.clone());
        let lines = frame(&view, Timestamp(MINUTE), Room { width, height });
        prop_assert!(lines.len() <= height);
        for line in lines {
            prop_assert!(line.columns() <= width);
            prop_assert!(columns(&line.plain()) <= width);
            prop_assert!(!line.plain().chars().any(char::is_control));
        }
    }
}

#[test]
fn now_is_the_newest_entry_of_a_run_nobody_works_on() {
    let check = |state, wanted| {
        let now = Timestamp(9 * MINUTE);
        assert_eq!(until(&run(state, Vec::new()), now), Timestamp(wanted));
    };
    check("running", 9 * MINUTE);
    check("stopped", MINUTE);
    check("done", MINUTE);
}
