//! What `doctor` says of the providers at hand: those that are known by name and whose key is set, and
//! those that the configuration declares; on request, whether they answer. Never shows a key.

use super::Check;
use crate::app::App;
use crate::config::Config;
use crate::exit::Exit;
use crate::report::Report;
use engine_llm::providers::{self, ROWS};
use fleet_core::spec::ProviderSpec;

/// A provider that a roster could use here.
struct AtHand {
    id: String,
    spec: ProviderSpec,
}

/// Those whose key is set, and those that were declared.
fn at_hand(app: &App) -> Vec<AtHand> {
    let known = ROWS
        .iter()
        .filter(|row| row.key_env.is_some_and(|variable| app.around.has(variable)))
        .map(|row| AtHand {
            id: row.id.to_owned(),
            spec: row.spec(),
        });
    // A configuration that cannot be read is told by its own check.
    let config = Config::read(app).unwrap_or_default();
    let declared = config.user.providers().map(|(id, spec)| AtHand {
        id: id.to_owned(),
        spec: spec.clone(),
    });
    let asked = declared.filter(|provider| provider.spec.server().is_some());
    known.chain(asked).collect()
}

/// Which providers are at hand.
pub(super) fn keys(app: &App) -> Vec<Check> {
    let found = at_hand(app);
    if found.is_empty() {
        return vec![
            Check::warning(
                "providers",
                "no key of a known provider is set, none is declared",
            )
            .hint("set for example OPENAI_API_KEY, or use a provider on this machine"),
        ];
    }
    found.iter().map(|provider| key(app, provider)).collect()
}

fn key(app: &App, provider: &AtHand) -> Check {
    let id = &provider.id;
    let host = provider
        .spec
        .server()
        .map_or("", |(_, server)| &server.base_url);
    match provider.spec.key_env() {
        None => Check::good(id, format!("{host}, without a key")),
        Some(name) if app.around.has(name) => {
            Check::good(id, format!("{host}, with the key in {name}"))
        }
        Some(name) => Check::warning(id, format!("{host}, but {name} is not set"))
            .hint(format!("export {name}=… before a run that asks it")),
    }
}

/// Whether each provider at hand answers and takes its key.
///
/// # Errors
/// When no connection can be made at all.
pub(super) fn probes(app: &App) -> Result<Vec<Check>, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::storage("The network cannot be used").because(&error))?;
    Ok(runtime.block_on(async {
        let mut checks = Vec::new();
        for provider in at_hand(app) {
            checks.push(probe(app, provider).await);
        }
        checks
    }))
}

async fn probe(app: &App<'_>, provider: AtHand) -> Check {
    let AtHand { id, spec } = provider;
    let env = |name: &str| app.around.text(name).map(str::to_owned);
    let model = match providers::build(&spec, &env, app.around.plain_http()) {
        Ok(model) => model,
        Err(error) => return Check::bad(id, error.to_string(), Exit::Provider),
    };
    match model.probe().await {
        Ok(()) => Check::good(id, "answers"),
        Err(error) => Check::bad(id, error.to_string(), Exit::Provider).hint(
            "look at its address, its key and, behind a proxy, HTTPS_PROXY; `codewhale config show` says what is in force",
        ),
    }
}
