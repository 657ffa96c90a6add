//! The queue between whoever appends and the writer's thread. Never touches the disk, so its lock is
//! held for moments only.

use crate::format::Seq;
use crate::log::Queued;
use chrono::{DateTime, Utc};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Whether lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They are.
    Open,
    /// Those queued are written, then it ends cleanly.
    Closing,
    /// The writer was dropped: nothing more is written.
    Abandoned,
    /// Writing failed, or has ended.
    Ended,
}

#[derive(Debug)]
struct State {
    lines: Vec<Queued>,
    last: Seq,
    phase: Phase,
}

/// Lines on their way to the disk.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the writer's thread does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Write these.
    Lines(Vec<Queued>),
    /// Nothing came for a while: write the closing witness of the last batch, under this number.
    Witness(Seq),
    /// Write the witness, if it is still owed, and end cleanly.
    Close(Option<Seq>),
    /// End without a word.
    Stop,
}

impl Queue {
    /// An empty queue after the line `last`.
    pub(crate) fn after(last: Seq) -> Self {
        let state = State {
            lines: Vec::new(),
            last,
            phase: Phase::Open,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Queues a line; answers its number, or `None` when no more are taken.
    pub(crate) fn push(&self, at: DateTime<Utc>, records: Vec<u8>) -> Option<Seq> {
        let mut state = self.lock();
        if state.phase != Phase::Open {
            return None;
        }
        let seq = take_seq(&mut state);
        state.lines.push(Queued { seq, at, records });
        drop(state);
        self.changed.notify_one();
        Some(seq)
    }

    /// Waits for something to do. `witness_due` says when the last batch should get its witness, if it
    /// lacks one.
    pub(crate) fn next(&self, witness_due: Option<Instant>) -> Next {
        let mut state = self.lock();
        loop {
            match state.phase {
                Phase::Abandoned | Phase::Ended => return Next::Stop,
                _ if !state.lines.is_empty() => {
                    return Next::Lines(std::mem::take(&mut state.lines));
                }
                Phase::Closing => {
                    return Next::Close(witness_due.map(|_| take_seq(&mut state)));
                }
                Phase::Open => {}
            }
            let Some(due) = witness_due else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Witness(take_seq(&mut state));
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes no more lines; those queued are still written.
    pub(crate) fn close(&self) {
        self.turn(Phase::Closing);
    }

    /// Takes no more lines, and forgets those queued.
    pub(crate) fn abandon(&self) {
        self.turn(Phase::Abandoned);
    }

    /// Says that nothing is written any more.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.phase = Phase::Ended;
        state.lines.clear();
    }

    fn turn(&self, phase: Phase) {
        let mut state = self.lock();
        if state.phase == Phase::Open {
            state.phase = phase;
        }
        drop(state);
        self.changed.notify_one();
    }

    /// A panic while the lock is held leaves the state whole, so a poisoned lock is no reason to stop.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_seq(state: &mut State) -> Seq {
    state.last = state.last.next();
    state.last
}
