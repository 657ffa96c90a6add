//! The ports of an agent as fakes, and short ways to write answers.

use engine_core::conversation::check_conversation;
use engine_core::ids::{AgentId, AttemptNo, CallId, Tokens};
use engine_core::message::{
    Answer, Arguments, Block, Message, Stop, ToolCall, ToolResult, ToolStatus, Usage,
};
use engine_core::outcome::{AgentOutcome, Ending};
use engine_core::record::{AgentRecord, ModelRequested};
use engine_core::request::{ModelRequest, ModelResponse};
use engine_core::tool::{EffectClass, ToolSpec};
use engine_core::turn::{Snapshot, ToolEnd};
use engine_llm::errors::{Fault, Seen};
use engine_llm::{Model, ModelError, Prepared, StreamEvent};
use engine_runtime::{
    Admission, AgentSpec, Journal, JournalClosed, Ports, ReadyCall, Refusal, RequestIntent,
    SnapshotError, Snapshots, Tools, run_agent,
};
use futures_util::future::{BoxFuture, ready};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::{Barrier, Notify, mpsc};
use tokio_util::sync::CancellationToken;

pub(crate) fn agent(task: &str) -> AgentId {
    AgentId {
        task: task.parse().unwrap(),
        attempt: AttemptNo(1),
    }
}

pub(crate) fn says(text: &str) -> Does {
    let block = Block::Text {
        text: text.to_owned(),
    };
    answers(vec![block], Stop::End)
}

pub(crate) fn answers(blocks: Vec<Block>, stop: Stop) -> Does {
    Does::Answer(Answer { blocks, stop })
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> Block {
    Block::Call(ToolCall {
        id: CallId(id.to_owned()),
        name: tool.to_owned(),
        arguments: Arguments::Object(arguments.to_owned()),
    })
}

/// Calls of these (id, tool), with `{}`.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Does {
    let blocks = calls.iter().map(|(id, tool)| call(id, tool, "{}"));
    answers(blocks.collect(), Stop::Calls)
}

pub(crate) fn fails(fault: Fault) -> Does {
    Does::Fail(fault, Seen::Nothing)
}

/// What the model does at one request.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Answer(Answer),
    Fail(Fault, Seen),
    /// It never answers.
    Hang,
}

/// A model that plays a script, and refuses what a server would refuse.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    script: Mutex<VecDeque<Does>>,
    /// The conversation of each request that was sent.
    pub(crate) sent: Mutex<Vec<Vec<Message>>>,
    pub(crate) hashes: Mutex<Vec<String>>,
    /// Told whenever a request is sent.
    pub(crate) asked: Notify,
}

impl Model for ScriptedModel {
    fn prepare(&self, request: &ModelRequest<'_>) -> Prepared {
        assert_eq!(check_conversation(request.messages), Ok(()));
        let body = serde_json::to_string(request.messages).unwrap();
        Prepared::new(request, body)
    }

    fn ask<'a>(
        &'a self,
        prepared: &'a Prepared,
        _max_output: Tokens,
        on_event: &'a mut (dyn FnMut(StreamEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let messages = serde_json::from_str(prepared.body()).unwrap();
            self.sent.lock().unwrap().push(messages);
            self.hashes.lock().unwrap().push(prepared.hash.clone());
            let does = self.script.lock().unwrap().pop_front();
            self.asked.notify_one();
            match does.unwrap_or_else(|| says("done")) {
                Does::Hang => std::future::pending().await,
                Does::Fail(fault, seen) => Err(ModelError {
                    host: "test".to_owned(),
                    fault,
                    seen,
                }),
                Does::Answer(answer) => {
                    on_event(StreamEvent::Text(answer.text()));
                    let usage = Some(Usage {
                        input: Tokens(10),
                        output: Tokens(5),
                        cached: Tokens(0),
                    });
                    Ok(ModelResponse { answer, usage })
                }
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(ready(Ok(())))
    }
}

/// A journal in memory that can close after a number of lines.
#[derive(Default)]
pub(crate) struct MemoryJournal {
    pub(crate) lines: Mutex<Vec<Vec<AgentRecord>>>,
    pub(crate) closes_after: Option<usize>,
    pub(crate) refusal: Option<String>,
}

impl MemoryJournal {
    fn append(&self, line: Vec<AgentRecord>) -> Result<(), JournalClosed> {
        let mut lines = self.lines.lock().unwrap();
        if self.closes_after.is_some_and(|most| lines.len() >= most) {
            return Err(JournalClosed);
        }
        lines.push(line);
        Ok(())
    }

    pub(crate) fn records(&self) -> Vec<AgentRecord> {
        self.lines.lock().unwrap().concat()
    }
}

impl Journal for MemoryJournal {
    fn admit(&self, intent: RequestIntent) -> BoxFuture<'_, Result<Admission, JournalClosed>> {
        Box::pin(async move {
            if let Some(reason) = self.refusal.clone() {
                return Ok(Admission::Refused { reason });
            }
            let max_output = intent.max_output;
            self.append(vec![AgentRecord::ModelRequested(ModelRequested {
                task: intent.agent.task,
                attempt: intent.agent.attempt,
                step: intent.step,
                purpose: intent.purpose,
                hash: intent.hash,
                bytes: intent.bytes,
                told: intent.told.into_iter().map(Into::into).collect(),
                max_output,
                reserved: max_output,
            })])?;
            Ok(Admission::Granted { max_output })
        })
    }

    fn record(&self, records: Vec<AgentRecord>) -> BoxFuture<'_, Result<(), JournalClosed>> {
        Box::pin(async move { self.append(records) })
    }
}

/// Tools by name: `read` and `grep` read, `edit` edits, `shell` runs, `push` reaches out. What they
/// do stands in their arguments: `{"deny":1}`, `{"hang":1}` (until stopped), `{"deaf":1}` (not even
/// then), `{"meet":1}` (waits for others that do), `{"out":"text"}`.
pub(crate) struct FakeTools {
    catalog: Vec<ToolSpec>,
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
    pub(crate) started: Arc<Notify>,
    meeting: Arc<Barrier>,
}

impl FakeTools {
    fn new(meet: usize) -> Self {
        let spec = |(name, effect): (&str, EffectClass)| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: r#"{"type":"object"}"#.to_owned(),
            effect,
        };
        let catalog = [
            ("read", EffectClass::Reads),
            ("grep", EffectClass::Reads),
            ("edit", EffectClass::Edits),
            ("shell", EffectClass::Runs),
            ("push", EffectClass::Reaches),
        ];
        Self {
            catalog: catalog.map(spec).into(),
            ran: Arc::default(),
            started: Arc::default(),
            meeting: Arc::new(Barrier::new(meet)),
        }
    }
}

impl Tools for FakeTools {
    fn catalog(&self) -> &[ToolSpec] {
        &self.catalog
    }

    fn prepare(self: Arc<Self>, call: &ToolCall) -> Result<ReadyCall, Refusal> {
        let Arguments::Object(arguments) = &call.arguments else {
            panic!("invalid arguments reach no tool");
        };
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        if !arguments["deny"].is_null() {
            return Err(Refusal {
                text: "Denied by the person: not run.".to_owned(),
            });
        }
        let spec = self.catalog.iter().find(|spec| spec.name == call.name);
        let (ran, started) = (self.ran.clone(), self.started.clone());
        let meeting = self.meeting.clone();
        let id = call.id.to_string();
        Ok(ReadyCall {
            effect: spec.expect("only known tools are prepared").effect,
            summary: call.name.clone(),
            run: Box::new(move |stop| {
                Box::pin(async move {
                    ran.lock().unwrap().push(id.clone());
                    started.notify_one();
                    behave(&arguments, &stop, &meeting, id).await
                })
            }),
        })
    }
}

async fn behave(
    arguments: &serde_json::Value,
    stop: &CancellationToken,
    meeting: &Barrier,
    id: String,
) -> ToolEnd {
    if !arguments["deaf"].is_null() {
        std::future::pending::<()>().await;
    }
    if !arguments["hang"].is_null() {
        stop.cancelled().await;
        let output = "half".to_owned();
        return ToolEnd::Stopped { output };
    }
    if !arguments["meet"].is_null() {
        meeting.wait().await;
    }
    ToolEnd::Done {
        status: ToolStatus::Ok,
        text: arguments["out"].as_str().map_or(id, str::to_owned),
    }
}

/// Counts what was asked of it.
#[derive(Default)]
pub(crate) struct FakeSnapshots {
    pub(crate) taken: Mutex<u32>,
    pub(crate) restored: Mutex<u32>,
}

impl Snapshots for FakeSnapshots {
    fn take(&self) -> BoxFuture<'_, Result<Option<Snapshot>, SnapshotError>> {
        let mut taken = self.taken.lock().unwrap();
        *taken += 1;
        let (commit, tree) = (format!("c{taken}"), format!("t{taken}"));
        Box::pin(ready(Ok(Some(Snapshot { commit, tree }))))
    }

    fn restore(&self) -> BoxFuture<'_, Result<(), SnapshotError>> {
        *self.restored.lock().unwrap() += 1;
        Box::pin(ready(Ok(())))
    }
}

/// One agent with its fakes. The journal survives a run, so that another can go on from it.
pub(crate) struct Bench {
    pub(crate) spec: AgentSpec,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) tools: Arc<FakeTools>,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) snapshots: Arc<FakeSnapshots>,
    pub(crate) cancel: CancellationToken,
}

impl Bench {
    pub(crate) fn new(script: impl IntoIterator<Item = Does>) -> Self {
        Self {
            spec: AgentSpec {
                agent: agent("t"),
                model: "m".to_owned(),
                system: "be good".to_owned(),
                first: "go".to_owned(),
                effort: None,
                max_output: Tokens(100),
                context: None,
                ending: Ending::Answer,
                steps: 200,
                seed: 7,
            },
            model: Arc::new(ScriptedModel {
                script: Mutex::new(script.into_iter().collect()),
                ..ScriptedModel::default()
            }),
            tools: Arc::new(FakeTools::new(3)),
            journal: Arc::default(),
            snapshots: Arc::default(),
            cancel: CancellationToken::new(),
        }
    }

    /// Runs it over what its journal holds, told these texts.
    pub(crate) fn run(
        &self,
        told: &[&str],
    ) -> impl Future<Output = Result<AgentOutcome, JournalClosed>> + Send + use<> {
        self.run_with(self.model.clone(), self.tools.clone(), told)
    }

    /// Runs it with another model and other tools.
    pub(crate) fn run_with(
        &self,
        model: Arc<dyn Model>,
        tools: Arc<dyn Tools>,
        told: &[&str],
    ) -> impl Future<Output = Result<AgentOutcome, JournalClosed>> + Send + use<> {
        let (sender, inbox) = mpsc::unbounded_channel();
        for text in told {
            sender.send((*text).to_owned()).unwrap();
        }
        let ports = Ports {
            model,
            tools,
            journal: self.journal.clone(),
            snapshots: self.snapshots.clone(),
            inbox,
            observer: None,
        };
        let history = self.journal.records();
        run_agent(self.spec.clone(), history, ports, self.cancel.clone())
    }

    pub(crate) fn requests(&self) -> usize {
        self.model.sent.lock().unwrap().len()
    }

    /// The conversation of the last request.
    pub(crate) fn last_sent(&self) -> Vec<Message> {
        let sent = self.model.sent.lock().unwrap();
        sent.last().expect("a request was sent").clone()
    }

    pub(crate) fn ran(&self) -> Vec<String> {
        self.tools.ran.lock().unwrap().clone()
    }

    /// Ids and texts of all results of the last request.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let results = self.last_sent().into_iter().filter_map(|m| match m {
            Message::Results { results } => Some(results),
            Message::User { .. } | Message::Model(_) => None,
        });
        let pair = |result: ToolResult| (result.call.0, result.text);
        results.flatten().map(pair).collect()
    }
}

pub(crate) fn finished(text: &str) -> Result<AgentOutcome, JournalClosed> {
    Ok(AgentOutcome::Finished {
        text: text.to_owned(),
    })
}

pub(crate) fn pairs(results: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(id, text): &(&str, &str)| ((*id).to_owned(), (*text).to_owned());
    results.iter().map(own).collect()
}
