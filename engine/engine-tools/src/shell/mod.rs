//! Commands as child processes: started by one thread through a helper that confines, supervises
//! and ends them. Never shows them a terminal, never waits for the end of a pipe.

mod background;
mod capture;
pub(crate) mod confinement;
mod env;
mod job;
mod runner;
mod scratch;
mod session;
mod spawner;
pub(crate) mod wire;

pub use crate::helper::probe::available as available_confinement;
pub use background::Background;
pub(crate) use capture::bounded;
pub use capture::{OUTPUT_MAX_BYTES, Output};
pub use confinement::{Confinement, Hold};
pub use env::{BASE_VARIABLES, CommandEnv};
pub use job::{CommandLine, Fence, Job, JobLimits, Leftovers};
pub use runner::{End, Finished, ProcessWatcher, ShellError, ShellRunner, WatcherAnswer};
pub use scratch::Scratch;
pub use spawner::{HelperProgram, Spawner};
pub use wire::{Descendant, Exit, Network, Shortfall};
