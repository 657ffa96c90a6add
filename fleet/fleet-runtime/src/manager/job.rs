//! An owed effect with everything that performing it takes, copied out of the state. Pure.

use crate::history::Histories;
use engine_core::content::Content;
use engine_core::ids::{AgentId, RoleName, TaskId};
use engine_core::record::AgentRecord;
use fleet_core::ids::{BranchName, CommitId, RunId, TreeId};
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{CheckStage, ReviewOf};
use fleet_core::spec::{RoleSpec, TaskSpec, WorkspaceSpec};
use fleet_core::state::{Attempt, Finding, FindingSource, FleetState, Run, Task};
use fleet_core::time::Timestamp;
use tokio::sync::mpsc;

/// Work for the hands of the manager.
#[derive(Debug)]
pub enum Job {
    /// Make or find an attempt's folder. Answered by `workspace.ready`.
    PrepareWorkspace(PrepareJob),
    /// Run an agent to its end. Answered by the end of the attempt.
    RunAgent(Box<AgentJob>),
    /// Make the attempt's work a commit. Answered by `work.committed`.
    Commit(CommitJob),
    /// Run a check. Answered by `check.finished`.
    RunCheck(CheckJob),
    /// Merge without moving anything. Answered by `landing.prepared` or `landing.conflicted`.
    PrepareLanding(LandingJob),
    /// Move the integration branch. Answered by `work.landed`.
    Land(LandJob),
}

impl Job {
    /// For which attempt.
    #[must_use]
    pub fn agent(&self) -> &AgentId {
        match self {
            Self::PrepareWorkspace(job) => &job.agent,
            Self::RunAgent(job) => &job.agent,
            Self::Commit(job) => &job.agent,
            Self::RunCheck(job) => &job.agent,
            Self::PrepareLanding(job) => &job.agent,
            Self::Land(job) => &job.agent,
        }
    }
}

/// See [`Job::PrepareWorkspace`].
#[derive(Debug, Clone)]
pub struct PrepareJob {
    /// For which attempt.
    pub agent: AgentId,
    /// True access of its role decides: a branch of its own, or a shared detached checkout.
    pub writes: bool,
    /// True for an attempt that had its folder before: what was done there since its last snapshot is
    /// undone.
    pub resumed: bool,
    /// Where it starts; `None` outside a repository.
    pub start: Option<CommitId>,
    /// What a resumed attempt had last kept.
    pub snapshot: Option<(CommitId, TreeId)>,
    /// How work folders are made.
    pub workspace: WorkspaceSpec,
}

/// See [`Job::RunAgent`].
#[derive(Debug)]
pub struct AgentJob {
    /// Whose attempt.
    pub agent: AgentId,
    /// The run.
    pub run: RunId,
    /// Seed of the run.
    pub seed: u64,
    /// Most model requests of the attempt.
    pub steps: u32,
    /// What every agent is told of the run.
    pub goal: Option<String>,
    /// How work folders are made.
    pub workspace: WorkspaceSpec,
    /// The task.
    pub task: TaskSpec,
    /// Its role.
    pub role: RoleSpec,
    /// The attempt's folder.
    pub path: String,
    /// Its branch, if it has one.
    pub branch: Option<BranchName>,
    /// Where its workspace started.
    pub start: Option<CommitId>,
    /// What it had last kept.
    pub snapshot: Option<(CommitId, TreeId)>,
    /// What a person says to it from here on, and what it has not heard yet. Closed when nobody can.
    pub inbox: mpsc::UnboundedReceiver<String>,
    /// What it had said and done under earlier managers.
    pub history: Vec<AgentRecord>,
    /// Results of what it needs.
    pub needs: Vec<(TaskId, Content)>,
    /// What earlier attempts taught.
    pub findings: Vec<Finding>,
    /// For a review: the work.
    pub review_of: Option<ReviewOf>,
}

/// See [`Job::Commit`].
#[derive(Debug, Clone)]
pub struct CommitJob {
    /// For which attempt.
    pub agent: AgentId,
    /// Author of the commit.
    pub role: RoleName,
    /// The attempt's folder.
    pub path: String,
    /// The branch to move.
    pub branch: Option<BranchName>,
    /// Where the workspace started.
    pub start: CommitId,
    /// Parent of the commit.
    pub base: CommitId,
    /// The newest snapshot.
    pub snapshot: Option<(CommitId, TreeId)>,
    /// Date of the commit.
    pub at: Timestamp,
    /// First line of the message comes from here.
    pub prompt: String,
    /// Its body: the agent's final message.
    pub result: Option<Content>,
    /// The run, for the message's trailer.
    pub run: RunId,
    /// Both sides of every conflict that the task was told to solve: marks that name one must be gone.
    pub sides: Vec<CommitId>,
}

/// See [`Job::RunCheck`].
#[derive(Debug, Clone)]
pub struct CheckJob {
    /// For which attempt.
    pub agent: AgentId,
    /// On which tree.
    pub stage: CheckStage,
    /// Which.
    pub index: u32,
    /// The command.
    pub command: String,
    /// The commit to check out.
    pub commit: CommitId,
    /// Most seconds it may take.
    pub timeout_secs: Option<u64>,
    /// Whether the role's commands may use the network.
    pub network: bool,
    /// How work folders are made.
    pub workspace: WorkspaceSpec,
}

/// See [`Job::PrepareLanding`].
#[derive(Debug, Clone)]
pub struct LandingJob {
    /// For which attempt.
    pub agent: AgentId,
    /// Author of a merge commit.
    pub role: RoleName,
    /// Where the integration branch stands.
    pub onto: CommitId,
    /// What is merged.
    pub commit: CommitId,
    /// Date of a merge commit.
    pub at: Timestamp,
    /// The run, for the message's trailer.
    pub run: RunId,
}

/// See [`Job::Land`].
#[derive(Debug, Clone)]
pub struct LandJob {
    /// For which attempt.
    pub agent: AgentId,
    /// The branch to move.
    pub integration: BranchName,
    /// From where.
    pub onto: CommitId,
    /// To where.
    pub commit: CommitId,
    /// Where the run started: the branch is made there when it does not exist.
    pub base: CommitId,
}

/// Copies out of the state what an effect takes. `None` when the state lacks it, which the legality
/// rules exclude.
pub(crate) fn job_of(state: &FleetState, effect: Effect, histories: &mut Histories) -> Option<Job> {
    let run = state.run()?;
    let task = state.task(effect.task);
    let attempt = task.attempt.as_ref()?;
    let agent = AgentId {
        task: task.spec.id.clone(),
        attempt: effect.attempt,
    };
    Some(match effect.kind {
        EffectKind::PrepareWorkspace => Job::PrepareWorkspace(PrepareJob {
            agent,
            writes: task.writes(),
            resumed: attempt.path.is_some(),
            start: attempt.start.clone(),
            snapshot: attempt.snapshot.clone(),
            workspace: run.plan.workspace.clone(),
        }),
        EffectKind::RunAgent => {
            let history = histories.take(&agent);
            Job::RunAgent(Box::new(agent_job(state, run, task, attempt, history)?))
        }
        EffectKind::Commit => Job::Commit(commit_job(agent, run, task, attempt)?),
        EffectKind::RunCheck { stage, index } => {
            let network = run.plan.roles.get(&task.spec.role)?.network;
            let workspace = run.plan.workspace.clone();
            let (own, merged) = (attempt.commit.as_ref(), attempt.landing.as_ref());
            Job::RunCheck(CheckJob {
                agent,
                stage,
                index,
                command: task.spec.check.get(index as usize)?.clone(),
                commit: match stage {
                    CheckStage::Own => own?.0.clone(),
                    CheckStage::Merged => merged?.commit.clone(),
                },
                timeout_secs: task.spec.timeout_secs,
                network,
                workspace,
            })
        }
        EffectKind::PrepareLanding => Job::PrepareLanding(LandingJob {
            agent,
            role: task.spec.role.clone(),
            onto: state.integration_head()?.clone(),
            commit: attempt.commit.as_ref()?.0.clone(),
            at: attempt.finished_at?,
            run: run.id.clone(),
        }),
        EffectKind::Land => {
            let landing = attempt.landing.as_ref()?;
            Job::Land(LandJob {
                agent,
                integration: run.integration.clone()?,
                onto: landing.onto.clone(),
                commit: landing.commit.clone(),
                base: run.base.clone()?,
            })
        }
    })
}

/// Takes what the commit of an attempt's work takes.
fn commit_job(agent: AgentId, run: &Run, task: &Task, attempt: &Attempt) -> Option<CommitJob> {
    Some(CommitJob {
        agent,
        role: task.spec.role.clone(),
        path: attempt.path.clone()?,
        branch: attempt.branch.clone(),
        start: attempt.start.clone()?,
        base: attempt.base.clone()?,
        snapshot: attempt.snapshot.clone(),
        at: attempt.finished_at?,
        prompt: task.spec.prompt.clone(),
        result: task.result.clone(),
        run: run.id.clone(),
        sides: sides_of(task),
    })
}

fn sides_of(task: &Task) -> Vec<CommitId> {
    let conflicts = task.findings.iter().filter_map(|finding| {
        let FindingSource::Conflict { onto, commit, .. } = &finding.source else {
            return None;
        };
        Some([onto.clone(), commit.clone()])
    });
    conflicts.flatten().collect()
}

fn agent_job(
    state: &FleetState,
    run: &Run,
    task: &Task,
    attempt: &Attempt,
    history: Vec<AgentRecord>,
) -> Option<AgentJob> {
    let result_of = |need: &TaskId| {
        let (_, needed) = state.find(need)?;
        let result = needed.result.clone().unwrap_or_else(|| Content::from(""));
        Some((need.clone(), result))
    };
    let mut needs: Vec<_> = task.spec.needs.iter().filter_map(result_of).collect();
    if let Some(of) = task.review_of.as_ref().filter(|of| of.commit == of.base) {
        // Nothing to look at but what its agent says of it.
        needs.extend(result_of(&of.task));
    }
    Some(AgentJob {
        agent: AgentId {
            task: task.spec.id.clone(),
            attempt: attempt.no,
        },
        run: run.id.clone(),
        seed: run.seed,
        steps: run.plan.limits.steps,
        goal: run.plan.goal.clone(),
        workspace: run.plan.workspace.clone(),
        task: TaskSpec {
            prompt: task.asked(),
            ..task.spec.clone()
        },
        role: run.plan.roles.get(&task.spec.role)?.clone(),
        path: attempt.path.clone()?,
        branch: attempt.branch.clone(),
        start: attempt.start.clone(),
        snapshot: attempt.snapshot.clone(),
        // Until its manager opens it.
        inbox: mpsc::unbounded_channel().1,
        history,
        needs,
        findings: task.findings.clone(),
        review_of: task.review_of.clone(),
    })
}
