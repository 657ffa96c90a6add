//! The wire of streamed chat completions, as OpenAI describes it and as the servers that claim to
//! be compatible really speak it. Pure: never opens a connection.

mod assemble;
mod body;
mod calls;
mod chunk;
mod dialect;

pub use assemble::Assembler;
pub use body::{body, with_output_limit};
pub use dialect::{Dialect, EffortField, LimitField, ReasoningBack, UsageReport};
