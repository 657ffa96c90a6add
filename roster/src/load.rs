//! From a text to a result or to everything that is wrong with it. Never opens a file.

use crate::diagnostic::{Code, Diagnostic, Severity, quoted};
use crate::plan::Plan;
use crate::resolve;
use crate::schema::{Key, ROSTER};
use crate::source::Span;
use crate::surroundings::Surroundings;
use crate::syntax;
use crate::tree::Fields;
use crate::walk::walk;
use fleet_core::spec::{ProviderSpec, RunSpec};
use toml::de::DeTable;

/// Largest text that is read, in bytes. The plan made from it must fit into one line of the ledger.
pub const TEXT_MAX_BYTES: usize = 256 * 1024;

/// A roster that was found good.
#[derive(Debug, Clone)]
pub struct Roster {
    spec: RunSpec,
    warnings: Vec<Diagnostic>,
    paths: Vec<NamedPath>,
    plan: Plan,
}

/// A file or folder that the roster names. Whether it is there was not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// Where the roster names it.
    pub span: Span,
    /// The key that names it.
    pub key: String,
    /// The absolute path.
    pub path: String,
    /// What must be there.
    pub sort: PathSort,
}

/// What must lie at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathSort {
    /// A readable file.
    File,
    /// A folder.
    Folder,
}

impl NamedPath {
    /// The error to show when it is not there.
    #[must_use]
    pub fn missing(&self) -> Diagnostic {
        let sort = match self.sort {
            PathSort::File => "file",
            PathSort::Folder => "folder",
        };
        let message = format!("there is no {sort} {}", quoted(&self.path));
        Diagnostic::error(Code::Missing, self.span, message)
            .at(&self.key)
            .hint("paths are relative to the folder of the roster")
    }
}

impl Roster {
    /// The plan of the run, as the ledger records it.
    #[must_use]
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// The plan of the run, as the ledger records it.
    #[must_use]
    pub fn into_spec(self) -> RunSpec {
        self.spec
    }

    /// What reads as a mistake but is accepted, sorted by place.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The files and folders it names, for a reader who can look whether they are there.
    #[must_use]
    pub fn named_paths(&self) -> &[NamedPath] {
        &self.paths
    }

    /// Who will do what, in which order, and where keys will be sent.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Reads a roster.
///
/// # Errors
/// Everything that is wrong with it, and the warnings, sorted by place.
pub fn load(text: &str, around: &Surroundings<'_>) -> Result<Roster, Vec<Diagnostic>> {
    let finished = checked(text, ROSTER, around, |top, found| {
        let spec = resolve::resolve(top, around, found)?;
        found.extend(resolve::warnings(top, &spec));
        let paths = named_paths(top);
        Some((spec, paths))
    })?;
    let (spec, paths) = finished.result;
    Ok(Roster {
        plan: Plan::new(&spec, around),
        warnings: finished.warnings,
        spec,
        paths,
    })
}

/// A result with what is worth a look.
pub(crate) struct Finished<T> {
    /// The result.
    pub(crate) result: T,
    /// What is worth a look, sorted by place.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Reads a text along a key table and hands the checked tables to `make`. What `make` returns counts only
/// when nothing was wrong.
pub(crate) fn checked<T>(
    text: &str,
    keys: &'static [Key],
    around: &Surroundings<'_>,
    make: impl FnOnce(&Fields, &mut Vec<Diagnostic>) -> Option<T>,
) -> Result<Finished<T>, Vec<Diagnostic>> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(vec![too_large(text)]);
    }
    let readable = syntax::read(text)?;
    let mut found = Vec::new();
    let mut result = None;
    match DeTable::parse(&readable.text) {
        Ok(table) => {
            let (top, faults) = walk(&readable.text, table.get_ref(), keys, around);
            found.extend(faults);
            result = make(&top, &mut found);
        }
        Err(error) => found.push(still_broken(&error)),
    }
    if !readable.errors.is_empty() {
        found.retain(|diagnostic| !diagnostic.code.is_about_absence());
        found.extend(readable.errors);
    }
    finish(text, result, found)
}

fn finish<T>(
    text: &str,
    result: Option<T>,
    found: Vec<Diagnostic>,
) -> Result<Finished<T>, Vec<Diagnostic>> {
    let mut found: Vec<Diagnostic> = found
        .into_iter()
        .map(|diagnostic| diagnostic.within(text))
        .collect();
    found.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity != Severity::Error));
    let refused = found
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    match result {
        Some(result) if !refused => Ok(Finished {
            result,
            warnings: found,
        }),
        _ => Err(found),
    }
}

fn too_large(text: &str) -> Diagnostic {
    let kib = TEXT_MAX_BYTES / 1024;
    let message = format!("{} bytes are too many for one file", text.len());
    Diagnostic::error(Code::TooLarge, Span::default(), message).hint(format!(
        "at most {kib} KiB: keep long texts in files of the repository"
    ))
}

fn still_broken(error: &toml::de::Error) -> Diagnostic {
    let span = error.span().unwrap_or_default().into();
    Diagnostic::error(Code::Syntax, span, format!("not TOML: {}", error.message()))
}

fn named_paths(top: &Fields) -> Vec<NamedPath> {
    let demo = top.table("workspace").map(|fields| (fields, "demo"));
    let scripts = top
        .tables("provider")
        .iter()
        .map(|fields| (fields, "script"));
    demo.into_iter()
        .chain(scripts)
        .filter_map(|(fields, key)| {
            let path = fields.text(key)?;
            Some(NamedPath {
                span: path.span,
                key: fields.path_of(key),
                path: path.value.to_owned(),
                sort: if key == "demo" {
                    PathSort::Folder
                } else {
                    PathSort::File
                },
            })
        })
        .collect()
}

/// The host a provider is asked at; `None`: it asks nobody.
pub(crate) fn host_of(provider: &ProviderSpec) -> Option<&str> {
    let (_, server) = provider.server()?;
    Some(crate::value::host(&server.base_url))
}
