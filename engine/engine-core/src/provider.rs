//! Where models are asked, and what fits into them, as values. Never asks one.

use crate::ids::Tokens;
use serde::{Deserialize, Serialize};

/// Where models are asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProviderSpec {
    /// A server of chat completions.
    Openai(Server),
    /// A server of messages.
    Anthropic(Server),
    /// Plays back a file of turns; asks nobody.
    Scripted {
        /// The file of turns; absolute.
        script: String,
    },
}

impl ProviderSpec {
    /// A server that speaks this wire.
    #[must_use]
    pub fn at(wire: Wire, server: Server) -> Self {
        match wire {
            Wire::Openai => Self::Openai(server),
            Wire::Anthropic => Self::Anthropic(server),
        }
    }

    /// The server that is asked and how it is spoken to; `None`: nobody is asked.
    #[must_use]
    pub fn server(&self) -> Option<(Wire, &Server)> {
        match self {
            Self::Openai(server) => Some((Wire::Openai, server)),
            Self::Anthropic(server) => Some((Wire::Anthropic, server)),
            Self::Scripted { .. } => None,
        }
    }

    /// Name of the environment variable that holds its key; `None`: no key is sent.
    #[must_use]
    pub fn key_env(&self) -> Option<&str> {
        self.server()
            .and_then(|(_, server)| server.key_env.as_deref())
    }
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Streamed chat completions.
    Openai,
    /// Streamed messages.
    Anthropic,
}

impl Wire {
    /// Every wire there is.
    pub const ALL: &[Self] = &[Self::Openai, Self::Anthropic];

    /// Its name in rosters and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The wire with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|wire| wire.name() == name)
    }
}

/// What fits into a model, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelLimits {
    /// Most tokens of a request and its answer together.
    pub context: Option<Tokens>,
    /// Most tokens of one answer.
    pub output: Option<Tokens>,
}

impl ModelLimits {
    /// These, and where they say nothing, those.
    #[must_use]
    pub fn or(self, those: Self) -> Self {
        Self {
            context: self.context.or(those.context),
            output: self.output.or(those.output),
        }
    }
}

/// A server of models over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Without what the wire adds to it, such as `/chat/completions`.
    pub base_url: String,
    /// Name of the environment variable that holds the key; `None`: no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Most tokens of a request and its answer together, for each of its models; `None`: as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Tokens>,
    /// Most tokens of one answer, for each of its models; `None`: as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Tokens>,
}

impl Server {
    /// A server whose models have the limits that are known of them.
    #[must_use]
    pub fn new(base_url: &str, key_env: Option<&str>) -> Self {
        Self {
            base_url: base_url.to_owned(),
            key_env: key_env.map(str::to_owned),
            context: None,
            output: None,
        }
    }

    /// What is said of all its models.
    #[must_use]
    pub fn limits(&self) -> ModelLimits {
        ModelLimits {
            context: self.context,
            output: self.output,
        }
    }
}
