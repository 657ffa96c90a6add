//! From the name of a file to a roster, or to a report of everything that is wrong with it. The only
//! place that reads rosters; what they may refer to is gathered here.

use crate::app::App;
use crate::config::Config;
use crate::report::Report;
use engine_core::provider::Wire;
use engine_core::tool::Access;
use engine_llm::providers::{ROWS, takes_effort};
use engine_tools::catalog::tool_names;
use fleet_core::spec::RunSpec;
use roster::{
    Diagnostic, InsecureHttp, KnownProvider, PathSort, Plan, Roster, Severity, Source,
    Surroundings, UserConfig,
};
use std::path::{Path, PathBuf};

/// A roster that was found good.
pub(crate) struct Loaded {
    /// Where it lies, as the person named it.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
    /// What it means.
    pub(crate) roster: Roster,
    config: Config,
}

impl Loaded {
    /// What reads as a mistake but is accepted, for a person; `None`: nothing.
    pub(crate) fn warnings(&self) -> Option<String> {
        let warnings = self.roster.warnings();
        (!warnings.is_empty()).then(|| roster::render::to_text(&self.source(), warnings))
    }

    /// The same for programs.
    pub(crate) fn warnings_json(&self) -> serde_json::Value {
        roster::render::to_json(&self.source(), self.roster.warnings())
    }

    /// The plan within the limits that the administrator of the machine allows.
    pub(crate) fn spec(&self) -> RunSpec {
        let mut spec = self.roster.spec().clone();
        self.config.tighten(&mut spec.limits);
        spec
    }

    /// The plan in words, within the same limits.
    pub(crate) fn plan(&self) -> Plan {
        let mut plan = self.roster.plan().clone();
        self.config.tighten(&mut plan.limits);
        plan
    }

    fn source(&self) -> Source<'_> {
        Source {
            name: &self.name,
            text: &self.text,
        }
    }
}

/// Why a roster is refused: what is wrong with it, and the same for programs.
pub(crate) struct Refused {
    /// For people.
    pub(crate) report: Report,
    /// The findings as a JSON list; empty when the file could not be read at all.
    pub(crate) findings: serde_json::Value,
}

impl From<Report> for Refused {
    fn from(report: Report) -> Self {
        Self {
            report,
            findings: serde_json::Value::Array(Vec::new()),
        }
    }
}

impl From<Report> for Box<Refused> {
    fn from(report: Report) -> Self {
        Self::new(Refused::from(report))
    }
}

/// Reads a roster. `repository` is the top folder of the repository that it would work on.
///
/// # Errors
/// When it cannot be read, is wrong, or names files that are not there.
pub(crate) fn load(
    app: &App,
    path: &Path,
    repository: Option<&Path>,
) -> Result<Loaded, Box<Refused>> {
    let name = path.display().to_string();
    let full = app.path(path);
    let text = std::fs::read_to_string(&full).map_err(|error| {
        Report::usage(format!("The roster `{name}` cannot be read"))
            .because(&error)
            .hint("`codewhale fleet init` writes one to start from")
    })?;
    understand(app, Text { name, text, full }, repository)
}

/// The text of a roster, and what it is called.
pub(crate) struct Text {
    /// As the person named it.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// The file that it is, or could be, in: paths in it are relative to its folder.
    pub(crate) full: PathBuf,
}

/// Reads the text of a roster. `repository` is as in [`load`].
///
/// # Errors
/// When it is wrong, or names files that are not there.
pub(crate) fn understand(
    app: &App,
    text: Text,
    repository: Option<&Path>,
) -> Result<Loaded, Box<Refused>> {
    let Text { name, text, full } = text;
    let config = Config::read(app)?;
    let around = Around::new(app, &full, repository);
    let loaded = around.with(Some(&config.user), config.moved.as_ref(), |around| {
        roster::load(&text, around)
    });
    let source = Source {
        name: &name,
        text: &text,
    };
    let refused = |found: &[Diagnostic]| {
        Box::new(Refused {
            report: refusal(&source, found),
            findings: roster::render::to_json(&source, found),
        })
    };
    let roster = loaded.map_err(|found| refused(&found))?;
    let missing = missing_paths(&roster);
    if !missing.is_empty() {
        return Err(refused(&missing));
    }
    if let Some(report) = untold_effort(roster.spec()) {
        return Err(Box::new(Refused::from(report)));
    }
    Ok(Loaded {
        name,
        text,
        roster,
        config,
    })
}

/// The first role whose model cannot be told how hard to think, although it is to be.
fn untold_effort(spec: &RunSpec) -> Option<Report> {
    let (name, role) = spec.roles.iter().find(|(_, role)| {
        let provider = spec.providers.get(&role.model.provider);
        role.effort.is_some()
            && provider.is_some_and(|provider| !takes_effort(provider, &role.model.model))
    })?;
    let message = format!("`{}` cannot be told how hard to think", role.model);
    let hint = format!("leave `effort` out of [role.{name}], or give the role another model");
    Some(Report::usage(message).hint(hint))
}

/// A report with every finding in it.
pub(crate) fn refusal(source: &Source<'_>, found: &[Diagnostic]) -> Report {
    let errors = found
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let noun = if errors == 1 { "error" } else { "errors" };
    Report::usage(format!("{} has {errors} {noun}", source.name))
        .listing(roster::render::to_text(source, found))
}

fn missing_paths(roster: &Roster) -> Vec<Diagnostic> {
    let is_there = |sort, path: &Path| match sort {
        PathSort::File => path.is_file(),
        PathSort::Folder => path.is_dir(),
    };
    roster
        .named_paths()
        .iter()
        .filter(|named| !is_there(named.sort, Path::new(&named.path)))
        .map(roster::NamedPath::missing)
        .collect()
}

/// What a file that a person wrote may refer to.
pub(crate) struct Around<'a> {
    app: &'a App<'a>,
    folder: PathBuf,
    repository: Option<PathBuf>,
}

impl<'a> Around<'a> {
    /// For a file at this path.
    pub(crate) fn new(app: &'a App<'a>, file: &Path, repository: Option<&Path>) -> Self {
        let folder = file.parent().unwrap_or(Path::new("/"));
        Self {
            app,
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            repository: repository.map(Path::to_owned),
        }
    }

    /// Hands it over in the words of the roster. `moved` is a provider that is asked elsewhere.
    pub(crate) fn with<T>(
        &self,
        user: Option<&UserConfig>,
        moved: Option<&(String, String)>,
        act: impl FnOnce(&Surroundings<'_>) -> T,
    ) -> T {
        let around = &self.app.around;
        let env = |name: &str| around.text(name).map(str::to_owned);
        let providers = known_providers(moved);
        let tools = known_tools();
        let folder = self.folder.to_string_lossy();
        let repository = self.repository.as_deref().map(Path::to_string_lossy);
        act(&Surroundings {
            dir: &folder,
            repo: repository.as_deref(),
            home: around.text("HOME"),
            env: &env,
            user_config: user,
            known_providers: &providers,
            known_tools: &tools,
            insecure_http: if around.allows_plain_http() {
                InsecureHttp::Allowed
            } else {
                InsecureHttp::Refused
            },
        })
    }
}

fn known_providers(moved: Option<&(String, String)>) -> Vec<KnownProvider<'_>> {
    let mut known: Vec<KnownProvider<'_>> = ROWS
        .iter()
        .map(|row| KnownProvider {
            id: row.id,
            aliases: row.aliases,
            wire: row.wire,
            base_url: row.base_url,
            key_env: row.key_env,
        })
        .collect();
    let Some((id, url)) = moved else {
        return known;
    };
    match known
        .iter_mut()
        .find(|row| row.id == id || row.aliases.contains(&id.as_str()))
    {
        Some(row) => row.base_url = url,
        None => known.push(KnownProvider {
            id,
            aliases: &[],
            wire: Wire::Openai,
            base_url: url,
            key_env: None,
        }),
    }
    known
}

/// Every tool, each with the least access that has it.
fn known_tools() -> Vec<(&'static str, Access)> {
    let mut known: Vec<(&'static str, Access)> = Vec::new();
    for access in [Access::Read, Access::Write, Access::Full] {
        for name in tool_names(access) {
            if known.iter().all(|(other, _)| *other != name) {
                known.push((name, access));
            }
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_provider_keeps_its_key_and_an_unknown_one_has_none() {
        let check = |id: &str, expected: Option<&str>| {
            let moved = (id.to_owned(), "https://elsewhere.example/v1".to_owned());
            let known = known_providers(Some(&moved));
            let row = known
                .iter()
                .find(|row| row.base_url == moved.1)
                .expect("the moved one");
            assert_eq!(row.key_env, expected, "{id}");
        };
        check("deepseek", Some("DEEPSEEK_API_KEY"));
        check("grok", Some("XAI_API_KEY"));
        check("mine", None);
    }

    #[test]
    fn each_tool_has_the_least_access_that_gives_it() {
        let known = known_tools();
        assert!(known.contains(&("read", Access::Read)));
        assert!(known.contains(&("edit", Access::Write)));
        let mut names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), known.len());
    }
}
