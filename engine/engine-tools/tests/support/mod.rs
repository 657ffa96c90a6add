//! What the tests of this crate share: a spawner over the test helper, jobs, and waiting for facts.
#![allow(
    dead_code,
    reason = "each test target uses its own part of this module"
)]

use engine_core::ids::CallId;
use engine_core::message::{Arguments, ToolCall, ToolStatus};
use engine_core::tool::Access;
use engine_tools::mask::Mask;
use engine_tools::shell::{
    CommandEnv, CommandLine, Fence, HelperProgram, Job, JobLimits, Leftovers, Network, Scratch,
    ShellRunner, Shortfall, Spawner,
};
use engine_tools::{Toolbox, ToolboxSpec};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a test waits for something that must come to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A runner over the test helper.
pub(crate) fn runner() -> ShellRunner {
    let helper = HelperProgram::at(env!("CARGO_BIN_EXE_engine-tools-helper").into());
    ShellRunner::new(Spawner::start(helper).unwrap())
}

/// The environment of commands in tests: the machine's PATH and nothing else of it.
pub(crate) fn env() -> CommandEnv {
    CommandEnv::default().with("PATH", std::env::var_os("PATH").unwrap())
}

/// A confined job without network that may write in `folder`.
pub(crate) fn job(folder: &Path, line: &str) -> Job {
    Job {
        command: CommandLine::Shell(line.to_owned()),
        folder: folder.to_owned(),
        env: env(),
        scratch: Arc::new(Scratch::new_in(&std::env::temp_dir()).unwrap()),
        fence: Fence::Confined {
            writable: vec![folder.to_owned()],
            network: Network::Denied,
            shortfall: Shortfall::Refused,
        },
        mask: Mask::default(),
        limits: JobLimits {
            time: PATIENCE,
            ..JobLimits::default()
        },
        leftovers: Leftovers::End,
    }
}

/// True while a process with this pid is there and has not ended.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until `fact` holds; panics when it does not come to pass.
pub(crate) async fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !fact() {
        assert!(Instant::now() < deadline, "never came to pass: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A toolbox over `root` with nothing granted beyond its access.
pub(crate) fn toolbox(root: &Path, access: Access) -> Toolbox {
    let spec = ToolboxSpec::new(root.to_owned(), access, runner());
    Toolbox::new(ToolboxSpec { env: env(), ..spec }).unwrap()
}

/// A call as a model would make it.
pub(crate) fn call(name: &str, arguments: &serde_json::Value) -> ToolCall {
    ToolCall {
        id: CallId("c1".to_owned()),
        name: name.to_owned(),
        arguments: Arguments::Object(arguments.to_string()),
    }
}

/// Runs one call to its end. A refusal counts as an error with its text.
pub(crate) async fn use_tool(
    toolbox: &Toolbox,
    name: &str,
    arguments: serde_json::Value,
) -> Result<String, String> {
    let prepared = match toolbox.prepare(&call(name, &arguments)) {
        Ok(prepared) => prepared,
        Err(refusal) => return Err(refusal.to_string()),
    };
    let output = toolbox.run(prepared, CancellationToken::new()).await;
    match output.status {
        ToolStatus::Ok => Ok(output.text),
        ToolStatus::Error => Err(output.text),
    }
}
