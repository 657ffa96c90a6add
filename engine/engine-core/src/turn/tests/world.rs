//! A world that carries out the machine's effects: a scripted model, tools that write into a list
//! of lines, a ledger that is a list of records, and a place where the process can die.

use crate::context::{Window, bytes_of};
use crate::conversation::check_conversation;
use crate::failure::{FailureClass, ModelFailure};
use crate::fixtures::{agent, catalog, requested, says};
use crate::ids::{CallId, Tokens};
use crate::message::{Answer, Arguments, Block, Message, ToolCall, ToolResult, ToolStatus};
use crate::outcome::{AgentOutcome, Ending};
use crate::record::{AgentRecord, Billed};
use crate::request::{ModelResponse, Purpose};
use crate::tool::EffectClass;
use crate::transcript::Transcript;
use crate::turn::{Preparation, Snapshot, ToolEnd, Turn, TurnEffect, TurnInput, TurnRules};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What the model does at one request.
#[derive(Debug, Clone)]
pub(super) enum Does {
    Answer(Answer),
    Fail(FailureClass),
}

impl From<Answer> for Does {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// What ends a stretch of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The attempt ends by itself.
    Lives,
    /// The process dies before it carries out its n-th effect.
    Dies(usize),
    /// The agent is told to stop in place of its n-th effect.
    IsStopped(usize),
}

/// Everything outside the machine. Survives the machine.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) rules: TurnRules,
    /// One entry for each request that has an outcome; then it says `done`.
    script: Vec<Does>,
    /// What is durable.
    pub(super) ledger: Vec<AgentRecord>,
    /// What was sent, request by request.
    pub(super) sent: Vec<Vec<Message>>,
    /// Calls that ran, in the order in which they were begun.
    pub(super) ran: Vec<String>,
    /// The calls of each batch that ran side by side.
    pub(super) batches: Vec<Vec<String>>,
    pub(super) waits: Vec<Duration>,
    /// The workspace.
    pub(super) tree: Vec<String>,
    snapshots: Vec<Vec<String>>,
    /// What the admission says; `None`: granted.
    pub(super) refusal: Option<String>,
    /// Calls that end only because they are stopped.
    pub(super) endless: Vec<String>,
    pub(super) broken_disk: bool,
    /// Bytes of a conversation from which on the model refuses it.
    pub(super) too_large: Option<u64>,
    /// What it refused so.
    pub(super) refused: Vec<Vec<Message>>,
    /// What it does when it is asked for a summary, each time.
    pub(super) summary: Does,
    /// Bytes of what a call puts out.
    pub(super) output: usize,
    /// Whether the admission refuses summaries.
    pub(super) refuse_summaries: bool,
    /// What each request was for.
    pub(super) purposes: Vec<Purpose>,
}

impl World {
    pub(super) fn new<D: Into<Does>>(script: impl IntoIterator<Item = D>) -> Self {
        Self {
            rules: TurnRules {
                first: "go".to_owned(),
                tools: catalog(),
                ending: Ending::Answer,
                steps: 200,
                window: Window {
                    context: None,
                    max_output: Tokens(100),
                    fixed_bytes: 0,
                },
                seed: 7,
            },
            script: script.into_iter().map(Into::into).collect(),
            ledger: Vec::new(),
            sent: Vec::new(),
            ran: Vec::new(),
            batches: Vec::new(),
            waits: Vec::new(),
            tree: Vec::new(),
            snapshots: Vec::new(),
            refusal: None,
            endless: Vec::new(),
            broken_disk: false,
            too_large: None,
            refused: Vec::new(),
            summary: says("all is well").into(),
            output: 0,
            refuse_summaries: false,
            purposes: Vec::new(),
        }
    }

    pub(super) fn reviewing(mut self) -> Self {
        self.rules.ending = Ending::Verdict;
        self
    }

    /// A machine over what is durable.
    pub(super) fn resume(&self) -> Turn {
        let transcript = Transcript::replay(agent(), &self.ledger).expect("its own records");
        Turn::new(self.rules.clone(), transcript)
    }

    /// Lives to the end.
    pub(super) fn run(&mut self) -> (AgentOutcome, Turn) {
        self.live(Fate::Lives, &[]).expect("it lives to its end")
    }

    /// Begins or goes on, told these texts first. `None` when the process died.
    pub(super) fn live(&mut self, fate: Fate, told: &[&str]) -> Option<(AgentOutcome, Turn)> {
        let mut turn = self.resume();
        for text in told {
            give(&mut turn, TurnInput::Told((*text).to_owned()));
        }
        let mut owed: VecDeque<TurnEffect> = give(&mut turn, TurnInput::Start).into();
        for done in 0.. {
            if fate == Fate::Dies(done) {
                self.die(owed.pop_front());
                return None;
            }
            let effect = owed.pop_front().expect("a living machine owes something");
            let replaceable = !matches!(effect, TurnEffect::Record(_) | TurnEffect::Finish(_));
            let stopped = matches!(fate, Fate::IsStopped(at) if at <= done) && replaceable;
            if stopped {
                owed.extend(give(&mut turn, TurnInput::Cancelled));
            }
            if !stopped || owed.is_empty() {
                match effect {
                    TurnEffect::Finish(outcome) => return Some((outcome, turn)),
                    effect => self.carry_out(effect, &mut turn, &mut owed),
                }
            }
        }
        None
    }

    /// A change may be half done; a line is in the ledger or not.
    fn die(&mut self, effect: Option<TurnEffect>) {
        let is_overflow = |record: &AgentRecord| match record {
            AgentRecord::ModelFailed(failed) => failed.kind == "context-too-large",
            _ => false,
        };
        if let Some(TurnEffect::Record(records)) = &effect
            && records.iter().any(is_overflow)
        {
            // Nobody will know of this refusal.
            self.refused.pop();
        }
        let Some(TurnEffect::Run(ids)) = effect else {
            return;
        };
        let changes = self.ledger.iter().any(|record| match record {
            AgentRecord::ToolStarted(started) => {
                started.call == ids[0] && started.effect != EffectClass::Reads
            }
            _ => false,
        });
        if changes {
            self.tree.push(format!("half {}", ids[0]));
        }
    }

    fn carry_out(&mut self, effect: TurnEffect, turn: &mut Turn, owed: &mut VecDeque<TurnEffect>) {
        let inputs = match effect {
            TurnEffect::Record(records) => {
                assert!(!records.is_empty(), "an empty line");
                self.ledger.extend(records);
                vec![]
            }
            TurnEffect::Admit {
                step,
                told,
                purpose,
                ..
            } => vec![self.admit((step.0, purpose), &told, turn)],
            TurnEffect::Ask { .. } => vec![self.ask()],
            TurnEffect::Wait(wait) => {
                self.waits.push(wait);
                vec![TurnInput::Waited]
            }
            TurnEffect::Prepare(calls) => {
                vec![TurnInput::Prepared(calls.iter().map(prepare).collect())]
            }
            TurnEffect::Run(ids) => self.run_calls(&ids, turn),
            TurnEffect::Snapshot => vec![TurnInput::Snapshotted(self.snapshot())],
            TurnEffect::Restore => {
                self.restore();
                vec![TurnInput::Restored(Ok(()))]
            }
            TurnEffect::Finish(_) => unreachable!("handled by the caller"),
        };
        for input in inputs {
            assert!(owed.is_empty(), "an effect that waits for input is last");
            owed.extend(give(turn, input));
        }
    }

    fn admit(
        &mut self,
        (step, purpose): (u32, Purpose),
        told: &[String],
        turn: &Turn,
    ) -> TurnInput {
        if let Some(reason) = self.refusal.clone() {
            return TurnInput::Refused { reason };
        }
        if self.refuse_summaries && !purpose.is_work() {
            let reason = "no tokens".to_owned();
            return TurnInput::Refused { reason };
        }
        assert_eq!(check_conversation(turn.messages()), Ok(()));
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let mut record = requested(step, &told);
        if let AgentRecord::ModelRequested(r) = &mut record {
            r.purpose = purpose;
        }
        self.ledger.push(record);
        self.purposes.push(purpose);
        self.sent.push(turn.messages().to_vec());
        TurnInput::Admitted {
            max_output: Tokens(100),
        }
    }

    /// Outcomes of requests for work, without those that were too large.
    fn outcomes(&self) -> usize {
        let summaries: Vec<u32> = self
            .ledger
            .iter()
            .filter_map(|record| match record {
                AgentRecord::ModelRequested(r) if !r.purpose.is_work() => Some(r.step.0),
                _ => None,
            })
            .collect();
        let is_outcome = |record: &&AgentRecord| match record {
            AgentRecord::ModelResponded(r) => !summaries.contains(&r.step.0),
            AgentRecord::ModelFailed(r) => {
                !["interrupted", "context-too-large"].contains(&&*r.kind)
                    && !summaries.contains(&r.step.0)
            }
            _ => false,
        };
        self.ledger.iter().filter(is_outcome).count()
    }

    fn ask(&mut self) -> TurnInput {
        let sent = self.sent.last().expect("a request was admitted");
        let summing = self.purposes.last().is_some_and(|last| !last.is_work());
        let does = if self.too_large.is_some_and(|most| bytes_of(sent) > most) {
            self.refused.push(sent.clone());
            Some(Does::Fail(FailureClass::Overflow))
        } else if summing {
            Some(self.summary.clone())
        } else {
            self.script.get(self.outcomes()).cloned()
        };
        match does.unwrap_or_else(|| says("done").into()) {
            Does::Answer(answer) => {
                let usage = None;
                TurnInput::Answered(ModelResponse { answer, usage })
            }
            Does::Fail(class) => TurnInput::ModelFailed(ModelFailure {
                class,
                kind: "scripted".to_owned(),
                message: "no".to_owned(),
                billed: Billed::Nothing,
            }),
        }
    }

    /// Runs side by side: the last ends first.
    fn run_calls(&mut self, ids: &[CallId], turn: &Turn) -> Vec<TurnInput> {
        let names: BTreeMap<&CallId, &str> = turn.messages().iter().flat_map(calls_of).collect();
        self.batches
            .push(ids.iter().map(ToString::to_string).collect());
        let mut inputs = Vec::new();
        for id in ids {
            self.ran.push(id.to_string());
            if effect_of(names[id]) != EffectClass::Reads {
                self.tree.push(id.to_string());
            }
            let end = if self.endless.contains(&id.to_string()) {
                let output = "half".to_owned();
                ToolEnd::Stopped { output }
            } else {
                let status = ToolStatus::Ok;
                let text = format!("{id} ran{}", "x".repeat(self.output));
                ToolEnd::Done { status, text }
            };
            let call = id.clone();
            inputs.insert(0, TurnInput::ToolFinished { call, end });
        }
        inputs
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, String> {
        if self.broken_disk {
            return Err("no space".to_owned());
        }
        self.snapshots.push(self.tree.clone());
        let commit = self.snapshots.len().to_string();
        let tree = commit.clone();
        Ok(Some(Snapshot { commit, tree }))
    }

    /// To the last recorded snapshot, whatever was kept after it.
    fn restore(&mut self) {
        let recorded = self.ledger.iter().rev().find_map(|record| match record {
            AgentRecord::WorkspaceSnapshotted(kept) => kept.commit.parse::<usize>().ok(),
            _ => None,
        });
        self.tree = recorded.map_or_else(Vec::new, |at| self.snapshots[at - 1].clone());
    }

    /// The results of the conversation, in their order.
    pub(super) fn results(turn: &Turn) -> Vec<ToolResult> {
        let results = turn.messages().iter().filter_map(|message| match message {
            Message::Results { results } => Some(results.clone()),
            Message::User { .. } | Message::Model(_) => None,
        });
        results.flatten().collect()
    }
}

pub(super) fn give(turn: &mut Turn, input: TurnInput) -> Vec<TurnEffect> {
    turn.handle(input).expect("a legal input")
}

fn effect_of(tool: &str) -> EffectClass {
    let spec = catalog().into_iter().find(|spec| spec.name == tool);
    spec.expect("only known tools run").effect
}

/// A call whose arguments hold `deny` is refused.
fn prepare(call: &ToolCall) -> Preparation {
    let deny = matches!(&call.arguments, Arguments::Object(text) if text.contains("deny"));
    if deny {
        return Preparation::Refused {
            text: "Denied by the person: not run.".to_owned(),
        };
    }
    Preparation::Ready {
        effect: effect_of(&call.name),
        summary: call.name.clone(),
    }
}

fn calls_of(message: &Message) -> Vec<(&CallId, &str)> {
    let Message::Model(Answer { blocks, .. }) = message else {
        return Vec::new();
    };
    let calls = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some((&call.id, call.name.as_str())),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    });
    calls.collect()
}
