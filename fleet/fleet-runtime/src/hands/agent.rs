//! Runs one agent: forms its instructions from the job, gives it tools over its folder, and turns its
//! end into an input. Never decides whether it may run.

use super::AgentJob;
use super::real::Inner;
use super::snapshots::{NoSnapshots, WorktreeSnapshots};
use crate::journal::ManagerJournal;
use crate::mailbox::Mailbox;
use engine_core::content::Content;
use engine_core::ids::Tokens;
use engine_core::outcome::Ending;
use engine_core::prompt::{
    DIFF_MAX_BYTES, Handover, Lesson, Order, Place, Review, Standing, first_message, system_prompt,
};
use engine_core::record::AgentRecord;
use engine_core::tool::Access;
use engine_runtime::{AgentSpec, JournalClosed, Ports, Snapshots, run_agent};
use engine_tools::shell::Network;
use engine_tools::{Toolbox, ToolboxSpec, instructions};
use fleet_core::decide::Input;
use fleet_core::record::AttemptEnd;
use fleet_core::spec::Site;
use fleet_core::state::{Finding, FindingSource};
use fleet_git::UnixSeconds;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Most output tokens of one answer.
const OUTPUT_MAX: Tokens = Tokens(8_192);
impl Inner {
    pub(super) async fn run_agent(
        self: Arc<Self>,
        job: AgentJob,
        mailbox: Mailbox,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let agent = job.agent.clone();
        let limit = job.task.timeout_secs;
        let own = cancel.child_token();
        let work = Arc::clone(&self).drive(job, mailbox, own.clone());
        let end = match limit {
            None => work.await,
            Some(seconds) => within(Duration::from_secs(seconds), work, &own).await,
        };
        Some(Input::AttemptEnded { agent, end })
    }

    async fn drive(
        self: Arc<Self>,
        mut job: AgentJob,
        mailbox: Mailbox,
        cancel: CancellationToken,
    ) -> AttemptEnd {
        let history = std::mem::take(&mut job.history);
        let inbox = std::mem::replace(&mut job.inbox, mpsc::unbounded_channel().1);
        let hands = Arc::clone(&self);
        let made = tokio::task::spawn_blocking(move || hands.equip(&job, history)).await;
        let equipped =
            match made.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
                Ok(equipped) => equipped,
                Err(message) => return AttemptEnd::failed("workspace", &message),
            };
        let Some(model) = self.gear.models.get(&equipped.provider) else {
            let message = format!("provider `{}` is not set up", equipped.provider);
            return AttemptEnd::Provider { message };
        };
        let mut spec = equipped.spec;
        let limits = model.limits(&spec.model);
        spec.context = limits.context;
        if let Some(most) = limits.output {
            spec.max_output = spec.max_output.min(most);
        }
        let tools = Arc::new(equipped.tools);
        let ports = Ports {
            model: Arc::clone(model),
            tools: Arc::<Toolbox>::clone(&tools),
            journal: Arc::new(ManagerJournal::new(mailbox)),
            snapshots: equipped.snapshots,
            inbox,
            observer: self.gear.observer.clone(),
        };
        let stopped = cancel.clone();
        let outcome = run_agent(spec, equipped.history, ports, cancel).await;
        tools.close().await;
        match outcome {
            Ok(outcome) => AttemptEnd::from(outcome),
            // The manager stops, or is gone and records nothing of this end.
            Err(JournalClosed) if stopped.is_cancelled() => AttemptEnd::Interrupted,
            Err(JournalClosed) => {
                AttemptEnd::failed("journal", "the fleet refused what the agent reported")
            }
        }
    }

    fn equip(&self, job: &AgentJob, history: Vec<AgentRecord>) -> Result<Equipped, String> {
        let root = PathBuf::from(&job.path);
        let history = self
            .gear
            .blobs
            .inlined(history)
            .map_err(|error| error.to_string())?;
        let ending = if job.role.gives_verdict {
            Ending::Verdict
        } else {
            Ending::Answer
        };
        let notes = instructions::read(&root);
        let system = system_prompt(&Standing {
            role: &job.task.role,
            place: match job.workspace.site {
                Site::Worktrees => Place::OwnCopy,
                Site::Here => Place::PersonsFolder,
            },
            access: job.role.access,
            ending,
            instructions: job.role.instructions.as_deref(),
            notes: notes.as_deref(),
        });
        let spec = AgentSpec {
            agent: job.agent.clone(),
            model: job.role.model.model.clone(),
            system,
            first: self.order(job)?,
            effort: job.role.effort,
            max_output: OUTPUT_MAX,
            context: None,
            ending,
            steps: job.steps,
            seed: job.seed,
        };
        let (snapshots, writable) = self.snapshots(job)?;
        let mut tools = ToolboxSpec::new(root, job.role.access, self.gear.runner.clone());
        tools.network = if job.role.network {
            Network::Granted
        } else {
            Network::Denied
        };
        tools.narrow.clone_from(&job.role.tools);
        let author = format!("codewhale {}", job.task.role);
        tools.env = self.gear.env.clone().with("GIT_AUTHOR_NAME", author);
        tools.mask = self.gear.mask.clone();
        tools.writable = writable;
        Ok(Equipped {
            provider: job.role.model.provider.clone(),
            spec,
            history,
            tools: Toolbox::new(tools).map_err(|error| error.to_string())?,
            snapshots,
        })
    }

    /// Snapshots of the job's folder, and what of git its commands may write.
    fn snapshots(&self, job: &AgentJob) -> Result<(Arc<dyn Snapshots>, Vec<PathBuf>), String> {
        let writes = job.role.access != Access::Read;
        let (Some(workspaces), Some(start), true) = (
            &self.gear.workspaces,
            &job.start,
            writes && job.branch.is_some(),
        ) else {
            return Ok((Arc::new(NoSnapshots), Vec::new()));
        };
        let known = self.made.get(&job.agent).map(|made| made.value().clone());
        let workspace = known
            .map_or_else(|| workspaces.reopen(Path::new(&job.path)), Ok)
            .map_err(|error| error.to_string())?;
        let writable = workspace
            .writable_git_paths()
            .map_err(|error| error.to_string())?;
        let last = job
            .snapshot
            .as_ref()
            .map_or_else(|| start.clone(), |(commit, _)| commit.clone());
        let message = format!("Snapshot of {}", job.agent);
        let snapshots =
            WorktreeSnapshots::new(workspaces.clone(), workspace, last, message, UnixSeconds(0));
        Ok((Arc::new(snapshots), writable))
    }

    /// The agent's first message.
    fn order(&self, job: &AgentJob) -> Result<String, String> {
        let read = |content: &Content| {
            self.gear
                .blobs
                .text(content)
                .map_err(|error| error.to_string())
        };
        let mut needs = Vec::new();
        for (task, result) in &job.needs {
            needs.push((
                task,
                read(result)?,
                format!("codewhale fleet inspect {task} --run {}", job.run),
            ));
        }
        let mut lessons = Vec::new();
        for finding in &job.findings {
            lessons.push((finding, read(&finding.text)?));
        }
        let needs: Vec<Handover<'_>> = needs
            .iter()
            .map(|(task, text, whole)| Handover { task, text, whole })
            .collect();
        let lessons: Vec<(String, &Finding, &String)> = lessons
            .iter()
            .map(|(finding, text)| (source_of(&finding.source), *finding, text))
            .collect();
        let lessons: Vec<Lesson<'_>> = lessons
            .iter()
            .map(|(source, finding, text)| Lesson {
                attempt: finding.attempt,
                source,
                text,
            })
            .collect();
        let diff = self.review_diff(job)?;
        let review = job.review_of.as_ref().map(|of| Review {
            task: &of.task,
            base: of.base.as_str(),
            commit: of.commit.as_str(),
            diff: &diff,
        });
        Ok(first_message(&Order {
            goal: job.goal.as_deref(),
            prompt: &job.task.prompt,
            needs: &needs,
            lessons: &lessons,
            review,
        }))
    }

    fn review_diff(&self, job: &AgentJob) -> Result<String, String> {
        let (Some(of), Some(workspaces)) = (&job.review_of, &self.gear.workspaces) else {
            return Ok(String::new());
        };
        let diff = workspaces.repo().diff(&of.base, &of.commit, DIFF_MAX_BYTES);
        let diff = diff.map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&diff.patch).into_owned())
    }
}

/// An agent ready to run.
struct Equipped {
    provider: String,
    spec: AgentSpec,
    history: Vec<AgentRecord>,
    tools: Toolbox,
    snapshots: Arc<dyn Snapshots>,
}

/// What earlier attempts are told of where a finding comes from.
fn source_of(source: &FindingSource) -> String {
    match source {
        FindingSource::Check { command, exit, .. } => match exit {
            Some(code) => format!("check `{command}`, exit code {code}"),
            None => format!("check `{command}`, which did not end in time"),
        },
        FindingSource::Review => "review".to_owned(),
        FindingSource::Failure => "the attempt itself".to_owned(),
        FindingSource::Unchanged => "the unchanged files".to_owned(),
        FindingSource::Conflict { .. } => "conflict".to_owned(),
    }
}

/// Stops the work at its time limit; what it then calls an interruption is a failure.
async fn within(
    limit: Duration,
    work: impl Future<Output = AttemptEnd>,
    cancel: &CancellationToken,
) -> AttemptEnd {
    tokio::pin!(work);
    tokio::select! {
        end = &mut work => end,
        () = tokio::time::sleep(limit) => {
            cancel.cancel();
            match work.await {
                AttemptEnd::Interrupted => {
                    AttemptEnd::failed("timeout", &format!("not done after {} s", limit.as_secs()))
                }
                end => end,
            }
        }
    }
}
