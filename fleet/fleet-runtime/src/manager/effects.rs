//! The effects under way: which are owed but not yet announced, which run, which are to end. Never
//! decides what is owed.

use super::job::{AgentJob, Job, job_of};
use crate::hands::Hands;
use crate::history::Histories;
use crate::mailbox::Mailbox;
use engine_core::ids::AgentId;
use fleet_core::decide::Input;
use fleet_core::owed::Effect;
use fleet_core::record::AttemptEnd;
use fleet_core::state::{FleetState, TaskIx};
use futures_util::FutureExt;
use ledger::Seq;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

/// Effects of one manager.
pub(super) struct Effects {
    hands: Arc<dyn Hands>,
    mailbox: Mailbox,
    under_way: HashMap<TaskIx, UnderWay>,
    /// Effects whose announcing line is not durable yet, in line order.
    announced: VecDeque<(Seq, Effect, Job)>,
    /// Effects that are no longer owed and still have to end.
    leaving: HashMap<Effect, UnderWay>,
    finished_tx: mpsc::UnboundedSender<Effect>,
    finished_rx: mpsc::UnboundedReceiver<Effect>,
}

struct UnderWay {
    effect: Effect,
    cancel: CancellationToken,
    /// `None` until its announcement is durable.
    running: Option<AbortHandle>,
    /// Where an agent hears what a person says.
    ear: Option<mpsc::UnboundedSender<String>>,
}

impl Effects {
    pub(super) fn new(hands: Arc<dyn Hands>, mailbox: Mailbox) -> Self {
        let (finished_tx, finished_rx) = mpsc::unbounded_channel();
        Self {
            hands,
            mailbox,
            under_way: HashMap::new(),
            announced: VecDeque::new(),
            leaving: HashMap::new(),
            finished_tx,
            finished_rx,
        }
    }

    /// Notes everything the state owes; what is new waits for `announced_by` to be durable.
    pub(super) fn owe(&mut self, state: &FleetState, histories: &mut Histories, announced_by: Seq) {
        for effect in state.owed() {
            let known = self
                .under_way
                .get(&effect.task)
                .is_some_and(|known| known.effect == effect);
            if known {
                continue;
            }
            let Some(mut job) = job_of(state, effect, histories) else {
                tracing::error!(?effect, "an owed effect lacks what it takes");
                continue;
            };
            let ear = match &mut job {
                Job::RunAgent(job) => Some(ear_of(job, state.task(effect.task).unheard())),
                _ => None,
            };
            self.announced.push_back((announced_by, effect, job));
            let next = UnderWay {
                ear,
                effect,
                cancel: CancellationToken::new(),
                running: None,
            };
            if let Some(before) = self.under_way.insert(effect.task, next) {
                self.leave(before);
            }
        }
        let gone: Vec<TaskIx> = self
            .under_way
            .values()
            .filter(|known| state.owed_to(known.effect.task) != Some(known.effect))
            .map(|known| known.effect.task)
            .collect();
        for task in gone {
            if let Some(before) = self.under_way.remove(&task) {
                self.leave(before);
            }
        }
    }

    /// Says something to the agent of a task. One that is not at work yet finds it in the state.
    pub(super) fn tell(&self, task: TaskIx, text: String) {
        if let Some(ear) = self
            .under_way
            .get(&task)
            .and_then(|known| known.ear.as_ref())
        {
            // An agent that has just ended hears nothing any more.
            let _ = ear.send(text);
        }
    }

    fn leave(&mut self, before: UnderWay) {
        before.cancel.cancel();
        if before.running.is_some() {
            self.leaving.insert(before.effect, before);
        }
    }

    /// Starts the effects whose announcement is durable.
    pub(super) fn start_durable(&mut self, durable: Seq) {
        while self
            .announced
            .front()
            .is_some_and(|(seq, ..)| *seq <= durable)
        {
            let Some((_, effect, job)) = self.announced.pop_front() else {
                return;
            };
            let Some(known) = self.under_way.get_mut(&effect.task) else {
                continue;
            };
            if known.effect != effect || known.cancel.is_cancelled() {
                continue;
            }
            tracing::debug!(agent = %job.agent(), kind = ?effect.kind, "starting");
            let agent = job.agent().clone();
            let is_agent = matches!(job, Job::RunAgent(_));
            let work = self
                .hands
                .perform(job, self.mailbox.clone(), known.cancel.clone());
            let (mailbox, finished) = (self.mailbox.clone(), self.finished_tx.clone());
            let task = tokio::spawn(async move {
                let outcome = AssertUnwindSafe(work).catch_unwind().await;
                let input = outcome.unwrap_or_else(|_| Some(panicked(agent, is_agent)));
                if let Some(input) = input {
                    // A late outcome was logged by the manager; a manager that is gone needs none.
                    let _ = mailbox.send(input).await;
                }
                let _ = finished.send(effect);
            });
            known.running = Some(task.abort_handle());
        }
    }

    /// The next effect that came to its end.
    pub(super) async fn finished(&mut self) -> Option<Effect> {
        self.finished_rx.recv().await
    }

    pub(super) fn forget(&mut self, effect: Effect) {
        if self.leaving.remove(&effect).is_none()
            && self
                .under_way
                .get(&effect.task)
                .is_some_and(|known| known.effect == effect)
        {
            self.under_way.remove(&effect.task);
        }
    }

    /// Asks everything that runs to end, and forgets what was not started.
    pub(super) fn cancel_all(&mut self) {
        self.announced.clear();
        self.under_way.retain(|_, known| known.running.is_some());
        for known in self.under_way.values().chain(self.leaving.values()) {
            known.cancel.cancel();
        }
    }

    /// Ends everything at once.
    pub(super) fn abort_all(&mut self) {
        self.announced.clear();
        for known in self.under_way.values().chain(self.leaving.values()) {
            known.cancel.cancel();
            if let Some(running) = &known.running {
                running.abort();
            }
        }
        self.under_way.clear();
        self.leaving.clear();
    }

    /// Lets the hands take away what only this run needed.
    pub(super) async fn finish(&self) {
        self.hands.finish().await;
    }

    /// True when nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.leaving.is_empty() && self.under_way.values().all(|known| known.running.is_none())
    }
}

/// Opens the ear of an agent; what it has not heard yet lies in it already.
fn ear_of(job: &mut AgentJob, unheard: &[String]) -> mpsc::UnboundedSender<String> {
    let (ear, inbox) = mpsc::unbounded_channel();
    job.inbox = inbox;
    for text in unheard {
        let _ = ear.send(text.clone());
    }
    ear
}

/// A panic in one effect fails that attempt or task, never the run.
fn panicked(agent: AgentId, is_agent: bool) -> Input {
    let message = "internal: it panicked; the log has the place".to_owned();
    if is_agent {
        let end = AttemptEnd::Failed {
            kind: "panic".to_owned(),
            message,
        };
        Input::AttemptEnded { agent, end }
    } else {
        Input::EffectFailed {
            task: agent.task,
            message,
        }
    }
}
