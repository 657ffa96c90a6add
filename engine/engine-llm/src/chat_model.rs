//! Chat completions over HTTP as a [`Model`]. Never holds more than one answer.

use crate::chat::{self, Assembler, Dialect};
use crate::errors::ModelError;
use crate::http::Endpoint;
use crate::models::Models;
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
            self.endpoint
                .answer::<Assembler>("chat/completions", body, on_event)
                .await
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
