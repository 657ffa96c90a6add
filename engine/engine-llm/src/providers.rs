//! The providers that are known by name, as data, and how one is made ready to be asked. Never
//! reads the environment itself and never opens a connection.

use crate::Model;
use crate::chat::{Dialect, EffortField, LimitField, ReasoningBack, UsageReport};
use crate::chat_model::ChatModel;
use crate::http::{BadAddress, Endpoint, PlainHttp};
use crate::key::{Key, UnusableKey};
use crate::limits::Limits;
use crate::messages::{EffortStyle, style_of};
use crate::messages_model::MessagesModel;
use crate::models::{KnownModel, Models};
use crate::scripted::{Script, ScriptError};
use engine_core::provider::{ProviderSpec, Server, Wire};
use std::path::Path;
use std::sync::Arc;

/// A provider known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name before the slash of a model.
    pub id: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// How it is spoken to.
    pub wire: Wire,
    /// Without what the wire adds, such as `/chat/completions`.
    pub base_url: &'static str,
    /// Variable that usually holds its key; `None`: it needs none.
    pub key_env: Option<&'static str>,
    /// How it wants its requests.
    pub dialect: Dialect,
    /// What is known of its models.
    pub models: &'static [KnownModel],
}

impl Row {
    /// The provider as it is asked when nothing else is said about it.
    #[must_use]
    pub fn spec(&self) -> ProviderSpec {
        ProviderSpec::at(self.wire, Server::new(self.base_url, self.key_env))
    }

    /// The host of its base URL, with its port where it has one.
    fn host(&self) -> &'static str {
        let after_scheme = self.base_url.split("//").nth(1).unwrap_or("");
        after_scheme.split('/').next().unwrap_or("")
    }
}

const PLAIN: Dialect = Dialect {
    limit: LimitField::MaxTokens,
    usage: UsageReport::Asked,
    reasoning: ReasoningBack::Never,
    effort: EffortField::ReasoningEffort,
};
const NEWER_LIMIT: Dialect = Dialect {
    limit: LimitField::MaxCompletionTokens,
    ..PLAIN
};
const REASONING_BACK: Dialect = Dialect {
    reasoning: ReasoningBack::WithCalls,
    ..PLAIN
};
const STRICT_FIELDS: Dialect = Dialect {
    usage: UsageReport::Unasked,
    effort: EffortField::Unknown,
    ..PLAIN
};

const fn model(prefix: &'static str, context: u64, output: u64) -> KnownModel {
    KnownModel {
        prefix,
        context,
        output,
    }
}

const OPENAI_MODELS: &[KnownModel] = &[
    model("gpt-5", 400_000, 128_000),
    model("gpt-5-chat", 128_000, 16_384),
    model("gpt-5.", 0, 0),
    model("gpt-5.1", 400_000, 128_000),
    model("gpt-5.1-chat", 128_000, 16_384),
    model("gpt-4.1", 1_047_576, 32_768),
    model("gpt-4o", 128_000, 16_384),
    model("o3", 200_000, 100_000),
    model("o4-mini", 200_000, 100_000),
];

const ANTHROPIC_MODELS: &[KnownModel] = &[
    model("claude-fable-5", 1_000_000, 128_000),
    model("claude-opus-5", 1_000_000, 128_000),
    model("claude-sonnet-5", 1_000_000, 128_000),
    model("claude-haiku-5", 1_000_000, 128_000),
    model("claude-opus-4-5", 200_000, 64_000),
    model("claude-opus-4-1", 200_000, 32_000),
    model("claude-sonnet-4-5", 200_000, 64_000),
    model("claude-haiku-4-5", 200_000, 64_000),
];

const DEEPSEEK_MODELS: &[KnownModel] = &[model("deepseek-v4", 1_000_000, 384_000)];

const GEMINI_MODELS: &[KnownModel] = &[
    model("gemini-2.5-flash", 1_048_576, 65_535),
    model("gemini-2.5-pro", 1_048_576, 65_535),
];

/// Every provider known by name.
pub const ROWS: &[Row] = &[
    Row {
        id: "openai",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        dialect: NEWER_LIMIT,
        models: OPENAI_MODELS,
    },
    Row {
        id: "anthropic",
        aliases: &["claude"],
        wire: Wire::Anthropic,
        base_url: "https://api.anthropic.com",
        key_env: Some("ANTHROPIC_API_KEY"),
        dialect: PLAIN,
        models: ANTHROPIC_MODELS,
    },
    Row {
        id: "deepseek",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
        dialect: REASONING_BACK,
        models: DEEPSEEK_MODELS,
    },
    Row {
        id: "openrouter",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        dialect: PLAIN,
        models: &[],
    },
    Row {
        id: "groq",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        dialect: NEWER_LIMIT,
        models: &[],
    },
    Row {
        id: "mistral",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        dialect: STRICT_FIELDS,
        models: &[],
    },
    Row {
        id: "together",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "https://api.together.xyz/v1",
        key_env: Some("TOGETHER_API_KEY"),
        dialect: PLAIN,
        models: &[],
    },
    Row {
        id: "xai",
        aliases: &["grok"],
        wire: Wire::Openai,
        base_url: "https://api.x.ai/v1",
        key_env: Some("XAI_API_KEY"),
        dialect: NEWER_LIMIT,
        models: &[],
    },
    Row {
        id: "gemini",
        aliases: &["google"],
        wire: Wire::Openai,
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        key_env: Some("GEMINI_API_KEY"),
        dialect: PLAIN,
        models: GEMINI_MODELS,
    },
    Row {
        id: "moonshot",
        aliases: &["kimi"],
        wire: Wire::Openai,
        base_url: "https://api.moonshot.ai/v1",
        key_env: Some("MOONSHOT_API_KEY"),
        dialect: REASONING_BACK,
        models: &[],
    },
    Row {
        id: "ollama",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "http://127.0.0.1:11434/v1",
        key_env: None,
        dialect: PLAIN,
        models: &[],
    },
    Row {
        id: "llamacpp",
        aliases: &["llama.cpp"],
        wire: Wire::Openai,
        base_url: "http://127.0.0.1:8080/v1",
        key_env: None,
        dialect: PLAIN,
        models: &[],
    },
    Row {
        id: "lmstudio",
        aliases: &["lm-studio"],
        wire: Wire::Openai,
        base_url: "http://127.0.0.1:1234/v1",
        key_env: None,
        dialect: PLAIN,
        models: &[],
    },
    Row {
        id: "vllm",
        aliases: &[],
        wire: Wire::Openai,
        base_url: "http://127.0.0.1:8000/v1",
        key_env: None,
        dialect: PLAIN,
        models: &[],
    },
];

/// The row with this id or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter()
        .find(|row| row.id == name || row.aliases.contains(&name))
}

/// Whether this model of this provider can be told how hard to think.
#[must_use]
pub fn takes_effort(spec: &ProviderSpec, model: &str) -> bool {
    match spec {
        ProviderSpec::Scripted { .. } => true,
        ProviderSpec::Anthropic(_) => style_of(model) != EffortStyle::Never,
        ProviderSpec::Openai(server) => {
            let plain = PlainHttp::Allowed;
            let endpoint = Endpoint::new(&server.base_url, plain, Limits::default());
            // An address that cannot be used is refused for that.
            endpoint.map_or(true, |endpoint| {
                dialect_of(endpoint.host()).effort != EffortField::Unknown
            })
        }
    }
}

/// Why a provider cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The variable that should hold its key is not set.
    #[error("the key for `{host}` is missing: set {variable}")]
    KeyMissing {
        /// Where it would be sent.
        host: String,
        /// The variable.
        variable: String,
    },
    /// The variable holds something that is no key.
    #[error("the key in {variable} cannot be used: {cause}")]
    KeyUnusable {
        /// The variable.
        variable: String,
        /// Why.
        cause: UnusableKey,
    },
    /// Its address cannot be used.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// Its script cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Makes a provider ready to be asked. `env` looks a variable up; only the key's is asked for.
///
/// # Errors
/// [`BuildError`]; nothing was sent anywhere.
pub fn build(
    spec: &ProviderSpec,
    env: &dyn Fn(&str) -> Option<String>,
    plain: PlainHttp,
) -> Result<Arc<dyn Model>, BuildError> {
    build_within(spec, env, plain, Limits::default())
}

/// As [`build`], with other limits than the default ones.
///
/// # Errors
/// As [`build`].
pub fn build_within(
    spec: &ProviderSpec,
    env: &dyn Fn(&str) -> Option<String>,
    plain: PlainHttp,
    limits: Limits,
) -> Result<Arc<dyn Model>, BuildError> {
    let server = match spec {
        ProviderSpec::Scripted { script } => {
            return Ok(Arc::new(Script::open(Path::new(script))?));
        }
        ProviderSpec::Openai(server) | ProviderSpec::Anthropic(server) => server,
    };
    let endpoint = Endpoint::new(&server.base_url, plain, limits)?;
    let endpoint = match &server.key_env {
        None => endpoint,
        Some(variable) => {
            let key = key(variable, endpoint.host(), env)?;
            endpoint.with_key(key)
        }
    };
    let models = Models {
        said: server.limits(),
        known: at_host(endpoint.host()).map_or(&[], |row| row.models),
    };
    Ok(match spec {
        ProviderSpec::Anthropic(_) => Arc::new(MessagesModel::new(endpoint, models)),
        _ => Arc::new(ChatModel {
            dialect: dialect_of(endpoint.host()),
            endpoint,
            models,
        }),
    })
}

fn key(
    variable: &str,
    host: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Key, BuildError> {
    let text = env(variable).filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| BuildError::KeyMissing {
        host: host.to_owned(),
        variable: variable.to_owned(),
    })?;
    Key::new(&text).map_err(|cause| BuildError::KeyUnusable {
        variable: variable.to_owned(),
        cause,
    })
}

/// A name says nothing about the server behind another address: what is known goes by the host.
fn at_host(host: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.host() == host)
}

fn dialect_of(host: &str) -> Dialect {
    at_host(host).map_or(PLAIN, |row| row.dialect)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_KEY: Option<&str> = None;

    fn build_chat(base_url: &str, key: Option<&str>) -> Result<(), String> {
        let spec = ProviderSpec::Openai(Server::new(base_url, Some("EXAMPLE_KEY")));
        let env = |name: &str| {
            assert_eq!(name, "EXAMPLE_KEY");
            key.map(str::to_owned)
        };
        build(&spec, &env, PlainHttp::LoopbackOnly)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_aliases_are_unique_and_found() {
        let mut names: Vec<&str> = Vec::new();
        for row in ROWS {
            names.push(row.id);
            names.extend(row.aliases);
            assert_eq!(find(row.id), Some(row));
            for alias in row.aliases {
                assert_eq!(find(alias), Some(row));
            }
        }
        let total = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), total);
        assert_eq!(find("nobody"), None);
    }

    #[test]
    fn every_row_has_an_address_that_may_be_used() {
        for row in ROWS {
            let endpoint = Endpoint::new(row.base_url, PlainHttp::LoopbackOnly, Limits::default());
            let endpoint = endpoint.unwrap_or_else(|error| panic!("{}: {error}", row.id));
            assert_eq!(endpoint.host(), row.host());
            assert_eq!(dialect_of(row.host()), row.dialect, "{}", row.id);
        }
        assert_eq!(dialect_of("proxy.example"), PLAIN);
    }

    #[test]
    fn effort_is_taken_where_the_server_and_the_model_know_it() {
        let server = |url: &str| Server::new(url, None);
        let chat = |url: &str| ProviderSpec::Openai(server(url));
        let messages = ProviderSpec::Anthropic(server("https://api.anthropic.com"));
        for (spec, model, expected) in [
            (chat("https://api.openai.com/v1"), "gpt-5", true),
            (chat("http://127.0.0.1:8080/v1"), "m", true),
            (chat("https://api.mistral.ai/v1"), "m", false),
            (messages.clone(), "claude-opus-5-5", true),
            (messages.clone(), "claude-haiku-4-5", true),
            (messages, "claude-3-5-haiku-latest", false),
        ] {
            assert_eq!(takes_effort(&spec, model), expected, "{model}");
        }
    }

    #[test]
    fn a_missing_or_unusable_key_names_its_variable() {
        let base = "https://api.example/v1";
        assert_eq!(build_chat(base, Some("sk-1")), Ok(()));
        for blank in [NO_KEY, Some(""), Some("  ")] {
            let told = build_chat(base, blank).expect_err("there is no key");
            assert_eq!(
                told,
                "the key for `api.example` is missing: set EXAMPLE_KEY"
            );
        }
        let told = build_chat(base, Some("sk 1")).expect_err("this is no key");
        assert_eq!(
            told,
            "the key in EXAMPLE_KEY cannot be used: it is blank or holds characters that cannot be sent in a header"
        );
    }

    #[test]
    fn an_address_that_may_not_be_used_is_refused_before_the_key_is_read() {
        let told = build_chat("http://api.example/v1", NO_KEY).expect_err("it is not encrypted");
        assert!(told.contains("use https"), "{told}");
    }
}
