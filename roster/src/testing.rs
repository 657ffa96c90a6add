//! Surroundings for tests, built from plain values. Never the real environment.

use crate::surroundings::{InsecureHttp, KnownProvider, Surroundings};
use engine_core::provider::Wire;
use engine_core::tool::Access;
use std::collections::BTreeMap;

/// Tools that test rosters may name.
pub(crate) const TOOLS: &[(&str, Access)] = &[
    ("read", Access::Read),
    ("list", Access::Read),
    ("grep", Access::Read),
    ("git", Access::Read),
    ("edit", Access::Write),
    ("shell", Access::Write),
];

/// Providers that test rosters may use without declaring them.
pub(crate) const PROVIDERS: &[KnownProvider<'_>] = &[KnownProvider {
    id: "deepseek",
    aliases: &["ds"],
    wire: Wire::Openai,
    base_url: "https://api.deepseek.example/v1",
    key_env: Some("DEEPSEEK_KEY"),
}];

/// Builds [`Surroundings`].
pub(crate) struct Fixture {
    home: Option<&'static str>,
    repo: Option<&'static str>,
    env: BTreeMap<&'static str, &'static str>,
    insecure_http: InsecureHttp,
}

impl Fixture {
    /// A file in `/rosters`, a repository in `/repo`, the home folder `/home/me`, no variables.
    pub(crate) fn new() -> Self {
        Self {
            home: Some("/home/me"),
            repo: Some("/repo"),
            env: BTreeMap::new(),
            insecure_http: InsecureHttp::Refused,
        }
    }

    pub(crate) fn home(mut self, home: Option<&'static str>) -> Self {
        self.home = home;
        self
    }

    pub(crate) fn repo(mut self, repo: Option<&'static str>) -> Self {
        self.repo = repo;
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.insert(name, value);
        self
    }

    pub(crate) fn insecure(mut self, insecure_http: InsecureHttp) -> Self {
        self.insecure_http = insecure_http;
        self
    }

    /// Hands the surroundings to `then`.
    pub(crate) fn with<T>(&self, then: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let env = |name: &str| self.env.get(name).map(|value| (*value).to_owned());
        then(&Surroundings {
            dir: "/rosters",
            repo: self.repo,
            home: self.home,
            env: &env,
            user_config: None,
            known_providers: PROVIDERS,
            known_tools: TOOLS,
            insecure_http: self.insecure_http,
        })
    }
}
