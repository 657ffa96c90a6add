//! The smallest program around the shell: it serves as the helper of a spawner, and, for tests that
//! need a product in a process of its own, runs one command and prints what became of it.

use engine_tools::mask::Mask;
use engine_tools::shell::{
    CommandEnv, CommandLine, Fence, Finished, HelperProgram, Job, JobLimits, Leftovers, Network,
    Scratch, ShellError, ShellRunner, Shortfall, Spawner,
};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Arguments after the program's name: a folder, a time limit in milliseconds, a command line, and
/// optionally a terminal to run on and a file to print to.
fn main() -> ExitCode {
    if let Some(code) = engine_tools::helper::run_if_asked(std::env::args_os()) {
        return code;
    }
    match product(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn product(arguments: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().ok_or("an argument is missing");
    let (folder, time, line) = (next()?, next()?, next()?);
    let report = match (next(), next()) {
        (Ok(terminal), Ok(report)) => {
            take_terminal(&terminal)?;
            Some(report)
        }
        _ => None,
    };
    let before = peak_kilobytes();
    let job = job(folder.into(), Duration::from_millis(time.parse()?), line)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let finished = runtime.block_on(run(&job))?;
    let told = format!(
        "{:?}\n{}\n{}\n{}\n{}",
        finished.end,
        finished.output.left_out_bytes,
        finished.output.text.len(),
        peak_kilobytes().saturating_sub(before),
        finished.output.text,
    );
    match report {
        Some(path) => std::fs::write(path, told)?,
        None => println!("{told}"),
    }
    Ok(())
}

async fn run(job: &Job) -> Result<Finished, ShellError> {
    let program = HelperProgram::this_program().map_err(ShellError::Helper)?;
    let spawner = Spawner::start(program).map_err(ShellError::Helper)?;
    ShellRunner::new(spawner)
        .run(job, &CancellationToken::new())
        .await
}

fn job(folder: PathBuf, time: Duration, line: String) -> std::io::Result<Job> {
    Ok(Job {
        command: CommandLine::Shell(line),
        env: CommandEnv::inherit(std::env::vars_os(), &[], &[]),
        scratch: Arc::new(Scratch::new_in(&std::env::temp_dir())?),
        fence: Fence::Confined {
            writable: vec![folder.clone()],
            network: Network::Granted,
            shortfall: Shortfall::Refused,
        },
        folder,
        mask: Mask::default(),
        limits: JobLimits {
            time,
            ..JobLimits::default()
        },
        leftovers: Leftovers::End,
    })
}

/// A session of its own whose terminal is this one, as when a person starts the program there.
fn take_terminal(path: &str) -> std::io::Result<()> {
    rustix::process::setsid()?;
    let terminal = std::fs::File::options().read(true).write(true).open(path)?;
    rustix::stdio::dup2_stdin(&terminal)?;
    rustix::stdio::dup2_stdout(&terminal)?;
    rustix::stdio::dup2_stderr(&terminal)?;
    Ok(())
}

/// The most memory this process has had, in kilobytes.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    number.unwrap_or(0)
}
