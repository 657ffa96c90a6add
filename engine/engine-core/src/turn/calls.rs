//! The part of the turn machine that deals with the calls of an answer: which are refused, which
//! run beside each other, and what becomes of those that a crash or a stop cut off.

use super::io::{Preparation, Snapshot, ToolEnd, TurnEffect};
use super::words;
use super::{Phase, Turn};
use crate::effects::{AfterCrash, Keep, Order};
use crate::ids::CallId;
use crate::message::{Arguments, Stop, ToolCall, ToolStatus};
use crate::outcome::{AgentOutcome, FailureKind};
use crate::record::{AgentRecord, ToolFinished, ToolStarted, VerdictGiven, WorkspaceSnapshotted};
use crate::tool::EffectClass;
use crate::transcript::{CallState, OpenCall, Stage, or_placeholder};
use crate::verdict::{VERDICT_TOOL, read_verdict};

/// Calls that run beside each other, or one that runs alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    /// In the order asked; the end once it is known.
    calls: Vec<(CallId, Option<ToolEnd>)>,
    keep: Keep,
}

impl Batch {
    pub(super) fn awaits(&self, id: &CallId) -> bool {
        self.calls
            .iter()
            .any(|(call, end)| call == id && end.is_none())
    }

    fn take(&mut self, id: &CallId, end: ToolEnd) {
        if let Some((_, slot)) = self.calls.iter_mut().find(|(call, _)| call == id) {
            *slot = Some(end);
        }
    }

    fn is_done(&self) -> bool {
        self.calls.iter().all(|(_, end)| end.is_some())
    }
}

impl Turn {
    /// What is owed while calls are open.
    pub(super) fn go_on_calling(&mut self) -> Vec<TurnEffect> {
        for (id, text) in self.refusals() {
            self.note_finished(&id, ToolStatus::Error, &text);
        }
        if let Some(effects) = self.recover_lost() {
            return effects;
        }
        let Some(next) = self.unfinished().next().cloned() else {
            return self.go_on();
        };
        if next.call.name == VERDICT_TOOL {
            return self.judge(&next.call);
        }
        let calls: Vec<ToolCall> = match self.effect_of(&next.call).order() {
            Order::Alone => vec![next.call],
            Order::Parallel => self
                .unfinished()
                .map(|open| &open.call)
                .take_while(|call| self.runs_beside(call))
                .cloned()
                .collect(),
        };
        self.phase = Phase::Preparing(calls.iter().map(|call| call.id.clone()).collect());
        vec![TurnEffect::Prepare(calls)]
    }

    /// Calls that nothing is done about, and what the model reads instead of a result.
    fn refusals(&self) -> Vec<(CallId, String)> {
        let Stage::Calling { calls, stop } = self.transcript.stage() else {
            return Vec::new();
        };
        calls
            .iter()
            .filter(|open| open.state == CallState::Asked)
            .filter_map(|open| {
                let text = self.refusal(&open.call, *stop)?;
                Some((open.call.id.clone(), text))
            })
            .collect()
    }

    fn refusal(&self, call: &ToolCall, stop: Stop) -> Option<String> {
        match stop {
            Stop::OutputLimit => return Some(words::CUT.to_owned()),
            Stop::Filtered => return Some(words::WITHHELD.to_owned()),
            Stop::End | Stop::Calls | Stop::Paused => {}
        }
        let arguments = match &call.arguments {
            Arguments::Object(text) => text,
            Arguments::Invalid { error, .. } => return Some(words::invalid_arguments(error)),
        };
        let names: Vec<&str> = self.catalog().iter().map(|spec| &*spec.name).collect();
        if !names.contains(&call.name.as_str()) {
            return Some(words::unknown_tool(&call.name, &names));
        }
        if call.name == VERDICT_TOOL {
            return read_verdict(arguments).err().map(|error| error.to_string());
        }
        None
    }

    /// Deals with the calls that ran when the process before this one died, by their class. `None`
    /// when there are none left, or only such as are simply run again.
    fn recover_lost(&mut self) -> Option<Vec<TurnEffect>> {
        let put_back = |class: EffectClass| class.after_crash() == AfterCrash::RestoreThenAgain;
        if self.lost.iter().any(|(_, class)| put_back(*class)) {
            self.lost.retain(|(_, class)| !put_back(*class));
            self.phase = Phase::Restoring;
            return Some(self.then(TurnEffect::Restore));
        }
        let uncertain = ToolEnd::Done {
            status: ToolStatus::Error,
            text: words::UNCERTAIN.to_owned(),
        };
        let calls: Vec<(CallId, Option<ToolEnd>)> = std::mem::take(&mut self.lost)
            .into_iter()
            .filter(|(_, class)| class.after_crash() == AfterCrash::Uncertain)
            .map(|(id, _)| (id, Some(uncertain.clone())))
            .collect();
        if calls.is_empty() {
            return None;
        }
        let keep = Keep::Snapshot;
        Some(self.settle(Batch { calls, keep }))
    }

    fn unfinished(&self) -> impl Iterator<Item = &OpenCall> {
        let calls: &[OpenCall] = match self.transcript.stage() {
            Stage::Calling { calls, .. } => calls,
            _ => &[],
        };
        calls.iter().filter(|open| !open.is_finished())
    }

    fn effect_of(&self, call: &ToolCall) -> EffectClass {
        let spec = self.catalog().iter().find(|spec| spec.name == call.name);
        spec.map_or(EffectClass::Reaches, |spec| spec.effect)
    }

    fn runs_beside(&self, call: &ToolCall) -> bool {
        call.name != VERDICT_TOOL && self.effect_of(call).order() == Order::Parallel
    }

    pub(super) fn prepared(
        &mut self,
        ids: Vec<CallId>,
        found: Vec<Preparation>,
    ) -> Vec<TurnEffect> {
        let mut batch = Batch {
            calls: Vec::new(),
            keep: Keep::Nothing,
        };
        for (id, preparation) in ids.into_iter().zip(found) {
            match preparation {
                Preparation::Refused { text } => {
                    self.note_finished(&id, ToolStatus::Error, &text);
                }
                Preparation::Ready { effect, summary } => {
                    self.note_started(&id, effect, summary);
                    batch.calls.push((id, None));
                    if effect.keep() == Keep::Snapshot {
                        batch.keep = Keep::Snapshot;
                    }
                }
            }
        }
        if batch.calls.is_empty() {
            return self.go_on();
        }
        let run = batch.calls.iter().map(|(id, _)| id.clone()).collect();
        self.phase = Phase::Running(batch);
        self.then(TurnEffect::Run(run))
    }

    pub(super) fn tool_finished(
        &mut self,
        mut batch: Batch,
        call: &CallId,
        end: ToolEnd,
    ) -> Vec<TurnEffect> {
        batch.take(call, end);
        if batch.is_done() {
            return self.settle(batch);
        }
        self.phase = Phase::Running(batch);
        Vec::new()
    }

    /// All calls of a batch have ended: their outcome is recorded together with the workspace.
    fn settle(&mut self, batch: Batch) -> Vec<TurnEffect> {
        match batch.keep {
            Keep::Snapshot => {
                self.phase = Phase::Snapshotting(batch);
                vec![TurnEffect::Snapshot]
            }
            Keep::Nothing => {
                self.note_ends(batch);
                self.go_on()
            }
        }
    }

    pub(super) fn snapshotted(
        &mut self,
        batch: Batch,
        taken: Result<Option<Snapshot>, String>,
    ) -> Vec<TurnEffect> {
        self.note_ends(batch);
        match taken {
            Err(message) => self.fail(FailureKind::Workspace, message),
            Ok(None) => self.go_on(),
            Ok(Some(Snapshot { commit, tree })) => {
                let agent = self.transcript.agent();
                self.note(AgentRecord::WorkspaceSnapshotted(WorkspaceSnapshotted {
                    task: agent.task.clone(),
                    attempt: agent.attempt,
                    commit,
                    tree,
                }));
                self.go_on()
            }
        }
    }

    /// A valid verdict, its turn having come: what was asked for after it is not run.
    fn judge(&mut self, call: &ToolCall) -> Vec<TurnEffect> {
        let Arguments::Object(arguments) = &call.arguments else {
            unreachable!("invalid arguments were refused before");
        };
        let judgement = read_verdict(arguments).expect("an invalid verdict was refused before");
        self.note_finished(&call.id, ToolStatus::Ok, words::JUDGED);
        for id in self.unfinished_ids() {
            self.note_finished(&id, ToolStatus::Error, words::AFTER_VERDICT);
        }
        let agent = self.transcript.agent();
        self.note(AgentRecord::VerdictGiven(VerdictGiven {
            task: agent.task.clone(),
            attempt: agent.attempt,
            verdict: judgement.verdict,
            findings: judgement.findings.into(),
        }));
        self.go_on()
    }

    /// Gives each open call a result, so that the conversation can go on later.
    pub(super) fn stop(&mut self) -> Vec<TurnEffect> {
        let open: Vec<(CallId, String)> = self
            .unfinished()
            .map(|open| {
                let text = match open.state {
                    CallState::Started(_) => words::stopped("", Keep::Snapshot),
                    _ => words::NOT_STARTED.to_owned(),
                };
                (open.call.id.clone(), text)
            })
            .collect();
        for (id, text) in open {
            self.note_finished(&id, ToolStatus::Error, &text);
        }
        self.finish(AgentOutcome::Interrupted)
    }

    fn unfinished_ids(&self) -> Vec<CallId> {
        self.unfinished().map(|open| open.call.id.clone()).collect()
    }

    fn note_ends(&mut self, batch: Batch) {
        for (id, end) in batch.calls {
            match end.expect("a batch is settled when all its calls have ended") {
                ToolEnd::Done { status, text } => self.note_finished(&id, status, &text),
                ToolEnd::Stopped { output } => {
                    let text = words::stopped(&output, batch.keep);
                    self.note_finished(&id, ToolStatus::Error, &text);
                }
            }
        }
    }

    fn note_started(&mut self, id: &CallId, effect: EffectClass, summary: String) {
        let agent = self.transcript.agent();
        self.note(AgentRecord::ToolStarted(ToolStarted {
            task: agent.task.clone(),
            attempt: agent.attempt,
            call: id.clone(),
            tool: self.name_of(id),
            effect,
            summary,
        }));
    }

    fn note_finished(&mut self, id: &CallId, status: ToolStatus, text: &str) {
        let agent = self.transcript.agent();
        self.note(AgentRecord::ToolFinished(ToolFinished {
            task: agent.task.clone(),
            attempt: agent.attempt,
            call: id.clone(),
            tool: self.name_of(id),
            status,
            text: or_placeholder(text).into(),
        }));
    }

    fn name_of(&self, id: &CallId) -> String {
        let open = self.unfinished().find(|open| open.call.id == *id);
        open.map_or_else(String::new, |open| open.call.name.clone())
    }
}
