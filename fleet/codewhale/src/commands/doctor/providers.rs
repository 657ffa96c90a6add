//! What `doctor` says of the providers that are known by name: whose key is set, and on request
//! whether they answer. Never shows a key.

use super::Check;
use crate::app::App;
use crate::exit::Exit;
use crate::report::Report;
use engine_llm::PlainHttp;
use engine_llm::providers::{self, ROWS, Row, Setup};

/// Which keys are set.
pub(super) fn keys(app: &App) -> Vec<Check> {
    let set: Vec<&str> = ROWS
        .iter()
        .filter_map(|row| row.key_env)
        .filter(|variable| app.around.has(variable))
        .collect();
    if set.is_empty() {
        return vec![
            Check::warning("keys", "no variable of a known provider holds a key")
                .hint("set for example OPENAI_API_KEY, or use a provider on this machine"),
        ];
    }
    vec![Check::good("keys", format!("set: {}", set.join(", ")))]
}

/// Whether each provider answers whose key is set.
///
/// # Errors
/// When no connection can be made at all.
pub(super) fn probes(app: &App) -> Result<Vec<Check>, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Report::storage("The network cannot be used").because(&error))?;
    let with_key = ROWS
        .iter()
        .filter(|row| row.key_env.is_some_and(|variable| app.around.has(variable)));
    Ok(runtime.block_on(async {
        let mut checks = Vec::new();
        for row in with_key {
            checks.push(probe(app, row).await);
        }
        checks
    }))
}

async fn probe(app: &App<'_>, row: &Row) -> Check {
    let setup = Setup::Chat {
        base_url: row.base_url.to_owned(),
        key_env: row.key_env.map(str::to_owned),
    };
    let env = |name: &str| app.around.text(name).map(str::to_owned);
    let model = match providers::build(&setup, &env, PlainHttp::LoopbackOnly) {
        Ok(model) => model,
        Err(error) => return Check::bad(row.id, error.to_string(), Exit::Provider),
    };
    match model.probe().await {
        Ok(()) => Check::good(row.id, "answers and takes the key"),
        Err(error) => Check::bad(row.id, error.to_string(), Exit::Provider),
    }
}
