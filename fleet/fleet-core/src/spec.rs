//! The plan of a run: what a roster, a workflow script or the `agent` tool orders, resolved and
//! validated. It is recorded in the first line of the ledger. Never reads a roster's text; unknown
//! fields are refused there, not here, so that an older reader opens what a newer one wrote.

use engine_core::ids::{ModelName, RoleName, TaskId, Tokens};
pub use engine_core::provider::ProviderSpec;
use engine_core::request::Effort;
use engine_core::tool::Access;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that was ordered of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Name of the run: first part of its id.
    pub name: String,
    /// Shown to every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Revision the run starts from; `None` means HEAD of the checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Limits that are not budgets.
    pub limits: Limits,
    /// Caps on what the run may use.
    #[serde(default)]
    pub budget: Budget,
    /// How work folders are made.
    #[serde(default)]
    pub workspace: WorkspaceSpec,
    /// The providers that the roles use, by id.
    pub providers: BTreeMap<String, ProviderSpec>,
    /// The roles that the tasks use, by name.
    pub roles: BTreeMap<RoleName, RoleSpec>,
    /// The tasks in the order written.
    pub tasks: Vec<TaskSpec>,
}

/// Limits of a run that are not budgets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Agents live at once.
    pub agents: u32,
    /// Attempts at one task.
    pub attempts: u32,
    /// Model requests of one attempt.
    pub steps: u32,
    /// Wall time of the run, in seconds.
    pub wall_secs: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            agents: 8,
            attempts: 2,
            steps: 200,
            wall_secs: 2 * 60 * 60,
        }
    }
}

/// Caps; an absent one is no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Most tokens, input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// Where the agents of a run work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// Each writing task in a worktree of its own; results are committed and landed.
    #[default]
    Worktrees,
    /// In the person's current folder: nothing is committed, nothing is landed.
    Here,
}

/// How work folders are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSpec {
    /// Where the agents work.
    #[serde(default)]
    pub site: Site,
    /// Git-ignored files that every worktree gets a copy of, relative to the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// Environment variables handed to commands besides the base list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Folder that a demonstration repository is made from; absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demo: Option<String>,
}

/// Who works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSpec {
    /// The model it asks.
    pub model: ModelName,
    /// What it may do to its workspace.
    pub access: Access,
    /// Whether its commands may use the network.
    #[serde(default)]
    pub network: bool,
    /// Narrows the catalog to these tools; `None`: all that its access allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Standing instructions besides the built-in ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Agents of this role live at once; `None`: only the run's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// How hard a reasoning model should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// True for a role that ends by giving a verdict through its tool.
    #[serde(default)]
    pub gives_verdict: bool,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Unique in the run.
    pub id: TaskId,
    /// Who does it.
    pub role: RoleName,
    /// What is to be done.
    pub prompt: String,
    /// Tasks whose results it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<TaskId>,
    /// Commands the fleet runs in a clean checkout; all must exit 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
    /// Role that must approve the exact tree before it lands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<RoleName>,
    /// Caps for this task, inside the run's.
    #[serde(default)]
    pub budget: Budget,
    /// Time an attempt may take, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
}
