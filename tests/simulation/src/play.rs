//! Plays one seed: a random plan from its start to its end, compared with the same plan to which
//! nothing happened. Never knows what a manager does in between.

use crate::faults::{Bug, Faults};
use crate::manager::Sim;
use engine_core::ids::TaskId;
use fleet_core::record::{EndState, Record, RunEnded};
use fleet_core::state::Phase;
use std::collections::BTreeMap;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Its end.
    pub ended: RunEnded,
    /// How each task ended, reviews included.
    pub ends: BTreeMap<TaskId, EndState>,
    /// Lines of its ledger.
    pub lines: usize,
    /// How often a conversation was made smaller.
    pub compactions: usize,
    /// Managers it took: one more than it was killed, stopped or left without a provider.
    pub managers: u32,
}

/// A property that did not hold, with the seed that shows it.
#[derive(Debug, thiserror::Error)]
#[error("seed {seed}: {what}")]
pub struct Violation {
    /// Reproduces it.
    pub seed: u64,
    /// Which property, and how.
    pub what: String,
}

/// Plays the run of a seed to its end.
///
/// # Errors
/// The first property that does not hold.
pub fn play(seed: u64, faults: Faults) -> Result<Report, Violation> {
    play_with(seed, faults, None)
}

/// Plays it with a manager into which a bug was planted.
///
/// # Errors
/// The first property that does not hold: for some seed there must be one.
pub fn play_with(seed: u64, faults: Faults, bug: Option<Bug>) -> Result<Report, Violation> {
    let fail = |what| Violation { seed, what };
    let mut sim = Sim::new(seed, faults, bug);
    let ended = sim.run().map_err(fail)?;
    let ends = ends(&sim);
    if faults.are_bearable() && !sim.is_capped() {
        let mut quiet = Sim::new(seed, Faults::default(), None);
        quiet.run().map_err(fail)?;
        let expected = self::ends(&quiet);
        if ends != expected {
            return Err(fail(format!(
                "the ends are {ends:?}, and without faults {expected:?}"
            )));
        }
    }
    Ok(Report {
        ended,
        ends,
        lines: sim.disk.lines().len(),
        compactions: compactions(&sim),
        managers: sim.managers,
    })
}

fn compactions(sim: &Sim) -> usize {
    let records = sim.disk.lines().iter().flat_map(|line| &line.records);
    let compacted = records.filter(|record| matches!(record, Record::ContextCompacted(_)));
    compacted.count()
}

fn ends(sim: &Sim) -> BTreeMap<TaskId, EndState> {
    sim.state
        .tasks()
        .filter_map(|(_, task)| match task.phase {
            Phase::Ended(end) => Some((task.spec.id.clone(), end)),
            _ => None,
        })
        .collect()
}
