//! Providers: the declared ones, the user's, the built-in ones, and which of them a model means.

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::fault::Fault;
use crate::near::nearest;
use crate::surroundings::{KnownProvider, Surroundings};
use crate::tree::{Fields, Health};
use engine_core::ids::{ModelName, Tokens};
use engine_core::provider::{Server, Wire};
use fleet_core::spec::ProviderSpec;
use std::collections::BTreeMap;

/// What one file says about providers, by id. `None`: declared, but not completely readable.
pub(crate) type ProviderTables = BTreeMap<String, Option<ProviderSpec>>;

/// The kind of provider that asks nobody.
const SCRIPTED: &str = "scripted";

/// Keys that only servers have, and whether one must have them.
const OF_SERVERS: [(&str, bool); 4] = [
    ("base_url", true),
    ("key_env", false),
    ("context", false),
    ("output", false),
];

/// Reads the `[provider.NAME]` tables of a file.
pub(crate) fn read_tables(top: &Fields, found: &mut Vec<Diagnostic>) -> ProviderTables {
    top.tables("provider")
        .iter()
        .map(|fields| (fields.name.clone(), read(fields, found)))
        .collect()
}

fn read(fields: &Fields, found: &mut Vec<Diagnostic>) -> Option<ProviderSpec> {
    let kind = fields.text("kind")?.value;
    let of_servers = OF_SERVERS.map(|(key, must)| (key, must, kind != SCRIPTED));
    for (key, must, owned) in of_servers
        .into_iter()
        .chain([("script", true, kind == SCRIPTED)])
    {
        if !owned && fields.has(key) {
            found.push(foreign(fields, kind, key));
        }
        let is_missing = owned && must && !fields.has(key);
        if is_missing && fields.health == Health::Sound {
            let message = format!("`{key}` is missing in [{}]", fields.path);
            found.push(
                Diagnostic::error(Code::Missing, fields.span, message)
                    .at(fields.path_of(key))
                    .hint(format!("a provider of kind `{kind}` needs it")),
            );
        }
    }
    let Some(wire) = Wire::named(kind) else {
        let script = fields.owned_text("script")?;
        return Some(ProviderSpec::Scripted { script });
    };
    let tokens = |key| fields.number(key).map(|spot| Tokens(spot.value));
    let server = Server {
        base_url: fields.owned_text("base_url")?,
        key_env: fields.owned_text("key_env"),
        context: tokens("context"),
        output: tokens("output"),
    };
    Some(ProviderSpec::at(wire, server))
}

fn foreign(fields: &Fields, kind: &str, key: &str) -> Diagnostic {
    let owners: Vec<String> = match key {
        "script" => vec![format!("kind = \"{SCRIPTED}\"")],
        _ => Wire::ALL
            .iter()
            .map(|wire| format!("kind = \"{}\"", wire.name()))
            .collect(),
    };
    let message = format!("a provider of kind `{kind}` has no `{key}`");
    Diagnostic::error(Code::Conflict, fields.span_of(key), message)
        .at(fields.path_of(key))
        .hint(format!("leave it out, or write {}", owners.join(" or ")))
}

/// Finds the provider that a model names.
pub(crate) struct Providers<'a> {
    declared: ProviderTables,
    misspelt: Vec<String>,
    users: Option<&'a ProviderTables>,
    known: &'a [KnownProvider<'a>],
}

/// What a model led to.
pub(crate) enum Found {
    /// Its provider, and the model by the provider's own id.
    Provider(ModelName, ProviderSpec),
    /// Its provider is declared, but not completely readable: that was reported already.
    Unreadable,
}

impl<'a> Providers<'a> {
    /// Those of a file, over those of its surroundings.
    pub(crate) fn new(
        top: &Fields,
        declared: ProviderTables,
        around: &'a Surroundings<'a>,
    ) -> Self {
        let misspelt = top
            .misspelt
            .iter()
            .filter(|(family, _)| *family == "provider")
            .map(|(_, name)| name.clone())
            .collect();
        Self {
            declared,
            misspelt,
            users: around.user_config.map(|config| &config.providers),
            known: around.known_providers,
        }
    }

    /// Warns of declarations that hide a provider of the same name: the key would go elsewhere.
    pub(crate) fn hiding(&self, top: &Fields) -> Vec<Diagnostic> {
        top.tables("provider")
            .iter()
            .filter(|fields| {
                let name = fields.name.as_str();
                self.user(name).is_some() || self.built_in(name).is_some()
            })
            .map(|fields| {
                let name = &fields.name;
                let message = format!("`{name}` hides a provider of the same name");
                Diagnostic::warning(Code::Suspicious, fields.span, message)
                    .at(&fields.path)
                    .hint("choose another name, unless it is meant to be asked elsewhere")
            })
            .collect()
    }

    /// The provider of a model: declared in the file, else by the user, else built in.
    pub(crate) fn find(&self, name: &ModelName) -> Result<Found, Fault> {
        let id = name.provider.as_str();
        if self.misspelt.iter().any(|misspelt| misspelt == id) {
            return Ok(Found::Unreadable);
        }
        if let Some(declared) = self.declared.get(id).or_else(|| self.user(id)) {
            return Ok(match declared {
                Some(spec) => Found::Provider(name.clone(), spec.clone()),
                None => Found::Unreadable,
            });
        }
        let Some(known) = self.built_in(id) else {
            let meant = nearest(id, self.names());
            let fault = Fault::new(
                Code::UnknownName,
                format!("unknown provider {}", quoted(id)),
            );
            return Err(match meant {
                Some(near) => fault.suggest(Some(format!("{near}/{}", name.model))),
                None => fault.hint(format!("declare it in [provider.{id}]")),
            });
        };
        let name = ModelName {
            provider: known.id.to_owned(),
            model: name.model.clone(),
        };
        let server = Server::new(known.base_url, known.key_env);
        let spec = ProviderSpec::at(known.wire, server);
        Ok(Found::Provider(name, spec))
    }

    fn user(&self, id: &str) -> Option<&Option<ProviderSpec>> {
        self.users.and_then(|tables| tables.get(id))
    }

    fn built_in(&self, id: &str) -> Option<&KnownProvider<'a>> {
        self.known
            .iter()
            .find(|known| known.id == id || known.aliases.contains(&id))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.declared.keys().map(String::as_str);
        let users = self.users.into_iter().flatten();
        let known = self.known.iter();
        declared
            .chain(users.map(|(name, _)| name.as_str()))
            .chain(known.clone().map(|row| row.id))
            .chain(known.flat_map(|row| row.aliases.iter().copied()))
    }
}
