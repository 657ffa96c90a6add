//! What one agent is to do. Never read from a file: the fleet resolves it from the plan.

use engine_core::ids::{AgentId, Tokens};
use engine_core::outcome::Ending;
use engine_core::request::Effort;

/// One attempt, ready to be driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// Whose attempt.
    pub agent: AgentId,
    /// The provider's own name of the model.
    pub model: String,
    /// Standing instructions; see [`engine_core::prompt::system_prompt`].
    pub system: String,
    /// The first message; see [`engine_core::prompt::first_message`]. Not blank. Used only while
    /// nothing was asked yet.
    pub first: String,
    /// How hard a reasoning model should think.
    pub effort: Option<Effort>,
    /// Most output tokens of one answer.
    pub max_output: Tokens,
    /// Most tokens that its model takes in and gives out in one request; `None`: not known.
    pub context: Option<Tokens>,
    /// What ends the attempt.
    pub ending: Ending,
    /// Most model requests of the attempt.
    pub steps: u32,
    /// The run's seed. Spreads the waits of agents that were limited at the same moment.
    pub seed: u64,
}
