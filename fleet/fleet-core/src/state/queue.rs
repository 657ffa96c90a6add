//! Tasks that may start, in order, by role. Never starts one.

use super::task::TaskIx;
use engine_core::ids::RoleName;
use std::collections::{BTreeMap, BTreeSet};

/// Which of two startable tasks goes first: what is already begun before what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// An interrupted attempt.
    Resume,
    /// A review: it frees work that waits to land.
    Review,
    /// A further attempt.
    Retry,
    /// A first attempt.
    First,
}

/// Startable tasks and the slots in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadyQueue {
    by_role: BTreeMap<RoleName, BTreeSet<(Urgency, TaskIx)>>,
    live_by_role: BTreeMap<RoleName, u32>,
    live: u32,
}

impl ReadyQueue {
    pub(crate) fn push(&mut self, role: &RoleName, urgency: Urgency, task: TaskIx) {
        self.by_role
            .entry(role.clone())
            .or_default()
            .insert((urgency, task));
    }

    pub(crate) fn remove(&mut self, role: &RoleName, task: TaskIx) {
        if let Some(set) = self.by_role.get_mut(role) {
            set.retain(|(_, waiting)| *waiting != task);
        }
    }

    pub(crate) fn occupy(&mut self, role: &RoleName) {
        self.live += 1;
        *self.live_by_role.entry(role.clone()).or_default() += 1;
    }

    pub(crate) fn free(&mut self, role: &RoleName) {
        self.live = self.live.saturating_sub(1);
        if let Some(live) = self.live_by_role.get_mut(role) {
            *live = live.saturating_sub(1);
        }
    }

    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// The tasks that may start now: at most as many as slots are free, most urgent first.
    pub(crate) fn startable(
        &self,
        slots: u32,
        cap: impl Fn(&RoleName) -> Option<u32>,
    ) -> Vec<TaskIx> {
        let mut free = slots.saturating_sub(self.live) as usize;
        let mut candidates: Vec<(Urgency, TaskIx)> = Vec::new();
        for (role, waiting) in &self.by_role {
            let live = self.live_by_role.get(role).copied().unwrap_or(0);
            let room = cap(role).map_or(u32::MAX, |cap| cap.saturating_sub(live)) as usize;
            candidates.extend(waiting.iter().take(room.min(free)).copied());
        }
        candidates.sort_unstable();
        free = free.min(candidates.len());
        candidates
            .into_iter()
            .take(free)
            .map(|(_, task)| task)
            .collect()
    }
}
