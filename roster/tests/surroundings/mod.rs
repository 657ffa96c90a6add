//! Surroundings for whole rosters, from plain values. Never the real environment.

use engine_core::provider::Wire;
use engine_core::tool::Access;
use roster::{InsecureHttp, KnownProvider, Surroundings, UserConfig};
use std::collections::BTreeMap;

/// Tools that rosters may name.
const TOOLS: &[(&str, Access)] = &[
    ("read", Access::Read),
    ("list", Access::Read),
    ("glob", Access::Read),
    ("grep", Access::Read),
    ("git", Access::Read),
    ("write", Access::Write),
    ("edit", Access::Write),
    ("shell", Access::Write),
];

/// Providers that need no declaration.
const PROVIDERS: &[KnownProvider<'_>] = &[KnownProvider {
    id: "deepseek",
    aliases: &["ds"],
    wire: Wire::Openai,
    base_url: "https://api.deepseek.example/v1",
    key_env: Some("DEEPSEEK_KEY"),
}];

/// Plain values behind [`Surroundings`].
pub(crate) struct Around {
    /// Folder of the file.
    pub(crate) dir: String,
    /// Home folder.
    pub(crate) home: Option<String>,
    /// Root of the repository.
    pub(crate) repo: Option<String>,
    /// Environment.
    pub(crate) env: BTreeMap<String, String>,
    /// The user's configuration.
    pub(crate) user_config: Option<UserConfig>,
}

impl Default for Around {
    fn default() -> Self {
        Self {
            dir: "/rosters".to_owned(),
            home: Some("/home/me".to_owned()),
            repo: Some("/repo".to_owned()),
            env: BTreeMap::new(),
            user_config: None,
        }
    }
}

impl Around {
    /// Hands the surroundings to `then`.
    pub(crate) fn with<T>(&self, then: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let env = |name: &str| self.env.get(name).cloned();
        then(&Surroundings {
            dir: &self.dir,
            repo: self.repo.as_deref(),
            home: self.home.as_deref(),
            env: &env,
            user_config: self.user_config.as_ref(),
            known_providers: PROVIDERS,
            known_tools: TOOLS,
            insecure_http: InsecureHttp::Refused,
        })
    }
}
