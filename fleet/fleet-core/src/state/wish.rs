//! What a person asked for, in the fold: tasks that are tried again, and what was said to them. Never
//! decides whether it may be asked for: that is in `decide`.

use super::task::{Phase, Task, TaskIx};
use super::{FleetState, Urgency};
use crate::ids::CommitId;
use crate::record::{EndState, TaskRetried, TaskTold};
use engine_core::content::Content;
use engine_core::tool::Access;
use std::collections::BTreeSet;

impl FleetState {
    pub(super) fn on_told(&mut self, record: &TaskTold) {
        let ix = self.by_id[&record.task];
        self.tasks[ix.at()].told.push(record.text.clone());
    }

    pub(super) fn on_retried(&mut self, record: &TaskRetried) {
        let ix = self.by_id[&record.task];
        let task = &mut self.tasks[ix.at()];
        task.next_from = match task.phase {
            Phase::Ended(EndState::Cancelled) => None,
            _ => task.next_from.take().or_else(|| left_over(task)),
        };
        task.attempts_before = task.attempt_no().0;
        task.told.extend(record.instructions.clone());
        // Its own cap holds for each set of attempts.
        task.account.renew(task.spec.budget.tokens);
        self.reopen(ix, Urgency::Retry);
        self.revive_dependents(ix);
    }

    /// What was skipped because of this task waits for it again, or for what else is in its way.
    fn revive_dependents(&mut self, ix: TaskIx) {
        let skipped = |task: &Task| match &task.phase {
            Phase::Ended(end) => *end == EndState::Skipped,
            Phase::Closing(closing) => closing.state == EndState::Skipped,
            _ => false,
        };
        // By position: a task stands after what it needs.
        let mut next: BTreeSet<TaskIx> = self.tasks[ix.at()].dependents.iter().copied().collect();
        while let Some(dependent) = next.pop_first() {
            if skipped(&self.tasks[dependent.at()]) {
                self.reopen(dependent, Urgency::First);
                next.extend(self.tasks[dependent.at()].dependents.iter().copied());
            }
        }
    }

    /// A task that was over, or about to be, waits for what it needs and for a slot.
    fn reopen(&mut self, ix: TaskIx, urgency: Urgency) {
        let task = &mut self.tasks[ix.at()];
        if task.is_ended() {
            self.unended += 1;
        }
        task.ended_at = None;
        task.reason = None;
        task.blocked_by = None;
        self.await_needs(ix, urgency);
    }

    /// Notes which of what was said to the task a request holds.
    pub(super) fn note_heard(&mut self, ix: TaskIx, texts: &[Content]) {
        let task = &mut self.tasks[ix.at()];
        let Some(attempt) = &mut task.attempt else {
            return;
        };
        for text in texts {
            let next = task.told.get(attempt.heard);
            if matches!(text, Content::Inline(text) if next == Some(text)) {
                attempt.heard += 1;
            }
        }
    }
}

/// What the newest attempt left for a further one to go on from: its base and its newest tree.
fn left_over(task: &Task) -> Option<(CommitId, CommitId)> {
    let attempt = task.attempt.as_ref()?;
    let kept = attempt.commit.as_ref().or(attempt.snapshot.as_ref());
    let (own, _) = kept.filter(|_| task.access != Access::Read)?;
    Some((attempt.base.clone()?, own.clone()))
}

impl Task {
    /// What is asked for: the prompt, and what a person added until the newest attempt began.
    #[must_use]
    pub fn asked(&self) -> String {
        let known = self.attempt.as_ref().map_or(0, |a| a.told_before);
        let mut asked = self.spec.prompt.clone();
        for text in self.told.iter().take(known) {
            asked.push_str("\n\nThe person who ordered this adds:\n\n");
            asked.push_str(text);
        }
        asked
    }

    /// What was said to the newest attempt and stands in no request yet.
    #[must_use]
    pub fn unheard(&self) -> &[String] {
        let heard = self.attempt.as_ref().map_or(0, |attempt| attempt.heard);
        self.told.get(heard..).unwrap_or_default()
    }
}
