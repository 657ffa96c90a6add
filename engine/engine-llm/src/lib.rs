//! Asks models: the wires of providers over HTTP, and the scripted provider that asks nobody.
//!
//! One trait, [`Model`], hides which it is; [`providers::build`] makes one. The parts with rules in
//! them are pure and take no socket: [`sse`] (bytes to events), [`chat`] and [`messages`] (requests to
//! bodies, events to an answer), [`retry_after`] and the classification in [`errors`]. This crate never retries,
//! never counts a budget, never writes a record and never shows a key.

mod arguments;
pub mod chat;
mod chat_model;
pub mod errors;
mod http;
mod key;
pub mod limits;
pub mod messages;
mod messages_model;
mod model;
pub mod models;
pub mod providers;
pub mod retry_after;
mod scripted;
pub mod sse;
pub mod wire;

pub use errors::{ErrorClass, Fault, ModelError, Seen};
pub use http::{BadAddress, PlainHttp};
pub use key::UnusableKey;
pub use model::{Model, Prepared, StreamEvent};
pub use scripted::ScriptError;
