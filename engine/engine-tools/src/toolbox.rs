//! The tools of one agent over one workspace: what there is, what a call means, and its answer.
//! Never asks anybody for permission: whoever calls `run` has decided.

use crate::call::{Action, CallEnd, OnFiles, PreparedCall, Refusal, ToolOutput, one_line};
use crate::catalog::{Catalog, UnknownTool};
use crate::helper::probe;
use crate::mask::Mask;
use crate::pool;
use crate::shell::{
    Background, CommandEnv, CommandLine, End, Fence, Finished, Job, JobLimits, Leftovers, Network,
    OUTPUT_MAX_BYTES, Scratch, ShellError, ShellRunner, Shortfall, bounded,
};
use crate::tools::{Desk, edit, git, glob, grep, list, patch, read, shell, todo, write};
use crate::workspace::jail::Jail;
use crate::workspace::view::FileView;
use engine_core::message::{ToolCall, ToolStatus};
use engine_core::tool::{Access, EffectClass, ToolSpec};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

/// Time limit of the `git` tool.
const GIT_TIME: Duration = Duration::from_secs(60);

/// Room for notes in an answer beyond its cap.
const NOTES_MAX_BYTES: usize = 4 * 1024;

/// What a model reads where a tool had nothing to say.
const NO_OUTPUT: &str = "(no output)";

/// What a toolbox is made of.
#[derive(Debug, Clone)]
pub struct ToolboxSpec {
    /// The folder that the tools work in and never leave.
    pub root: PathBuf,
    /// Which tools there are, and whether the shell is confined.
    pub access: Access,
    /// Whether the shell may use the network.
    pub network: Network,
    /// Only these tools, when given. See [`crate::catalog::tool_names`].
    pub narrow: Option<Vec<String>>,
    /// Environment of commands.
    pub env: CommandEnv,
    /// What no result may show.
    pub mask: Mask,
    /// Places outside the root that the shell may change: the git folders of its own branch.
    /// They must exist when a command starts.
    pub writable: Vec<PathBuf>,
    /// Most bytes of one result. [`ToolboxSpec::new`] takes 64 KiB.
    pub output_bytes: usize,
    /// What runs its commands.
    pub runner: ShellRunner,
}

impl ToolboxSpec {
    /// A spec with nothing granted: no network, no places outside, an empty environment.
    #[must_use]
    pub fn new(root: PathBuf, access: Access, runner: ShellRunner) -> Self {
        Self {
            root,
            access,
            network: Network::Denied,
            narrow: None,
            env: CommandEnv::default(),
            mask: Mask::default(),
            writable: Vec::new(),
            output_bytes: OUTPUT_MAX_BYTES,
            runner,
        }
    }
}

/// Why there is no toolbox.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// The root cannot be worked in.
    #[error("`{}` cannot be worked in: {error}", root.display())]
    Root {
        /// The root.
        root: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A name to narrow by is unknown.
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
}

/// The tools of one agent. Shared by its calls: readers may run at the same time; calls that change
/// something run one after the other, in the order in which they were started.
#[derive(Debug)]
pub struct Toolbox {
    catalog: Catalog,
    desk: Arc<Desk>,
    env: CommandEnv,
    fence: Fence,
    runner: ShellRunner,
    scratch: OnceCell<Arc<Scratch>>,
    /// Held by the call that changes something, until the change is over: also when nobody waits for
    /// the call any more.
    change: Arc<Mutex<()>>,
    background: SyncMutex<Vec<Background>>,
    closed: CancellationToken,
}

impl Toolbox {
    /// Makes a toolbox. Starts no process.
    ///
    /// # Errors
    /// When the root is no readable folder, or a name to narrow by is unknown.
    pub fn new(spec: ToolboxSpec) -> Result<Self, ToolboxError> {
        let jail = Jail::open(&spec.root).map_err(|error| ToolboxError::Root {
            root: spec.root.clone(),
            error,
        })?;
        let (fence, shell_effect) = fence_of(&spec, jail.root().to_owned());
        let catalog = Catalog::new(spec.access, spec.narrow.as_deref(), shell_effect)?;
        Ok(Self {
            catalog,
            desk: Arc::new(Desk {
                jail,
                view: FileView::default(),
                mask: spec.mask,
                output_bytes: spec.output_bytes,
            }),
            env: spec.env,
            fence,
            runner: spec.runner,
            scratch: OnceCell::new(),
            change: Arc::default(),
            background: SyncMutex::new(Vec::new()),
            closed: CancellationToken::new(),
        })
    }

    /// What the model may call.
    #[must_use]
    pub fn catalog(&self) -> &[ToolSpec] {
        self.catalog.specs()
    }

    /// Understands a call without running it.
    ///
    /// # Errors
    /// When the tool is not in the catalog or its arguments do not fit; the error's text is the
    /// call's result for the model.
    pub fn prepare(&self, call: &ToolCall) -> Result<PreparedCall, Refusal> {
        let (tool, effect, action) = self.catalog.understand(call)?;
        if let Action::Files(files) = &action {
            let stand_in = files
                .written()
                .and_then(|text| self.desk.mask.stand_in(text));
            if let Some(stand_in) = stand_in {
                let stand_in = stand_in.to_owned();
                return Err(Refusal::StandIn { stand_in });
            }
        }
        let summary = one_line(&self.desk.mask.text(&action.gist()));
        Ok(PreparedCall {
            call: call.id.clone(),
            tool,
            effect,
            summary,
            action,
        })
    }

    /// Runs a call to its end. Cancelling ends what it started and gives an answer that says so;
    /// dropping the future ends what it started as well, without an answer.
    pub async fn run(&self, call: PreparedCall, cancel: CancellationToken) -> ToolOutput {
        let token = cancel.child_token();
        // A search goes on on a thread of its own: dropping the future has to tell it.
        let stop = token.clone().drop_guard();
        let running = self.dispatch(call.action, token);
        tokio::pin!(running);
        let output = tokio::select! {
            output = &mut running => output,
            () = self.closed.cancelled() => {
                drop(stop);
                running.await
            }
        };
        self.finish(output)
    }

    /// Ends everything that still runs: calls, and what commands left in the background. Later calls
    /// are not run.
    pub async fn close(&self) {
        self.closed.cancel();
        let _nothing_changes = self.change.lock().await;
        let all = std::mem::take(&mut *self.lock_background());
        let mut ending = tokio::task::JoinSet::new();
        for background in all {
            ending.spawn(background.end());
        }
        ending.join_all().await;
    }

    async fn dispatch(&self, action: Action, cancel: CancellationToken) -> ToolOutput {
        if cancel.is_cancelled() || self.closed.is_cancelled() {
            return not_run();
        }
        let turn = if action.is_change() {
            tokio::select! {
                turn = Arc::clone(&self.change).lock_owned() => Some(turn),
                () = cancel.cancelled() => return not_run(),
            }
        } else {
            None
        };
        match action {
            Action::Git(args) => self.git(&args, &cancel).await,
            // The command holds the turn until it has ended.
            Action::Shell(args) => self.shell(&args, &cancel).await,
            Action::Todo(args) => told_by(todo::run(&args)),
            Action::Files(action) => self.on_desk(action, turn, cancel).await,
        }
    }

    /// Runs a file tool on a thread that may block. What nobody waits for any more does not begin.
    async fn on_desk(
        &self,
        action: OnFiles,
        turn: Option<OwnedMutexGuard<()>>,
        cancel: CancellationToken,
    ) -> ToolOutput {
        let desk = Arc::clone(&self.desk);
        let work = move || {
            let _until_it_is_over = turn;
            if cancel.is_cancelled() {
                return not_run();
            }
            on_files(&action, &desk, &cancel)
        };
        pool::run(work)
            .await
            .unwrap_or_else(|error| answer(ToolStatus::Error, error.to_string()))
    }

    async fn git(&self, args: &git::Args, cancel: &CancellationToken) -> ToolOutput {
        let command = CommandLine::Program {
            program: "git".into(),
            args: git::command_line(args),
        };
        let job = self.job(command).await.map(|job| Job {
            // Where the kernel confines nothing, the rules of the tool have to do.
            fence: Fence::Confined {
                writable: Vec::new(),
                network: Network::Denied,
                shortfall: Shortfall::Accepted,
            },
            env: job.env.with("GIT_NO_LAZY_FETCH", "1"),
            limits: JobLimits {
                time: GIT_TIME,
                ..job.limits
            },
            leftovers: Leftovers::End,
            ..job
        });
        self.command(job, cancel).await
    }

    async fn shell(&self, args: &shell::Args, cancel: &CancellationToken) -> ToolOutput {
        let command = CommandLine::Shell(args.command.clone());
        let job = self.job(command).await.map(|job| Job {
            limits: JobLimits {
                time: args.time(),
                ..job.limits
            },
            ..job
        });
        self.command(job, cancel).await
    }

    /// A command as the shell tool runs it.
    async fn job(&self, command: CommandLine) -> std::io::Result<Job> {
        Ok(Job {
            command,
            folder: self.desk.jail.root().to_owned(),
            env: self.env.clone(),
            scratch: self.scratch().await?,
            fence: self.fence.clone(),
            mask: self.desk.mask.clone(),
            limits: JobLimits {
                output_bytes: self.desk.output_bytes,
                ..JobLimits::default()
            },
            leftovers: Leftovers::Keep,
        })
    }

    async fn command(&self, job: std::io::Result<Job>, cancel: &CancellationToken) -> ToolOutput {
        let job = match job {
            Ok(job) => job,
            Err(error) => return answer(ToolStatus::Error, format!("no folder for it: {error}")),
        };
        match self.runner.run(&job, cancel).await {
            Ok(finished) => self.told(finished, job.limits.time),
            Err(ShellError::NotStarted) => not_run(),
            Err(error) if error.may_have_run() => answer(
                ToolStatus::Error,
                format!("{error}; it may have had effects"),
            ),
            Err(error) => answer(ToolStatus::Error, error.to_string()),
        }
    }

    fn told(&self, finished: Finished, time: Duration) -> ToolOutput {
        let (status, text) = shell::tell(&finished, time);
        let end = match finished.end {
            End::Cancelled => CallEnd::Stopped,
            End::Exited(_) | End::TimedOut => CallEnd::Done,
        };
        if let Some(background) = finished.background {
            let mut all = self.lock_background();
            all.retain(Background::is_running);
            all.push(background);
        }
        ToolOutput {
            end,
            status,
            text,
            confinement: Some(finished.confinement),
        }
    }

    async fn scratch(&self) -> std::io::Result<Arc<Scratch>> {
        let make = || async {
            let made = pool::run(|| Scratch::new_in(&std::env::temp_dir())).await;
            made.map_err(std::io::Error::other)?.map(Arc::new)
        };
        self.scratch.get_or_try_init(make).await.cloned()
    }

    /// What holds for every answer: it is never blank, shows no secret and has an end.
    fn finish(&self, mut output: ToolOutput) -> ToolOutput {
        if output.text.trim().is_empty() {
            NO_OUTPUT.clone_into(&mut output.text);
        } else if let Cow::Owned(masked) = self.desk.mask.text(&output.text) {
            output.text = masked;
        }
        if output.text.len() > self.desk.output_bytes + NOTES_MAX_BYTES {
            output.text = bounded(output.text, self.desk.output_bytes);
        }
        output
    }

    fn lock_background(&self) -> std::sync::MutexGuard<'_, Vec<Background>> {
        // A list of handles is whole after every step: a panic elsewhere does not spoil it.
        self.background
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the shell is confined, and what a call of it may therefore touch. Where the kernel holds less
/// than was asked, commands still run, every result says so, and they count as reaching outside.
fn fence_of(spec: &ToolboxSpec, root: PathBuf) -> (Fence, EffectClass) {
    if spec.access == Access::Full {
        return (Fence::Open, EffectClass::Reaches);
    }
    let held = probe::available(spec.network);
    let (shortfall, effect) = if held.is_sealed() {
        (Shortfall::Refused, EffectClass::Runs)
    } else {
        (Shortfall::Accepted, EffectClass::Reaches)
    };
    let mut writable = spec.writable.clone();
    writable.push(root);
    let fence = Fence::Confined {
        writable,
        network: spec.network,
        shortfall,
    };
    (fence, effect)
}

/// Does what a call asks of files.
fn on_files(action: &OnFiles, desk: &Desk, cancel: &CancellationToken) -> ToolOutput {
    match action {
        OnFiles::Read(args) => told_by(read::run(args, desk)),
        OnFiles::List(args) => told_by(list::run(args, desk)),
        OnFiles::Glob(args) => told_by(glob::run(args, desk, cancel)),
        OnFiles::Grep(args) => told_by(grep::run(args, desk, cancel)),
        OnFiles::Write(args) => told_by(write::run(args, desk)),
        OnFiles::Edit(args) => told_by(edit::run(args, desk)),
        OnFiles::Patch(args) => told_by(patch::run(args, desk)),
    }
}

/// What a tool says, or what is wrong.
fn told_by<E: std::error::Error>(told: Result<String, E>) -> ToolOutput {
    match told {
        Ok(text) => answer(ToolStatus::Ok, text),
        Err(error) => answer(ToolStatus::Error, error.to_string()),
    }
}

fn answer(status: ToolStatus, text: String) -> ToolOutput {
    ToolOutput {
        end: CallEnd::Done,
        status,
        text,
        confinement: None,
    }
}

fn not_run() -> ToolOutput {
    let text = "cancelled before it started: it was not run".to_owned();
    ToolOutput {
        end: CallEnd::NotRun,
        ..answer(ToolStatus::Error, text)
    }
}
