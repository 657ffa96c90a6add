//! Chat completions over HTTP as a [`Model`]. Never holds more than one answer.

use crate::chat::{self, Assembler, Dialect};
use crate::errors::ModelError;
use crate::http::Endpoint;
use crate::models::Models;
use crate::wire::Assemble;
use crate::{Model, Prepared, StreamEvent};
use engine_core::ids::Tokens;
use engine_core::provider::ModelLimits;
use engine_core::request::{ModelRequest, ModelResponse};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// A provider that speaks chat completions.
#[derive(Debug)]
pub(crate) struct ChatModel {
    pub(crate) endpoint: Endpoint,
    pub(crate) dialect: Dialect,
    pub(crate) models: Models,
}

impl Model for ChatModel {
    fn prepare(&self, request: &ModelRequest<'_>) -> Prepared {
        Prepared::new(request, chat::body(request, self.dialect))
    }

    fn ask<'a>(
        &'a self,
        prepared: &'a Prepared,
        max_output: Tokens,
        on_event: &'a mut (dyn FnMut(StreamEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        async move {
            let body = chat::with_output_limit(prepared.body(), max_output, self.dialect.limit);
            let mut answer = Assembler::default();
            self.endpoint
                .stream("chat/completions", body, &mut answer, on_event)
                .await?;
            let seen = answer.seen();
            answer
                .finish()
                .map_err(|fault| self.endpoint.error(fault, seen))
        }
        .boxed()
    }

    fn limits(&self, model: &str) -> ModelLimits {
        self.models.limits(model)
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.endpoint.probe("models").boxed()
    }
}
