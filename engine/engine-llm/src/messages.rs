//! The wire of streamed messages, as Anthropic describes it and as the servers that claim to be
//! compatible really speak it. Pure: never opens a connection.

mod assemble;
mod block;
mod body;
mod effort;
mod event;
mod thinking;

pub use assemble::Assembler;
pub use body::budgeted;
pub use body::{body, with_output_limit};
pub use effort::{EffortStyle, style_of};
pub use thinking::Thinking;
