//! What a person asks of a run on which no manager is at work: recorded by whoever asks, holding the run
//! for that moment. Never starts anything; what then is owed waits for `fleet resume`.

use crate::clock::Clock;
use crate::store::{Store, stamp_of, unqueued};
use fleet_core::decide::{Input, Reply, decide};
use fleet_core::record::Record;
use fleet_core::spec::TaskSpec;
use fleet_core::state::{IllegalRecord, Misfit};
use ledger::AppendError;

/// Why it could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum UnmanagedError {
    /// The storage failed, or the records do not fit a line.
    #[error("the ledger could not be written: {0}")]
    Append(#[from] AppendError),
    /// The storage failed at the end.
    #[error("the ledger could not be written: {0}")]
    Close(String),
    /// It does not fit what is the case.
    #[error("it does not fit: {0}")]
    Late(#[from] Misfit),
    /// A decision does not fit the state: a defect of this program.
    #[error("internal: {0}")]
    Illegal(#[from] IllegalRecord),
}

/// Records an input and what follows from it. `tasks` are the ordered ones, as `run.opened` keeps them.
/// Durable when it returns. Blocks.
///
/// # Errors
/// When it could not be recorded.
pub fn record(
    store: Store,
    tasks: &[TaskSpec],
    input: Input,
    clock: &dyn Clock,
) -> Result<Reply, UnmanagedError> {
    let mut hand = Hand { store, clock };
    for queue in unqueued(&hand.store.state, tasks) {
        hand.take(queue)?;
    }
    let reply = hand.take(input)?;
    while let Some(records) = hand.store.state.conclude() {
        hand.append(&records)?;
    }
    let closed = hand.store.writer.close();
    closed.map_err(|error| UnmanagedError::Close(error.to_string()))?;
    Ok(reply)
}

/// Records one fact, durably. Blocks.
///
/// # Errors
/// When it does not fit what is the case, or could not be recorded.
pub fn add(store: Store, fact: Record, clock: &dyn Clock) -> Result<(), UnmanagedError> {
    match record(store, &[], Input::Outcome(fact), clock)? {
        Reply::Late(misfit) => Err(misfit.into()),
        _ => Ok(()),
    }
}

struct Hand<'a> {
    store: Store,
    clock: &'a dyn Clock,
}

impl Hand<'_> {
    fn take(&mut self, input: Input) -> Result<Reply, UnmanagedError> {
        let decision = decide(&self.store.state, input);
        if !decision.records.is_empty() {
            self.append(&decision.records)?;
        }
        Ok(decision.reply)
    }

    fn append(&mut self, records: &[Record]) -> Result<(), UnmanagedError> {
        let at = self.clock.now();
        let seq = self.store.writer.append(at, records)?;
        let stamp = stamp_of(seq.0, u64::from(self.store.writer.epoch().0), at);
        for record in records {
            self.store.state.apply(stamp, record)?;
        }
        Ok(())
    }
}
