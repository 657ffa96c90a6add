//! Asks models: the wires of providers over HTTP, and the scripted provider that asks nobody.
//!
//! One trait, [`Model`], hides which it is. The parts with rules in them are pure and take no
//! socket: [`sse`] (bytes to events), [`chat`] (requests to bodies, events to an answer),
//! [`retry_after`] and the classification in [`errors`]. This crate never retries, never counts a
//! budget, never writes a record and never shows a key.

pub mod errors;
mod model;
pub mod retry_after;

pub use errors::{ErrorClass, Fault, ModelError};
pub use model::{Model, Prepared, StreamEvent};
