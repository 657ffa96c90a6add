//! The models of a plan: built from its providers, and what must be kept secret about them. Never
//! asks one.

use super::{Arc, BTreeMap, CommandEnv, Mask, Report, RunSpec, Surroundings};
use crate::exit::Exit;
use engine_llm::Model;
use engine_llm::providers::{BuildError, build};
use std::collections::BTreeSet;

/// Models by provider, the environment of commands, and the secrets that no result may show.
pub(crate) struct Models {
    pub(crate) by_provider: BTreeMap<String, Arc<dyn Model>>,
    pub(crate) env: CommandEnv,
    pub(crate) mask: Mask,
}

impl Models {
    /// Builds the models that the plan's roles use.
    ///
    /// # Errors
    /// When a key is missing, an address cannot be used, or a script cannot be read.
    pub(crate) fn of(plan: &RunSpec, around: &Surroundings) -> Result<Self, Report> {
        let used: BTreeSet<&String> = plan
            .roles
            .values()
            .map(|role| &role.model.provider)
            .collect();
        let env = |name: &str| around.text(name).map(ToOwned::to_owned);
        let mut by_provider = BTreeMap::new();
        for (id, provider) in plan.providers.iter().filter(|(id, _)| used.contains(id)) {
            let model =
                build(provider, &env, around.plain_http()).map_err(|error| of_build(id, &error))?;
            by_provider.insert(id.clone(), model);
        }
        let keys: Vec<String> = plan
            .providers
            .values()
            .filter_map(|provider| provider.key_env().map(str::to_owned))
            .collect();
        let variables = around
            .variables()
            .map(|(name, value)| (name.into(), value.into()));
        Ok(Self {
            by_provider,
            env: CommandEnv::inherit(variables, &plan.workspace.pass_env, &keys),
            mask: Mask::new(keys.into_iter().filter_map(|name| {
                let value = around.text(&name)?.to_owned();
                Some((name, value))
            })),
        })
    }
}

fn of_build(id: &str, error: &BuildError) -> Report {
    let message = format!("provider `{id}`: {error}");
    match error {
        BuildError::KeyMissing { variable, .. } => Report::new(Exit::Provider, message).hint(
            format!("`export {variable}=…`, or name another variable with `key_env`"),
        ),
        BuildError::KeyUnusable { .. } => Report::new(Exit::Provider, message),
        BuildError::Address(_) | BuildError::Script(_) => Report::usage(message),
    }
}
