//! What differs between wires once a connection stands: how the events of a stream make an answer.
//! Never names a wire.

use crate::StreamEvent;
use crate::errors::{Fault, Seen};
use crate::sse::Event;
use engine_core::request::ModelResponse;

/// Puts the events of one stream together.
pub trait Assemble: Send {
    /// Takes the next event; what is worth showing goes to `on_event`.
    ///
    /// # Errors
    /// The failure that the event tells, or [`Fault::Protocol`] when it is not what the wire promises.
    fn take(
        &mut self,
        event: &Event,
        on_event: &mut dyn FnMut(StreamEvent),
    ) -> Result<Progress, Fault>;

    /// Whether anything of the answer has come.
    fn seen(&self) -> Seen;

    /// The answer, when nothing more will come.
    ///
    /// # Errors
    /// [`Fault::StreamCut`] when the stream did not say that it is whole; else the fault that shows
    /// only in the whole.
    fn finish(self) -> Result<ModelResponse, Fault>
    where
        Self: Sized;
}

/// How far a stream is after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The event was none: a keep-alive in disguise, or of a type that is not known.
    Ignored,
    /// More will come.
    Open,
    /// The answer is whole; only its usage and the end mark may still come.
    Whole,
    /// The end mark came.
    Ended,
}
