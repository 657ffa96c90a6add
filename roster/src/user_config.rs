//! The user's own configuration, in the same words as a roster: `model`, `[limits]`, `[provider.NAME]`,
//! `[role.NAME]`. Never opens the file.

use crate::diagnostic::Diagnostic;
use crate::limits::LimitWords;
use crate::load::{Finished, checked};
use crate::providers::{self, ProviderTables, Providers};
use crate::roles::{self, RoleTables};
use crate::schema::USER_CONFIG;
use crate::surroundings::Surroundings;
use crate::tasks::older_role_names;
use crate::tree::Fields;
use engine_core::ids::ModelName;
use fleet_core::spec::{Limits, ProviderSpec};

/// What a user set for all their rosters. Empty by default.
#[derive(Debug, Clone, Default)]
pub struct UserConfig {
    pub(crate) model: Option<ModelName>,
    pub(crate) limits: LimitWords,
    pub(crate) providers: ProviderTables,
    pub(crate) roles: RoleTables,
}

impl UserConfig {
    /// The model for roles that name none anywhere.
    #[must_use]
    pub fn model(&self) -> Option<&ModelName> {
        self.model.as_ref()
    }

    /// The providers that it declares, by id.
    pub fn providers(&self) -> impl Iterator<Item = (&str, &ProviderSpec)> {
        let tables = self.providers.iter();
        tables.filter_map(|(id, spec)| Some((id.as_str(), spec.as_ref()?)))
    }

    /// True when it says where the models of this provider are asked.
    #[must_use]
    pub fn declares_provider(&self, id: &str) -> bool {
        self.providers.contains_key(id)
    }

    /// True when it sets limits and nothing else, as a file that may only tighten must.
    #[must_use]
    pub fn sets_only_limits(&self) -> bool {
        self.model.is_none() && self.providers.is_empty() && self.roles.is_empty()
    }

    /// Lowers each limit that is above what this configuration sets; raises none.
    pub fn lower(&self, limits: &mut Limits) {
        self.limits.lower(limits);
    }

    /// The same configuration with another model for roles that name none: how a variable of the
    /// environment or an option of the command line overrides the file.
    #[must_use]
    pub fn with_model(mut self, model: ModelName) -> Self {
        self.model = Some(model);
        self
    }
}

/// Reads a user configuration. `around.dir` is its folder; `around.user_config` is not looked at.
///
/// # Errors
/// Everything that is wrong with it, sorted by place.
pub fn parse_user_config(
    text: &str,
    around: &Surroundings<'_>,
) -> Result<UserConfig, Vec<Diagnostic>> {
    let around = Surroundings {
        user_config: None,
        ..*around
    };
    let finished = checked(text, USER_CONFIG, &around, |top, found| {
        Some(read(top, &around, found))
    })?;
    let Finished { result, .. } = finished;
    Ok(result)
}

fn read(top: &Fields, around: &Surroundings<'_>, found: &mut Vec<Diagnostic>) -> UserConfig {
    let declared = providers::read_tables(top, found);
    let lookup = Providers::new(top, declared.clone(), around);
    for fields in std::iter::once(top).chain(top.tables("role")) {
        if let Some(model) = fields.model("model")
            && let Err(fault) = lookup.find(&model.value)
        {
            found.push(fault.found(&fields.path_of("model"), model.span));
        }
    }
    found.extend(older_role_names(top));
    let roles = roles::read_tables(top)
        .into_iter()
        .map(|(name, words)| (name, words.seen_from_elsewhere()))
        .collect();
    UserConfig {
        model: top.model("model").map(|spot| spot.value),
        limits: LimitWords::read(top),
        providers: declared,
        roles,
    }
}
