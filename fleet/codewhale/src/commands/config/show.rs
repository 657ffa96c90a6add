//! `codewhale config show`: each setting that is in force, and what said so. Never shows a key: a
//! configuration holds only the names of the variables that keys are in.

use crate::app::App;
use crate::arguments::{Format, JsonOption};
use crate::config::{self, Config, ConfigFile};
use crate::exit::Exit;
use crate::places::Because;
use crate::report::Report;
use fleet_core::spec::Limits;
use fleet_tui::line::{Line, Tone};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Print the settings in force and where each comes from
///
/// A roster may say otherwise for its own run; a limit that the administrator sets stays.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  codewhale config show\n  codewhale config show --config other.toml\n  codewhale config show --json | jq -r '.settings[].key'"
)]
pub(crate) struct Show {
    #[command(flatten)]
    json: JsonOption,
}

/// A setting.
#[derive(Debug, PartialEq, Serialize)]
struct Setting {
    key: String,
    value: Value,
    from: String,
    /// True when the value is a bound that others must keep to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_most: bool,
}

#[derive(Debug, Serialize)]
struct Settings {
    settings: Vec<Setting>,
}

impl Show {
    /// Whom it prints for.
    pub(crate) fn format(&self) -> Format {
        self.json.format()
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// When a configuration file is not right.
    pub(crate) fn run(&self, app: &App) -> Result<Exit, Report> {
        let config = Config::read(app)?;
        let settings = in_force(&config, |name| app.around.text(name).map(str::to_owned));
        if self.format() == Format::Json {
            app.output.object("config-show", &Settings { settings })?;
            return Ok(Exit::Done);
        }
        for setting in settings {
            let bound = if setting.at_most { "at most " } else { "" };
            let line = Line::new()
                .and(Tone::Strong, &setting.key)
                .and(Tone::Plain, &format!(" = {bound}{}", setting.value))
                .and(Tone::Faint, &format!("  # {}", setting.from));
            app.output.line(line);
        }
        Ok(Exit::Done)
    }
}

fn in_force(config: &Config, env: impl Fn(&str) -> Option<String>) -> Vec<Setting> {
    let mut settings = BTreeMap::new();
    let mut set = |key: String, value: Value, from: &str| {
        settings.insert(key, (value, from.to_owned()));
    };
    for (key, value) in built_in() {
        set(key, value, "default");
    }
    for file in config.files.iter().filter(|file| !is_managed(file)) {
        for (key, value) in flat(&file.text) {
            set(key, value, &file.place.path.display().to_string());
        }
    }
    if let (Some(model), Some(_)) = (config.user.model(), env(config::MODEL)) {
        set("model".to_owned(), model.to_string().into(), config::MODEL);
    }
    if let Some((id, url)) = &config.moved {
        let key = format!("provider.{id}.base_url");
        set(key, url.as_str().into(), config::BASE_URL);
    }
    let mut settings: Vec<Setting> = settings
        .into_iter()
        .map(|(key, (value, from))| Setting {
            key,
            value,
            from,
            at_most: false,
        })
        .collect();
    for file in config.files.iter().filter(|file| is_managed(file)) {
        settings.extend(flat(&file.text).into_iter().map(|(key, value)| Setting {
            key,
            value,
            from: file.place.path.display().to_string(),
            at_most: true,
        }));
    }
    settings
}

fn is_managed(file: &ConfigFile) -> bool {
    file.place.because == Because::Managed
}

fn built_in() -> Vec<(String, Value)> {
    let limits = Limits::default();
    let number = |number: u32| Value::Integer(number.into());
    vec![
        ("limits.agents".to_owned(), number(limits.agents)),
        ("limits.attempts".to_owned(), number(limits.attempts)),
        ("limits.steps".to_owned(), number(limits.steps)),
        (
            "limits.wall".to_owned(),
            format!("{}h", limits.wall_secs / 3600).into(),
        ),
    ]
}

/// The settings of a text that was found to be a configuration, by dotted key.
fn flat(text: &str) -> Vec<(String, Value)> {
    fn walk(path: &str, table: Table, out: &mut Vec<(String, Value)>) {
        for (name, value) in table {
            let key = if path.is_empty() {
                name
            } else {
                format!("{path}.{name}")
            };
            match value {
                Value::Table(table) => walk(&key, table, out),
                value => out.push((key, value)),
            }
        }
    }
    let mut settings = Vec::new();
    walk("", text.parse().unwrap_or_default(), &mut settings);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Located;

    fn file(path: &str, because: Because, text: &str) -> ConfigFile {
        ConfigFile {
            place: Located {
                path: path.into(),
                because,
            },
            text: text.to_owned(),
        }
    }

    fn shown(config: &Config, env: &[(&str, &str)]) -> String {
        let env = |name: &str| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let line = |s: Setting| format!("{} {} {} {}", s.key, s.value, s.from, s.at_most);
        let lines: Vec<String> = in_force(config, env).into_iter().map(line).collect();
        lines.join("\n")
    }

    #[test]
    fn without_files_the_defaults_are_in_force() {
        insta::assert_snapshot!(shown(&Config::default(), &[]), @r#"
        limits.agents 8 default false
        limits.attempts 2 default false
        limits.steps 200 default false
        limits.wall "2h" default false
        "#);
    }

    #[test]
    fn files_and_variables_override_in_their_order() {
        let user = "model = \"a/b\"\n[limits]\nagents = 3\n[provider.x]\nkey_env = \"X_KEY\"\n";
        let mut config = Config::default();
        config.files.push(file("/u.toml", Because::Default, user));
        let managed = "[limits]\nagents = 2\n";
        config
            .files
            .push(file("/m.toml", Because::Managed, managed));
        config.user = std::mem::take(&mut config.user)
            .with_model(config::model_name("c/d", None).expect("a model"));
        config.moved = Some(("y".to_owned(), "http://localhost/v1".to_owned()));
        let env = [("CODEWHALE_MODEL", "c/d")];
        insta::assert_snapshot!(shown(&config, &env), @r#"
        limits.agents 3 /u.toml false
        limits.attempts 2 default false
        limits.steps 200 default false
        limits.wall "2h" default false
        model "c/d" CODEWHALE_MODEL false
        provider.x.key_env "X_KEY" /u.toml false
        provider.y.base_url "http://localhost/v1" CODEWHALE_BASE_URL false
        limits.agents 2 /m.toml true
        "#);
    }
}
