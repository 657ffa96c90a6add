//! What the user and the administrator of the machine set: two files and three variables, read into one
//! value. Never shows a key: a configuration holds only the names of variables.

use crate::app::App;
use crate::places::{Because, Located, MANAGED_CONFIG};
use crate::report::Report;
use crate::roster_file::{self, Around};
use engine_core::ids::ModelName;
use engine_core::provider::{ProviderSpec, Server, Wire};
use engine_llm::providers;
use fleet_core::spec::Limits;
use roster::{Source, UserConfig};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The model of roles that name none.
pub(crate) const MODEL: &str = "CODEWHALE_MODEL";
/// The provider of a model that is written without one.
pub(crate) const PROVIDER: &str = "CODEWHALE_PROVIDER";
/// Where that provider is asked.
pub(crate) const BASE_URL: &str = "CODEWHALE_BASE_URL";

/// The configuration in force.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The user's, with what the environment overrides.
    pub(crate) user: UserConfig,
    /// A provider that is asked elsewhere than usual: its id, and where.
    pub(crate) moved: Option<(String, String)>,
    /// The files it was read from, the user's first.
    pub(crate) files: Vec<ConfigFile>,
    managed: UserConfig,
}

/// A configuration file that was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// Where it lies.
    pub(crate) place: Located,
    /// Its text.
    pub(crate) text: String,
}

impl Config {
    /// Reads what is in force.
    ///
    /// # Errors
    /// When a file is not readable or not right, or a variable means nothing.
    pub(crate) fn read(app: &App) -> Result<Self, Report> {
        let mut config = Self::default();
        if let Some(file) = user_file(app)? {
            config.user = parse(app, &file)?;
            config.files.push(file);
        }
        let managed = Located {
            path: PathBuf::from(MANAGED_CONFIG),
            because: Because::Managed,
        };
        if let Some(file) = read_file(managed)? {
            config.managed = managed_of(app, &file)?;
            config.files.push(file);
        }
        config.override_from_environment(app)?;
        Ok(config)
    }

    /// Lowers limits to what the administrator of the machine allows.
    pub(crate) fn tighten(&self, limits: &mut Limits) {
        self.managed.lower(limits);
    }

    fn override_from_environment(&mut self, app: &App) -> Result<(), Report> {
        let provider = app.around.text(PROVIDER);
        if let Some(text) = app.around.text(MODEL) {
            let model = model_name(text, provider).ok_or_else(|| no_provider(MODEL, text))?;
            self.user = std::mem::take(&mut self.user).with_model(model);
        }
        let Some(url) = app.around.text(BASE_URL) else {
            return Ok(());
        };
        let id = provider
            .or(self.user.model().map(|model| model.provider.as_str()))
            .ok_or_else(|| {
                Report::usage(format!("{BASE_URL} does not say whose URL it is"))
                    .hint(format!("set {PROVIDER} too"))
            })?
            .to_owned();
        if self.user.declares_provider(&id) {
            return Err(Report::usage(format!(
                "{BASE_URL} and [provider.{id}] both say where `{id}` is asked"
            ))
            .hint(format!(
                "unset {BASE_URL}, or take the table out of the configuration"
            )));
        }
        check_url(app, url)?;
        self.moved = Some((id, url.to_owned()));
        Ok(())
    }
}

/// A model as a person writes it. With a provider given, that is the one, and it may be repeated in
/// front; without one, the part before the first slash is.
pub(crate) fn model_name(text: &str, provider: Option<&str>) -> Option<ModelName> {
    let (provider, model) = match provider {
        Some(provider) => {
            let repeated = text
                .strip_prefix(provider)
                .and_then(|rest| rest.strip_prefix('/'));
            (provider, repeated.unwrap_or(text))
        }
        None => text.split_once('/')?,
    };
    let is_whole = !provider.is_empty() && !model.is_empty();
    is_whole.then(|| ModelName {
        provider: provider.to_owned(),
        model: model.to_owned(),
    })
}

/// What to say of a model without its provider.
pub(crate) fn no_provider(place: &str, text: &str) -> Report {
    Report::usage(format!("{place}: `{text}` does not say whose model it is"))
        .hint("write provider/model, such as openai/gpt-5")
}

/// The URL must be one that can be asked; nothing is sent.
fn check_url(app: &App, url: &str) -> Result<(), Report> {
    let setup = ProviderSpec::at(Wire::Openai, Server::new(url, None));
    providers::build(&setup, &|_| None, app.around.plain_http())
        .map(drop)
        .map_err(|error| Report::usage(format!("{BASE_URL}: {error}")))
}

fn user_file(app: &App) -> Result<Option<ConfigFile>, Report> {
    let Ok(place) = app.config_file() else {
        return Ok(None);
    };
    let was_asked_for = place.because == Because::Option;
    let path = place.path.clone();
    match read_file(place)? {
        None if was_asked_for => Err(Report::usage(format!(
            "There is no configuration `{}`",
            path.display()
        ))
        .hint("--config takes a file; `codewhale config path` prints the usual one")),
        found => Ok(found),
    }
}

fn read_file(place: Located) -> Result<Option<ConfigFile>, Report> {
    match std::fs::read_to_string(&place.path) {
        Ok(text) => Ok(Some(ConfigFile { place, text })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&place.path).because(&error)),
    }
}

fn unreadable(path: &Path) -> Report {
    Report::usage(format!("`{}` cannot be read", path.display()))
        .hint("mend its rights, or name another file with --config")
}

fn parse(app: &App, file: &ConfigFile) -> Result<UserConfig, Report> {
    let name = file.place.path.display().to_string();
    let around = Around::new(app, &file.place.path, None);
    around
        .with(None, None, |around| {
            roster::parse_user_config(&file.text, around)
        })
        .map_err(|found| {
            let source = Source {
                name: &name,
                text: &file.text,
            };
            roster_file::refusal(&source, &found)
        })
}

fn managed_of(app: &App, file: &ConfigFile) -> Result<UserConfig, Report> {
    let managed = parse(app, file)?;
    if managed.sets_only_limits() {
        return Ok(managed);
    }
    Err(Report::usage(format!(
        "`{MANAGED_CONFIG}` may set [limits] and nothing else"
    ))
    .hint("ask the administrator of this machine to take the rest out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_names_its_provider_or_gets_it() {
        let check = |text, provider, expected: Option<&str>| {
            let found = model_name(text, provider).map(|model| model.to_string());
            assert_eq!(found.as_deref(), expected, "{text} {provider:?}");
        };
        check("openai/gpt-5", None, Some("openai/gpt-5"));
        check("gpt-5", Some("openai"), Some("openai/gpt-5"));
        check("openai/gpt-5", Some("openai"), Some("openai/gpt-5"));
        check(
            "maker/model",
            Some("openrouter"),
            Some("openrouter/maker/model"),
        );
        check("gpt-5", None, None);
        check("/gpt-5", None, None);
        check("openai/", None, None);
        check("", Some("openai"), None);
    }
}
