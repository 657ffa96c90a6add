//! Outcomes of effects other than agents, as the world gives them. Never decides.

use crate::faults::Bug;
use crate::manager::Sim;
use crate::world::{World, conflict_of, is_conflict};
use engine_core::content::Content;
use engine_core::ids::AgentId;
use fleet_core::ids::{CommitId, TreeId};
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{
    CheckFinished, CheckStage, LandingConflicted, LandingPrepared, Record, ReturnedWork,
    WorkCommitted, WorkLanded, WorkUnchanged, WorkspaceReady,
};

impl Sim {
    pub(crate) fn outcome(&mut self, agent: &AgentId, effect: Effect) -> Result<Record, String> {
        let commit = CommitId(format!("{}-{}", agent.task, agent.attempt));
        Ok(match effect.kind {
            EffectKind::PrepareWorkspace => self.prepare_workspace(agent, effect)?,
            EffectKind::RunAgent => return Err("an agent has no single outcome".into()),
            EffectKind::Commit => self.commit(agent, commit)?,
            EffectKind::RunCheck { stage, index } => self.check(agent, stage, index, commit),
            EffectKind::PrepareLanding => self.prepare_landing(agent, effect, &commit)?,
            EffectKind::Land => self.land(agent, effect)?,
        })
    }

    /// A folder that is there already is taken as it is.
    fn prepare_workspace(&mut self, agent: &AgentId, effect: Effect) -> Result<Record, String> {
        let attempt = self.state.task(effect.task).attempt.as_ref();
        let start = attempt.ok_or("no attempt")?.start.clone();
        let content = start.map(|start| self.world.content(&start));
        self.world
            .folders
            .entry(agent.clone())
            .or_insert_with(|| content.unwrap_or_default());
        Ok(WorkspaceReady {
            task: agent.task.clone(),
            attempt: agent.attempt,
            path: "/w".into(),
            branch: None,
        }
        .into())
    }

    fn commit(&mut self, agent: &AgentId, commit: CommitId) -> Result<Record, String> {
        if !World::leaves_marks(agent, self.seed) {
            self.world.solve(agent);
        }
        let content = self.world.folder(agent);
        let (task, attempt) = (agent.task.clone(), agent.attempt);
        let tree = TreeId(format!("tree-{commit}"));
        if World::changes_nothing(agent, self.seed) {
            return Ok(WorkUnchanged {
                task,
                attempt,
                tree,
            }
            .into());
        }
        self.world.keep(&commit, &content)?;
        let unresolved = content.into_iter().filter(|mark| is_conflict(mark));
        Ok(WorkCommitted {
            task,
            attempt,
            tree,
            commit,
            files: 1,
            insertions: 1,
            deletions: 0,
            unresolved: unresolved.collect(),
        }
        .into())
    }

    fn prepare_landing(
        &mut self,
        agent: &AgentId,
        effect: Effect,
        commit: &CommitId,
    ) -> Result<Record, String> {
        let attempt = self.state.task(effect.task).attempt.as_ref();
        let base = attempt.ok_or("no attempt")?.base.clone();
        let onto = self.state.integration_head().ok_or("no head")?.clone();
        let (task, attempt) = (agent.task.clone(), agent.attempt);
        let both = self.world.merged(&onto, commit);
        if World::conflicts(agent, self.seed) {
            let marked = CommitId(format!("marked-{commit}-{onto}"));
            let conflict = conflict_of(commit);
            self.world.keep(&marked, &[both, vec![conflict]].concat())?;
            let returned = ReturnedWork {
                commit: commit.clone(),
                marked,
                report: Content::from("both changed f"),
            };
            return Ok(LandingConflicted {
                task,
                attempt,
                onto,
                paths: vec!["f".into()],
                returned: Some(returned),
            }
            .into());
        }
        let merged = Some(&onto) != base.as_ref();
        let mut landing = commit.clone();
        if merged {
            landing = CommitId(format!("m-{commit}-{onto}"));
            self.world.keep(&landing, &both)?;
        }
        Ok(LandingPrepared {
            task,
            attempt,
            onto,
            commit: landing,
            merged,
        }
        .into())
    }

    fn land(&mut self, agent: &AgentId, effect: Effect) -> Result<Record, String> {
        let attempt = self.state.task(effect.task).attempt.clone();
        let landing = attempt.and_then(|a| a.landing).ok_or("no landing")?;
        let new = self.world.content(&landing.commit);
        let lost = |mark: &&String| !new.contains(mark);
        if let Some(mark) = self.world.content(&landing.onto).iter().find(lost) {
            return Err(format!("{agent} lands without {mark}, which had landed"));
        }
        if let Some(mark) = new.iter().find(|mark| is_conflict(mark)) {
            return Err(format!("{agent} lands with {mark} unsolved"));
        }
        if self.has(Bug::MovesTheBranchBlindly) {
            self.world.land_blindly(&agent.task, &landing.commit);
        } else if !self.world.land(&agent.task, &landing.onto, &landing.commit) {
            return Err(format!("{agent}: the branch is not where the intent says"));
        }
        Ok(WorkLanded {
            task: agent.task.clone(),
            attempt: agent.attempt,
            commit: landing.commit,
        }
        .into())
    }

    fn check(&self, agent: &AgentId, stage: CheckStage, index: u32, commit: CommitId) -> Record {
        CheckFinished {
            task: agent.task.clone(),
            attempt: agent.attempt,
            stage,
            index,
            command: "check".into(),
            commit,
            exit: Some(i32::from(!World::check_passes(agent, index, self.seed))),
            output: Content::from("out"),
            millis: 1,
            unconfined: None,
        }
        .into()
    }
}
