//! Worktrees, commits and landings, with git. Each may be done again after a crash and then finds
//! itself done. Never touches the person's checkout.

use super::conflict;
use super::real::Inner;
use super::{CommitJob, LandJob, LandingJob, PrepareJob};
use crate::control::StopRequest;
use crate::mailbox::Mailbox;
use engine_core::ids::AgentId;
use fleet_core::decide::Input;
use fleet_core::ids::{CommitId, RunId};
use fleet_core::record::{
    LandingPrepared, Record, WorkCommitted, WorkLanded, WorkUnchanged, WorkspaceReady,
};
use fleet_core::spec::Site;
use fleet_core::time::Timestamp;
use fleet_git::{
    CommitIntent, CommitPlan, MergeNote, MergePlan, Moved, UnixSeconds, Workspace, Workspaces,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most paths of a conflict that are recorded by name.
const PATHS_MAX: usize = 50;

/// Longest first line of a commit message, in characters.
const TITLE_MAX_CHARS: usize = 72;

/// Git work: its record, or why the place it works in does not let it.
pub(super) type GitWork = Result<Record, String>;

impl Inner {
    /// Runs git work on the blocking pool, a few at a time. Where it fails, no task is to blame: the
    /// run stops, and the work stays owed.
    pub(super) async fn git(
        self: Arc<Self>,
        agent: AgentId,
        mailbox: Mailbox,
        work: impl FnOnce(&Self) -> GitWork + Send + 'static,
    ) -> Option<Input> {
        let hands = Arc::clone(&self);
        let _slot = self.git_slots.acquire().await.ok()?;
        let done = tokio::task::spawn_blocking(move || work(&hands)).await;
        match done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(record) => Some(Input::Outcome(record)),
            Err(message) => {
                halt(&mailbox, &agent, &message).await;
                None
            }
        }
    }

    fn workspaces(&self) -> Result<&Workspaces, String> {
        let missing = || "this run has no repository to work in".to_owned();
        self.gear.workspaces.as_ref().ok_or_else(missing)
    }

    pub(super) fn prepare(&self, job: &PrepareJob) -> GitWork {
        let agent = &job.agent;
        let (path, branch) = match &job.start {
            Some(start) if job.workspace.site == Site::Worktrees => {
                let workspace = self.make_workspace(job, start)?;
                for missing in workspace.missing_submodules() {
                    tracing::warn!(%agent, submodule = %missing.display(), "submodule is not set up");
                }
                let made = (
                    workspace.path().display().to_string(),
                    workspace.branch().cloned(),
                );
                self.made.insert(agent.clone(), workspace);
                made
            }
            _ => (self.gear.folder.display().to_string(), None),
        };
        Ok(Record::from(WorkspaceReady {
            task: agent.task.clone(),
            attempt: agent.attempt,
            path,
            branch,
        }))
    }

    fn make_workspace(&self, job: &PrepareJob, start: &CommitId) -> Result<Workspace, String> {
        let workspaces = self.workspaces()?;
        let AgentId { task, attempt } = &job.agent;
        let made = if !job.writes {
            workspaces.read_only(start)
        } else if job.resumed {
            let state = job.snapshot.as_ref().map_or(start, |(commit, _)| commit);
            workspaces.resume(task, *attempt, start, state)
        } else {
            workspaces.for_task(task, *attempt, start)
        };
        made.map_err(|error| format!("no work folder could be made: {error}"))
    }

    /// The work of an attempt is what its last snapshot holds: the folder itself is not looked at.
    pub(super) fn commit(&self, job: &CommitJob) -> GitWork {
        let failed =
            |error: &dyn std::fmt::Display| format!("the work could not be committed: {error}");
        let workspaces = self.workspaces()?;
        let repo = workspaces.repo();
        let tree = match &job.snapshot {
            Some((_, tree)) => tree.clone(),
            None => repo.tree_of(&job.start).map_err(|error| failed(&error))?,
        };
        let AgentId { task, attempt } = job.agent.clone();
        if tree == repo.tree_of(&job.base).map_err(|error| failed(&error))? {
            return Ok(Record::from(WorkUnchanged {
                task,
                attempt,
                tree,
            }));
        }
        let plan = repo.plan_commit(&CommitIntent {
            tree: &tree,
            parents: std::slice::from_ref(&job.base),
            message: &self.message_of(job),
            role: &job.role.0,
            at: seconds(job.at),
        });
        self.move_branch(workspaces, job, &plan)?;
        let diff = repo
            .diff(&job.base, plan.id(), 0)
            .map_err(|error| failed(&error))?;
        let sides: Vec<&CommitId> = job.sides.iter().collect();
        let unresolved = if sides.is_empty() {
            Vec::new()
        } else {
            repo.marks_left(&job.base, &tree, &sides)
                .map_err(|error| failed(&error))?
        };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(Record::from(WorkCommitted {
            task,
            attempt,
            commit: plan.id().clone(),
            tree,
            files: count(diff.files.len()),
            insertions: count(diff.added()),
            deletions: count(diff.removed()),
            unresolved: shown(&unresolved),
        }))
    }

    /// Writes the commit and moves the attempt's own branch to it, wherever the agent left it.
    fn move_branch(
        &self,
        workspaces: &Workspaces,
        job: &CommitJob,
        plan: &CommitPlan,
    ) -> Result<(), String> {
        let failed =
            |error: &dyn std::fmt::Display| format!("the work could not be committed: {error}");
        let repo = workspaces.repo();
        let Some(branch) = &job.branch else {
            return repo.write_commit(plan).map_err(|error| failed(&error));
        };
        let tip = repo.branch_tip(branch).map_err(|error| failed(&error))?;
        let old = tip.as_ref().unwrap_or(&job.start);
        let known = self.made.get(&job.agent).map(|made| made.value().clone());
        let workspace = known.map_or_else(|| workspaces.reopen(Path::new(&job.path)), Ok);
        let moved = match workspace {
            Ok(workspace) if tip.is_some() => workspaces
                .commit(&workspace, plan, old)
                .map_err(|error| failed(&error))?,
            _ => {
                repo.write_commit(plan).map_err(|error| failed(&error))?;
                repo.move_ref(&format!("refs/heads/{branch}"), tip.as_ref(), plan.id())
                    .map_err(|error| failed(&error))?
            }
        };
        match moved {
            Moved::Done | Moved::AlreadyDone => Ok(()),
            Moved::Conflict { .. } => Err(failed(&format!("branch {branch} moved meanwhile"))),
        }
    }

    fn message_of(&self, job: &CommitJob) -> String {
        let title: String = job
            .prompt
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("Work")
            .chars()
            .take(TITLE_MAX_CHARS)
            .collect();
        let body = job
            .result
            .as_ref()
            .and_then(|result| self.gear.blobs.text(result).ok());
        let body = body.unwrap_or_default();
        message(&title, body.trim(), &job.run, &job.agent)
    }

    pub(super) fn prepare_landing(&self, job: &LandingJob) -> GitWork {
        let failed =
            |error: &dyn std::fmt::Display| format!("the work could not be merged: {error}");
        let repo = self.workspaces()?.repo();
        let title = format!("Merge {}", job.agent.task);
        let plan = repo
            .plan_merge(
                &job.onto,
                &job.commit,
                &MergeNote {
                    message: &message(&title, "", &job.run, &job.agent),
                    role: &job.role.0,
                    at: seconds(job.at),
                },
            )
            .map_err(|error| failed(&error))?;
        let (commit, merged) = match plan {
            MergePlan::AlreadyThere => (job.onto.clone(), false),
            MergePlan::FastForward { commit } => (commit, false),
            MergePlan::Merge { commit, .. } => {
                repo.write_commit(&commit).map_err(|error| failed(&error))?;
                (commit.id().clone(), true)
            }
            MergePlan::Conflict(conflicts) => {
                return conflict::returned(repo, job, &conflicts).map_err(|error| failed(&error));
            }
        };
        Ok(Record::from(LandingPrepared {
            task: job.agent.task.clone(),
            attempt: job.agent.attempt,
            onto: job.onto.clone(),
            commit,
            merged,
        }))
    }

    pub(super) fn land(&self, job: &LandJob) -> GitWork {
        let failed =
            |error: &dyn std::fmt::Display| format!("the work could not be landed: {error}");
        let workspaces = self.workspaces()?;
        let repo = workspaces.repo();
        if repo
            .branch_tip(&job.integration)
            .map_err(|error| failed(&error))?
            .is_none()
        {
            repo.create_branch(&job.integration, &job.base)
                .map_err(|error| failed(&error))?;
        }
        let moved = repo
            .advance(&job.integration, &job.onto, &job.commit)
            .map_err(|error| failed(&error))?;
        if let Moved::Conflict { .. } = moved {
            return Err(failed(&format!(
                "{} was moved by somebody else",
                job.integration
            )));
        }
        if let Some((_, workspace)) = self.made.remove(&job.agent) {
            match workspaces.retire(&workspace) {
                Ok(_) => {}
                Err(error) => tracing::warn!(agent = %job.agent, %error, "its folder stays"),
            }
        }
        Ok(Record::from(WorkLanded {
            task: job.agent.task.clone(),
            attempt: job.agent.attempt,
            commit: job.commit.clone(),
        }))
    }
}

impl Inner {
    /// Removes the folders that nobody wrote in: checkouts of checks and of readers.
    pub(super) fn take_away(&self) {
        let Some(workspaces) = &self.gear.workspaces else {
            return;
        };
        if let Err(error) = workspaces.discard_checkouts() {
            tracing::warn!(%error, "checkouts stay");
        }
        let shared: BTreeMap<PathBuf, Workspace> = self
            .made
            .iter()
            .filter(|made| made.branch().is_none())
            .map(|made| (made.path().to_owned(), made.value().clone()))
            .collect();
        for (path, workspace) in shared {
            if let Err(error) = workspaces.remove(&workspace) {
                tracing::warn!(path = %path.display(), %error, "a checkout stays");
            }
        }
    }
}

/// Stops the run because of the place it works in.
pub(super) async fn halt(mailbox: &Mailbox, agent: &AgentId, message: &str) {
    let reason = format!("{}: {message}", agent.task);
    mailbox.halt(StopRequest::of_place(reason)).await;
}

/// Commit message: a title, what the agent says of it, and where it came from.
fn message(title: &str, body: &str, run: &RunId, agent: &AgentId) -> String {
    let body = if body.is_empty() {
        String::new()
    } else {
        format!("{body}\n\n")
    };
    format!("{title}\n\n{body}Codewhale-Run: {run}\nCodewhale-Attempt: {agent}\n")
}

/// Paths for a record: the first of them, and how many more there are.
pub(super) fn shown(paths: &[PathBuf]) -> Vec<String> {
    let mut shown: Vec<String> = paths
        .iter()
        .take(PATHS_MAX)
        .map(|path| path.display().to_string())
        .collect();
    if paths.len() > PATHS_MAX {
        shown.push(format!("and {} more", paths.len() - PATHS_MAX));
    }
    shown
}

fn seconds(at: Timestamp) -> UnixSeconds {
    UnixSeconds(at.0.div_euclid(1000))
}
