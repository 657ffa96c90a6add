//! Outcomes of effects other than agents, as the world gives them. Never decides.

use crate::manager::Sim;
use crate::world::World;
use engine_core::content::Content;
use engine_core::ids::AgentId;
use fleet_core::ids::{CommitId, TreeId};
use fleet_core::owed::{Effect, EffectKind};
use fleet_core::record::{
    CheckFinished, CheckStage, LandingConflicted, LandingPrepared, Record, WorkCommitted,
    WorkLanded, WorkspaceReady,
};

impl Sim {
    pub(crate) fn outcome(&mut self, agent: &AgentId, effect: Effect) -> Result<Record, String> {
        let (task, attempt) = (agent.task.clone(), agent.attempt);
        let state = self
            .state
            .task(effect.task)
            .attempt
            .clone()
            .ok_or("no attempt")?;
        let commit = CommitId(format!("{task}-{attempt}"));
        Ok(match effect.kind {
            EffectKind::PrepareWorkspace | EffectKind::RunAgent => WorkspaceReady {
                task,
                attempt,
                path: "/w".into(),
                branch: None,
            }
            .into(),
            EffectKind::Commit => WorkCommitted {
                task,
                attempt,
                tree: TreeId(format!("tree-{commit}")),
                commit,
                files: 1,
                insertions: 1,
                deletions: 0,
            }
            .into(),
            EffectKind::RunCheck { stage, index } => self.check(agent, stage, index, commit),
            EffectKind::PrepareLanding => {
                let onto = self.state.integration_head().ok_or("no head")?.clone();
                if World::conflicts(agent, self.seed) {
                    LandingConflicted {
                        task,
                        attempt,
                        onto,
                        paths: vec!["f".into()],
                    }
                    .into()
                } else {
                    let merged = Some(&onto) != state.base.as_ref();
                    let commit = if merged {
                        CommitId(format!("m-{commit}"))
                    } else {
                        commit
                    };
                    LandingPrepared {
                        task,
                        attempt,
                        onto,
                        commit,
                        merged,
                    }
                    .into()
                }
            }
            EffectKind::Land => {
                let landing = state.landing.ok_or("no landing")?;
                if !self.world.land(&task, &landing.onto, &landing.commit) {
                    return Err(format!("{agent}: the branch is not where the intent says"));
                }
                WorkLanded {
                    task,
                    attempt,
                    commit: landing.commit,
                }
                .into()
            }
        })
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
