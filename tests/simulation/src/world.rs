//! Everything outside the manager: models that count what they are asked, checks, reviewers, and a
//! repository with one branch. It survives a crash of the manager. Never reads a ledger.

use crate::random::Random;
use engine_core::ids::{AgentId, AttemptNo, TaskId, Tokens};
use engine_core::record::Verdict;
use fleet_core::ids::CommitId;
use std::collections::BTreeMap;

/// The outside.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// How often each turn of each attempt was asked.
    pub(crate) asked: BTreeMap<(AgentId, u32), u32>,
    /// What all answers used.
    pub(crate) billed: Tokens,
    /// Where the integration branch stands; `None`: not made yet.
    pub(crate) branch: Option<CommitId>,
    /// Tasks whose work the branch was moved to, in order.
    pub(crate) landed: Vec<TaskId>,
    /// How often each agent was started.
    pub(crate) started: BTreeMap<AgentId, u32>,
}

impl World {
    /// The model answers one turn; what it uses never exceeds what was admitted.
    pub(crate) fn ask(
        &mut self,
        agent: &AgentId,
        turn: u32,
        admitted: Tokens,
        random: &mut Random,
    ) -> Tokens {
        *self.asked.entry((agent.clone(), turn)).or_default() += 1;
        let used = Tokens(1 + random.draw() % admitted.0.max(1));
        self.billed = self.billed.plus(used);
        used
    }

    /// How many turns an attempt has: the same whenever it is asked.
    pub(crate) fn turns(agent: &AgentId, seed: u64) -> u32 {
        u32::try_from(hash(agent, seed) % 3).unwrap_or(0) + 1
    }

    /// Whether a check passes: the same whenever it is run on the same attempt.
    pub(crate) fn check_passes(agent: &AgentId, index: u32, seed: u64) -> bool {
        !hash(agent, seed ^ u64::from(index)).is_multiple_of(4)
    }

    /// Whether an attempt fails by itself.
    pub(crate) fn attempt_fails(agent: &AgentId, seed: u64) -> bool {
        hash(agent, seed ^ 77).is_multiple_of(9)
    }

    /// Whether a commit merges.
    pub(crate) fn conflicts(agent: &AgentId, seed: u64) -> bool {
        hash(agent, seed ^ 99).is_multiple_of(11)
    }

    /// What a reviewer says.
    pub(crate) fn verdict(agent: &AgentId, seed: u64) -> Verdict {
        if hash(agent, seed ^ 55).is_multiple_of(3) {
            Verdict::Reject
        } else {
            Verdict::Approve
        }
    }

    /// Moves the branch if it stands where it should; moving it again changes nothing.
    pub(crate) fn land(&mut self, task: &TaskId, onto: &CommitId, commit: &CommitId) -> bool {
        let stands = self
            .branch
            .clone()
            .unwrap_or_else(|| CommitId("base".into()));
        if stands == *commit {
            return true;
        }
        if stands != *onto {
            return false;
        }
        self.branch = Some(commit.clone());
        self.landed.push(task.clone());
        true
    }
}

fn hash(agent: &AgentId, seed: u64) -> u64 {
    let AgentId {
        task,
        attempt: AttemptNo(no),
    } = agent;
    let mut sum = seed ^ u64::from(*no).wrapping_mul(0x9E37_79B9);
    for byte in task.as_str().bytes() {
        sum = sum.rotate_left(7) ^ u64::from(byte).wrapping_mul(0x0100_0000_01B3);
    }
    Random::new(sum).draw()
}
