//! Messages over HTTP as a [`Model`]. Never holds more than one answer.

use crate::errors::ModelError;
use crate::http::{Endpoint, Manners};
use crate::key::KeyStyle;
use crate::messages::{self, Assembler};
use crate::models::Models;
use crate::{Model, Prepared, StreamEvent};
use engine_core::ids::Tokens;
use engine_core::provider::ModelLimits;
use engine_core::request::{ModelRequest, ModelResponse};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// The version of the wire that is spoken here.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// A provider that speaks messages.
#[derive(Debug)]
pub(crate) struct MessagesModel {
    endpoint: Endpoint,
    models: Models,
}

impl MessagesModel {
    pub(crate) fn new(endpoint: Endpoint, models: Models) -> Self {
        let manners = Manners {
            key: KeyStyle::ApiKey,
            headers: &[VERSION],
        };
        Self {
            endpoint: endpoint.with_manners(manners),
            models,
        }
    }

    /// Base URLs of this wire are written with and without the version at their end.
    fn path(&self, name: &str) -> String {
        if self.endpoint.ends_with("v1") {
            name.to_owned()
        } else {
            format!("v1/{name}")
        }
    }
}

impl Model for MessagesModel {
    fn prepare(&self, request: &ModelRequest<'_>) -> Prepared {
        let prepared = Prepared::new(request, messages::body(request));
        prepared.with_budgeted(messages::budgeted(request))
    }

    fn ask<'a>(
        &'a self,
        prepared: &'a Prepared,
        max_output: Tokens,
        on_event: &'a mut (dyn FnMut(StreamEvent) + Send),
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        async move {
            let effort = prepared.budgeted();
            let body = messages::with_output_limit(prepared.body(), max_output, effort);
            self.endpoint
                .answer::<Assembler>(&self.path("messages"), body, on_event)
                .await
        }
        .boxed()
    }

    fn limits(&self, model: &str) -> ModelLimits {
        self.models.limits(model)
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        async move { self.endpoint.probe(&self.path("models")).await }.boxed()
    }
}
