//! The manager on a real ledger, with hands that do nothing real.

use super::*;
use crate::clock::SystemClock;
use engine_core::content::Content;
use engine_core::ids::{AgentId, ModelName, RoleName, StepNo, Tokens};
use engine_core::message::Usage;
use engine_core::record::{AgentRecord, Json, ModelResponded};
use engine_core::tool::Access;
use fleet_core::ids::{CommitId, RunId};
use fleet_core::record::{AttemptEnd, RunOutcome, WorkspaceReady};
use fleet_core::spec::{Budget, Limits, RoleSpec, RunSpec, WorkspaceSpec};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// Agents that end as told.
struct FakeHands {
    end: fn(&AgentJob, &CancellationToken) -> BoxFuture<'static, AttemptEnd>,
    agents: AtomicU32,
}

impl Hands for FakeHands {
    fn perform(
        &self,
        job: Job,
        _mailbox: Mailbox,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Option<Input>> {
        let agent = job.agent().clone();
        match job {
            Job::RunAgent(job) => {
                self.agents.fetch_add(1, Ordering::Relaxed);
                let end = (self.end)(&job, &cancel);
                Box::pin(async move {
                    Some(Input::AttemptEnded {
                        agent,
                        end: end.await,
                    })
                })
            }
            _ => Box::pin(async move {
                Some(Input::Outcome(Record::from(WorkspaceReady {
                    task: agent.task,
                    attempt: agent.attempt,
                    path: "/w".into(),
                    branch: None,
                })))
            }),
        }
    }
}

fn finished() -> AttemptEnd {
    AttemptEnd::Finished {
        text: Content::from("ok"),
    }
}

fn hands(
    end: fn(&AgentJob, &CancellationToken) -> BoxFuture<'static, AttemptEnd>,
) -> Arc<FakeHands> {
    Arc::new(FakeHands {
        end,
        agents: AtomicU32::new(0),
    })
}

fn scouts(count: usize) -> Vec<TaskSpec> {
    (0..count)
        .map(|n| TaskSpec {
            id: format!("t{n}").parse().unwrap(),
            role: RoleName("scout".into()),
            prompt: "look".into(),
            needs: Vec::new(),
            check: Vec::new(),
            review: None,
            budget: Budget::default(),
            timeout_secs: None,
        })
        .collect()
}

fn opened(tasks: &[TaskSpec]) -> Box<RunOpened> {
    let role = RoleSpec {
        model: ModelName {
            provider: "p".into(),
            model: "m".into(),
        },
        access: Access::Read,
        network: false,
        tools: None,
        instructions: None,
        agents: None,
        effort: None,
        gives_verdict: false,
    };
    Box::new(RunOpened {
        run: RunId("t-261130-aaaa".into()),
        version: "0".into(),
        repository: "/r".into(),
        base: Some(CommitId("base".into())),
        base_branch: None,
        integration: None,
        seed: 1,
        plan: RunSpec {
            name: "t".into(),
            goal: None,
            base: None,
            limits: Limits {
                agents: 16,
                ..Limits::default()
            },
            budget: Budget::default(),
            workspace: WorkspaceSpec::default(),
            providers: BTreeMap::new(),
            roles: [(RoleName("scout".into()), role)].into(),
            tasks: Vec::new(),
        },
        tasks: Json::of(tasks).unwrap(),
        task_count: u32::try_from(tasks.len()).unwrap(),
        roster: None,
    })
}

fn open(folder: &Path, tasks: Vec<TaskSpec>, hands: Arc<FakeHands>) -> Running {
    start(Managed {
        store: Store::create(folder, ledger::Filesystems::Any).unwrap(),
        beginning: Beginning::Open {
            opened: opened(&tasks),
            tasks,
        },
        hands,
        clock: Arc::new(SystemClock),
        control: Folders::default(),
    })
}

fn resume(folder: &Path, tasks: Vec<TaskSpec>, hands: Arc<FakeHands>) -> Running {
    start(Managed {
        store: Store::open(folder, ledger::Filesystems::Any).unwrap(),
        beginning: Beginning::Resume {
            version: "0".into(),
            pid: 1,
            tasks,
        },
        hands,
        clock: Arc::new(SystemClock),
        control: Folders::default(),
    })
}

#[tokio::test]
async fn a_run_of_many_tasks_ends_done_and_its_ledger_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = hands(|_, _| Box::pin(async { finished() }));
    let mut running = open(&folder, scouts(450), hands.clone());
    let ended = (&mut running.done).await.unwrap().unwrap();
    assert_eq!(
        (ended.outcome, hands.agents.load(Ordering::Relaxed)),
        (RunOutcome::Done, 450)
    );
    let state = crate::store::read(&folder).unwrap();
    assert!(state.tasks().all(|(_, task)| task.succeeded()));
    let mut seen = 0;
    while let Some(line) = running.lines.recv().await {
        seen += line.records.len();
    }
    assert!(seen > 450 * 4, "{seen}");
}

#[tokio::test]
async fn a_stop_interrupts_and_a_resume_finishes_without_running_anything_twice() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let stuck = hands(|job, cancel| {
        let (first, cancel) = (job.agent.task.as_str() == "t0", cancel.clone());
        Box::pin(async move {
            if first {
                return finished();
            }
            cancel.cancelled().await;
            AttemptEnd::Interrupted
        })
    });
    let mut running = open(&folder, scouts(20), stuck);
    loop {
        let line = running.lines.recv().await.unwrap();
        if line
            .records
            .iter()
            .any(|r| matches!(r, Record::TaskEnded(_)))
        {
            break;
        }
    }
    running.control.stop(StopRequest {
        reason: "asked".into(),
        exit: 130,
    });
    let ended = running.done.await.unwrap().unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Stopped, 130));

    let hands = hands(|_, _| Box::pin(async { finished() }));
    let running = resume(&folder, scouts(20), hands.clone());
    let ended = running.done.await.unwrap().unwrap();
    assert_eq!(
        (ended.outcome, hands.agents.load(Ordering::Relaxed)),
        (RunOutcome::Done, 19)
    );
    let state = crate::store::read(&folder).unwrap();
    assert!(state.tasks().all(|(_, task)| task.attempt_no().0 == 1));
}

#[tokio::test]
async fn a_resume_that_owes_nothing_appends_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = hands(|_, _| Box::pin(async { finished() }));
    open(&folder, scouts(3), hands.clone())
        .done
        .await
        .unwrap()
        .unwrap();
    let before = std::fs::read(folder.join("ledger.jsonl")).unwrap();
    let ended = resume(&folder, scouts(3), hands.clone())
        .done
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.outcome, RunOutcome::Done);
    assert_eq!(std::fs::read(folder.join("ledger.jsonl")).unwrap(), before);
    assert_eq!(hands.agents.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_panic_in_one_agent_fails_that_attempt_only() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = hands(|job, _| {
        let bad = job.agent.task.as_str() == "t1";
        Box::pin(async move {
            assert!(!bad, "planted");
            finished()
        })
    });
    let ended = open(&folder, scouts(3), hands).done.await.unwrap().unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Partial, 3));
}

#[tokio::test]
async fn a_lock_is_refused_while_a_manager_lives() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = hands(|_, cancel| {
        let cancel = cancel.clone();
        Box::pin(async move {
            cancel.cancelled().await;
            AttemptEnd::Interrupted
        })
    });
    let running = open(&folder, scouts(1), hands);
    let refused = Store::open(&folder, ledger::Filesystems::Any)
        .err()
        .unwrap();
    assert_eq!(refused.trouble(), ledger::Trouble::Held);
    running.control.stop(StopRequest {
        reason: "asked".into(),
        exit: 130,
    });
    running.done.await.unwrap().unwrap();
}

/// Hands that hand every job to a closure.
struct Doing<F>(F);

impl<F> Hands for Doing<F>
where
    F: Fn(Job, Mailbox) -> BoxFuture<'static, Option<Input>> + Send + Sync + 'static,
{
    fn perform(
        &self,
        job: Job,
        mailbox: Mailbox,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Option<Input>> {
        (self.0)(job, mailbox)
    }
}

fn ready(job: &Job) -> Option<Input> {
    let agent = job.agent().clone();
    Some(Input::Outcome(Record::from(WorkspaceReady {
        task: agent.task,
        attempt: agent.attempt,
        path: "/w".into(),
        branch: None,
    })))
}

fn managed(folder: &Path, opened: Box<RunOpened>, hands: Arc<dyn Hands>) -> Running {
    let tasks: Vec<TaskSpec> = opened.tasks.read().unwrap();
    start(Managed {
        store: Store::create(folder, ledger::Filesystems::Any).unwrap(),
        beginning: Beginning::Open { opened, tasks },
        hands,
        clock: Arc::new(SystemClock),
        control: Folders::default(),
    })
}

#[tokio::test]
async fn nothing_starts_before_the_line_that_announces_it_is_in_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let file = folder.join("ledger.jsonl");
    let hands = Doing(move |job: Job, _| -> BoxFuture<'static, Option<Input>> {
        let text = std::fs::read_to_string(&file).unwrap();
        let (kind, agent) = match &job {
            Job::PrepareWorkspace(job) => ("attempt.started", &job.agent),
            other => ("workspace.ready", other.agent()),
        };
        let announced = format!(r#""type":"{kind}","task":"{}""#, agent.task);
        let done = text.contains(&announced);
        Box::pin(async move {
            assert!(done, "{announced} is not in the file");
            match &job {
                Job::RunAgent(job) => Some(Input::AttemptEnded {
                    agent: job.agent.clone(),
                    end: finished(),
                }),
                other => ready(other),
            }
        })
    });
    let ended = managed(&folder, opened(&scouts(40)), Arc::new(hands))
        .done
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.outcome, RunOutcome::Done);
}

#[tokio::test]
async fn a_large_content_that_cannot_be_kept_ends_the_run_as_a_storage_failure() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = Doing(|job: Job, _| -> BoxFuture<'static, Option<Input>> {
        Box::pin(async move {
            match &job {
                Job::RunAgent(job) => {
                    let text = Content::from("x".repeat(100_000));
                    let end = AttemptEnd::Finished { text };
                    Some(Input::AttemptEnded {
                        agent: job.agent.clone(),
                        end,
                    })
                }
                other => ready(other),
            }
        })
    });
    let running = managed(&folder, opened(&scouts(2)), Arc::new(hands));
    std::fs::write(folder.join("blobs"), "in the way").unwrap();
    let failed = running.done.await.unwrap().unwrap_err();
    assert!(matches!(failed, RunError::Blob(_)), "{failed}");
    let state = crate::store::read(&folder).unwrap();
    assert!(state.is_unfinished());
}

/// An agent that asks once, uses all it was granted, and ends.
async fn ask_once(agent: AgentId, mailbox: Mailbox) -> AttemptEnd {
    let step = StepNo(1);
    let reply = mailbox
        .send(Input::Admit(Ask {
            agent: agent.clone(),
            step,
            purpose: engine_core::request::Purpose::Work,
            hash: String::new(),
            bytes: 200,
            told: Vec::new(),
            max_output: Tokens(1_500),
        }))
        .await;
    let max_output = match reply {
        Ok(Reply::Granted { max_output }) => max_output,
        Ok(Reply::Refused { message }) => return AttemptEnd::Budget { message },
        other => panic!("{other:?}"),
    };
    let responded = AgentRecord::ModelResponded(ModelResponded {
        task: agent.task,
        attempt: agent.attempt,
        step,
        answer: Json::of("").unwrap(),
        usage: Some(Usage {
            input: Tokens(200),
            output: Tokens(max_output.0 - 500),
            cached: Tokens(0),
        }),
    });
    assert_eq!(
        mailbox.send(Input::Report(vec![responded])).await.unwrap(),
        Reply::Accepted
    );
    finished()
}

#[tokio::test]
async fn requests_wait_for_open_reservations_and_never_pass_the_cap() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = Doing(
        |job: Job, mailbox: Mailbox| -> BoxFuture<'static, Option<Input>> {
            Box::pin(async move {
                match &job {
                    Job::RunAgent(job) => {
                        let agent = job.agent.clone();
                        Some(Input::AttemptEnded {
                            agent: agent.clone(),
                            end: ask_once(agent, mailbox).await,
                        })
                    }
                    other => ready(other),
                }
            })
        },
    );
    let mut opened = opened(&scouts(12));
    opened.plan.budget.tokens = Some(Tokens(6_000));
    let ended = managed(&folder, opened, Arc::new(hands))
        .done
        .await
        .unwrap()
        .unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Budget, 4));
    let state = crate::store::read(&folder).unwrap();
    let served = state.tasks().filter(|(_, task)| task.succeeded()).count();
    // How much each is granted depends on who asks first; that four fit does not.
    assert!((4..12).contains(&served), "{served}");
    assert!(state.account().spent.total() <= Tokens(6_000));
    assert_eq!(state.account().reserved, Tokens(0));
}

#[tokio::test]
async fn trouble_of_the_place_stops_the_run_and_a_resume_owes_the_work_again() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = Doing(|_, mailbox: Mailbox| -> BoxFuture<'static, Option<Input>> {
        Box::pin(async move {
            let reason = "the disk is full".to_owned();
            mailbox.halt(StopRequest { reason, exit: 8 }).await;
            None
        })
    });
    let ended = managed(&folder, opened(&scouts(5)), Arc::new(hands))
        .done
        .await
        .unwrap()
        .unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Stopped, 8));
    assert_eq!(ended.reason.as_deref(), Some("the disk is full"));
    let hands = self::hands(|_, _| Box::pin(async { finished() }));
    let ended = resume(&folder, scouts(5), hands)
        .done
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.outcome, RunOutcome::Done);
}

#[tokio::test]
async fn the_wall_limit_stops_a_run_that_a_resume_can_finish() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let hands = Doing(|job: Job, _| -> BoxFuture<'static, Option<Input>> {
        Box::pin(async move {
            match job {
                Job::RunAgent(_) => std::future::pending().await,
                other => ready(&other),
            }
        })
    });
    let mut spec = opened(&scouts(2));
    spec.plan.limits.wall_secs = 0;
    let tasks = scouts(2);
    let running = start(Managed {
        store: Store::create(&folder, ledger::Filesystems::Any).unwrap(),
        beginning: Beginning::Open {
            opened: spec,
            tasks,
        },
        hands: Arc::new(hands),
        clock: Arc::new(SystemClock),
        control: Folders::default(),
    });
    let ended = running.done.await.unwrap().unwrap();
    assert_eq!((ended.outcome, ended.exit), (RunOutcome::Stopped, 1));
    assert_eq!(
        ended.reason.as_deref(),
        Some("the wall limit of 0 s is reached")
    );
    assert!(crate::store::read(&folder).unwrap().is_unfinished());
}
