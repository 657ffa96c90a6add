//! Everything outside the manager: models that count what they are asked, folders, checks, reviewers,
//! and a repository with one branch. It survives a crash of the manager. Never reads a ledger.

use crate::random::Random;
use engine_core::ids::{AgentId, AttemptNo, StepNo, TaskId, Tokens};
use engine_core::message::Message;
use engine_core::record::Verdict;
use fleet_core::ids::CommitId;
use std::collections::BTreeMap;

/// What a folder or a commit holds: the marks of the edits in it, in order. An edit that was cut off
/// leaves its mark with a `~`.
pub(crate) type Content = Vec<String>;

/// Something done outside because a line announced it.
#[derive(Debug)]
pub(crate) struct Act {
    /// That line.
    pub(crate) announced_by: u64,
    /// What was done.
    pub(crate) what: String,
}

/// The outside.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// How often each turn of each attempt was answered.
    pub(crate) answered: BTreeMap<(AgentId, u32), u32>,
    /// What all requests used.
    pub(crate) billed: Tokens,
    /// How much of that was beyond what had been set aside for them.
    pub(crate) beyond: Tokens,
    /// Where the integration branch stands; `None`: not made yet.
    pub(crate) branch: Option<CommitId>,
    /// Tasks whose work the branch was moved to, in order.
    pub(crate) landed: Vec<TaskId>,
    /// How often each agent was started.
    pub(crate) started: BTreeMap<AgentId, u32>,
    /// The folder of each attempt.
    pub(crate) folders: BTreeMap<AgentId, Content>,
    /// Commits and snapshots.
    pub(crate) kept: BTreeMap<CommitId, Content>,
    /// How often each call that reaches outside did so.
    pub(crate) reached: BTreeMap<String, u32>,
    /// Conversations that were refused as too large: whose, at which step, and the conversation.
    pub(crate) refused: Vec<(AgentId, StepNo, Vec<Message>)>,
    /// What was done since the last crash.
    pub(crate) acts: Vec<Act>,
}

impl World {
    /// How many turns an attempt has: the same whenever it is asked.
    pub(crate) fn turns(agent: &AgentId, seed: u64) -> u32 {
        u32::try_from(hash(agent, seed) % 3).unwrap_or(0) + 1
    }

    /// Most bytes of a conversation that the model of this run takes in; `None`: any.
    pub(crate) fn takes(seed: u64) -> Option<u64> {
        seed.is_multiple_of(3).then_some(3_000 + seed % 4_000)
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
        hash(agent, seed ^ 99).is_multiple_of(4)
    }

    /// Whether an attempt leaves the conflicts that it was to solve.
    pub(crate) fn leaves_marks(agent: &AgentId, seed: u64) -> bool {
        hash(agent, seed ^ 33).is_multiple_of(5)
    }

    /// Whether an attempt's work is found to be no change at all.
    pub(crate) fn changes_nothing(agent: &AgentId, seed: u64) -> bool {
        hash(agent, seed ^ 22).is_multiple_of(8)
    }

    /// What a reviewer says.
    pub(crate) fn verdict(agent: &AgentId, seed: u64) -> Verdict {
        if hash(agent, seed ^ 55).is_multiple_of(3) {
            Verdict::Reject
        } else {
            Verdict::Approve
        }
    }

    /// A number that belongs to a turn of an attempt: the same whenever it is asked.
    pub(crate) fn whim(agent: &AgentId, turn: u32, seed: u64) -> Random {
        Random::new(hash(agent, seed ^ (u64::from(turn) << 32)))
    }

    pub(crate) fn act(&mut self, announced_by: u64, what: String) {
        self.acts.push(Act { announced_by, what });
    }

    /// A call starts to change a folder: from here on it may be cut off.
    pub(crate) fn begin_edit(&mut self, agent: &AgentId, mark: &str) {
        let folder = self.folders.entry(agent.clone()).or_default();
        folder.push(format!("{mark}~"));
    }

    /// It has changed it.
    pub(crate) fn finish_edit(&mut self, agent: &AgentId, mark: &str) {
        let folder = self.folders.entry(agent.clone()).or_default();
        let half = format!("{mark}~");
        if let Some(at) = folder.iter().rposition(|found| *found == half) {
            folder[at] = mark.to_owned();
        }
    }

    pub(crate) fn folder(&self, agent: &AgentId) -> Content {
        self.folders.get(agent).cloned().unwrap_or_default()
    }

    /// Keeps a content under a name.
    pub(crate) fn keep(&mut self, name: &CommitId, content: &[String]) -> Result<(), String> {
        let kept = self.kept.entry(name.clone());
        let before = kept.or_insert_with(|| content.to_vec());
        if *before == content {
            return Ok(());
        }
        Err(format!(
            "{name} was {before:?} and is {content:?} now: one name, two contents"
        ))
    }

    /// The agent of a folder solves the conflicts in it.
    pub(crate) fn solve(&mut self, agent: &AgentId) {
        if let Some(folder) = self.folders.get_mut(agent) {
            folder.retain(|mark| !is_conflict(mark));
        }
    }

    /// What one commit holds, together with what another does.
    pub(crate) fn merged(&self, one: &CommitId, other: &CommitId) -> Content {
        let mut both = self.content(one);
        for mark in self.content(other) {
            if !both.contains(&mark) {
                both.push(mark);
            }
        }
        both
    }

    pub(crate) fn content(&self, name: &CommitId) -> Content {
        self.kept.get(name).cloned().unwrap_or_default()
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
        self.land_blindly(task, commit);
        true
    }

    /// Moves the branch, wherever it stands.
    pub(crate) fn land_blindly(&mut self, task: &TaskId, commit: &CommitId) {
        self.branch = Some(commit.clone());
        self.landed.push(task.clone());
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

/// What stands in a content for a conflict of this commit.
pub(crate) fn conflict_of(commit: &CommitId) -> String {
    format!("!{commit}")
}

/// Whether a mark stands for a conflict.
pub(crate) fn is_conflict(mark: &str) -> bool {
    mark.starts_with('!')
}
