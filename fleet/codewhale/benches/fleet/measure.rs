//! Time and memory of one process and of all it started, and the table they are shown in. Measures in
//! a small process of its own, because a process begins with its parent's peak of memory.

use nix::sys::resource::{UsageWho, getrusage};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// First argument of this program when it is to measure a command.
const MEASURED: &str = "--measured";

/// A command, still to be run.
pub(crate) struct Plan {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// What a command cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// From its start to its end.
    wall: Duration,
    /// User and system time of it and of every process it started and waited for.
    cpu: Duration,
    /// Peak of resident memory of its largest process, in KiB.
    memory: u64,
}

/// Runs a command to its end in a small process of its own.
///
/// # Panics
/// When it fails, with what it said.
pub(crate) fn measured(plan: &Plan) -> Cost {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .arg(MEASURED)
        .arg(&plan.program)
        .args(&plan.arguments)
        .current_dir(&plan.folder)
        .env_clear()
        .envs(plan.variables.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("this program starts again");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", plan.arguments);
    let line = String::from_utf8(output.stdout).expect("numbers are text");
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map(|word| word.parse().expect("three numbers"))
        .collect();
    Cost {
        wall: Duration::from_micros(numbers[0]),
        cpu: Duration::from_micros(numbers[1]),
        memory: numbers[2],
    }
}

/// The other side of [`measured`]: runs the command and prints its cost.
pub(crate) fn run_if_asked(arguments: &[String]) -> Option<ExitCode> {
    let [first, program, arguments @ ..] = arguments else {
        return None;
    };
    if first != MEASURED {
        return None;
    }
    let start = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .expect("the command starts");
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts");
    let (user, system) = (usage.user_time(), usage.system_time());
    let micros = (user.tv_sec() + system.tv_sec()) * 1_000_000 + user.tv_usec() + system.tv_usec();
    println!("{} {micros} {}", wall.as_micros(), usage.max_rss());
    Some(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Opens the table.
pub(crate) fn print_head() {
    println!(
        "{:<36} {:>4}  {:>24}  {:>24}  {:>9}",
        "", "runs", "wall ms (min-max)", "CPU ms (min-max)", "peak MiB"
    );
}

/// One line of the table: medians with their ranges, and the largest peak.
pub(crate) fn print_row(name: &str, costs: &[Cost]) {
    let memory = costs.iter().map(|cost| cost.memory).max().unwrap_or(0);
    println!(
        "{name:<36} {:>4}  {:>24}  {:>24}  {:>9.1}",
        costs.len(),
        spread(costs.iter().map(|cost| cost.wall)),
        spread(costs.iter().map(|cost| cost.cpu)),
        mebibytes(memory),
    );
}

fn spread(times: impl Iterator<Item = Duration>) -> String {
    let mut millis: Vec<f64> = times.map(|time| time.as_secs_f64() * 1_000.0).collect();
    millis.sort_by(f64::total_cmp);
    let (first, last) = (millis[0], millis[millis.len() - 1]);
    format!("{:.1} ({first:.1}-{last:.1})", millis[millis.len() / 2])
}

fn mebibytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) / 1024.0
}
