//! The one interface to a model, whatever its wire. Never says how often to ask again: that is the
//! caller's, who knows the budget and the other agents.

use crate::errors::ModelError;
use engine_core::ids::{AgentId, Tokens};
use engine_core::provider::ModelLimits;
use engine_core::request::{Effort, ModelRequest, ModelResponse, Purpose};
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A place where models are asked: one provider with one key.
pub trait Model: Send + Sync {
    /// Forms the body of a request, without its output limit, so that its hash and size can be
    /// recorded before the limit is known.
    fn prepare(&self, request: &ModelRequest<'_>) -> Prepared;

    /// Sends a prepared request and waits for the whole answer. `on_event` hears its pieces as they
    /// come; they are for display only and may belong to an answer that then fails. Dropping the
    /// future ends the connection.
    fn ask<'a>(
        &'a self,
        prepared: &'a Prepared,
        max_output: Tokens,
        on_event: &'a mut (dyn FnMut(StreamEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>>;

    /// What fits into one of its models, as far as it is known: as the person said it, else as the
    /// tables of [`crate::models`] have it.
    fn limits(&self, _model: &str) -> ModelLimits {
        ModelLimits::default()
    }

    /// Tells within seconds whether the provider can be reached and takes the key. Costs no tokens.
    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>>;
}

/// A request ready to be sent, but for its output limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// SHA-256 over the body without its output limit, 64 lower-case hex digits.
    pub hash: String,
    /// Length of that body in bytes.
    pub bytes: u64,
    agent: AgentId,
    turn: u32,
    purpose: Purpose,
    body: String,
    budgeted: Option<Effort>,
}

impl Prepared {
    /// A request with the body that a wire made of it: a JSON object without its output limit.
    #[must_use]
    pub fn new(request: &ModelRequest<'_>, body: String) -> Self {
        Self {
            hash: sha256_hex(body.as_bytes()),
            bytes: body.len() as u64,
            agent: request.agent.clone(),
            turn: request.turn,
            purpose: request.purpose,
            body,
            budgeted: None,
        }
    }

    /// The same, with thinking whose size depends on the output limit.
    #[must_use]
    pub(crate) fn with_budgeted(self, effort: Option<Effort>) -> Self {
        Self {
            budgeted: effort,
            ..self
        }
    }

    /// How hard the model is to be told to think once the output limit is known.
    pub(crate) fn budgeted(&self) -> Option<Effort> {
        self.budgeted
    }

    /// Whose request it is.
    #[must_use]
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Which turn of the conversation it asks for, from 1; see [`ModelRequest::turn`].
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// What it is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The body without its output limit.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }
}

/// A piece of an answer that is still coming. For display only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// A tool call has begun; its arguments follow silently.
    Call {
        /// Name of the tool.
        name: String,
    },
}

fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
    }
    hex
}
