//! Paths, relative to the file they stand in, and files of the repository, relative to its root. Never
//! looks at the disk.

use super::expand;
use crate::diagnostic::quoted;
use crate::fault::Fault;
use crate::surroundings::Surroundings;
use std::path::{Component, Path, PathBuf};

/// The absolute path that a text means.
pub(crate) fn path(key: &str, text: &str, around: &Surroundings<'_>) -> Result<String, Fault> {
    let text = expanded(key, text, around)?;
    Ok(tidied(&Path::new(around.dir).join(text)))
}

/// The path below the repository's root that a text means.
pub(crate) fn repo_file(key: &str, text: &str, around: &Surroundings<'_>) -> Result<String, Fault> {
    let written = quoted(text);
    if text.contains(['*', '?']) {
        return Err(
            Fault::bad(format!("{written} is a pattern")).hint("name each file by its path")
        );
    }
    let text = expanded(key, text, around)?;
    let outside = || {
        Fault::bad(format!("{written} lies outside the repository"))
            .hint("write it relative to the root of the repository")
    };
    let path = Path::new(&text);
    let inside = if path.is_absolute() {
        let repo = around.repo.ok_or_else(outside)?;
        path.strip_prefix(repo).map_err(|_| outside())?
    } else {
        path
    };
    if inside.components().any(|part| part == Component::ParentDir) {
        return Err(outside());
    }
    match tidied(inside) {
        tidy if tidy.is_empty() => Err(Fault::bad(format!("{written} is the whole repository"))),
        tidy => Ok(tidy),
    }
}

fn expanded(key: &str, text: &str, around: &Surroundings<'_>) -> Result<String, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::bad(format!("`{key}` is empty")));
    }
    let text = expand::variables(key, text, around)?;
    expand::home(key, text, around)
}

/// Without `.` parts and doubled or trailing slashes; `..` stays, because a link may stand before it.
fn tidied(path: &Path) -> String {
    let parts: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    // Lossless: every part came out of a text.
    parts.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn around(check: impl FnOnce(&Surroundings<'_>)) {
        let fixture = Fixture::new()
            .home(Some("/t/my home"))
            .repo(Some("/t/my home/proj dir"))
            .env("URL", "http://127.0.0.1:1")
            .env("DIR", "~/x")
            .env("EMPTY", "");
        fixture.with(check);
    }

    #[test]
    fn paths_become_absolute() {
        around(|around| {
            for (text, expected) in [
                ("~/proj dir/cache", "/t/my home/proj dir/cache"),
                ("a/~/b", "/rosters/a/~/b"),
                ("~", "/t/my home"),
                ("files/", "/rosters/files"),
                ("./a//b/.", "/rosters/a/b"),
                ("../x", "/rosters/../x"),
                ("/abs", "/abs"),
                ("./~nobody", "/rosters/~nobody"),
                ("${DIR}/y", "/t/my home/x/y"),
                ("$${DIR}", "/rosters/${DIR}"),
                ("a$b$", "/rosters/a$b$"),
            ] {
                assert_eq!(
                    path("demo", text, around).as_deref(),
                    Ok(expected),
                    "{text}"
                );
            }
        });
    }

    #[test]
    fn paths_that_mean_nothing_here_are_refused() {
        around(|around| {
            for (text, message) in [
                ("", "`demo` is empty"),
                (" ", "`demo` is empty"),
                (
                    "~nobody/x",
                    "`~nobody` in `demo` is another user's home folder, which is not looked up",
                ),
                (
                    "${NOT_SET}/v1",
                    "the environment variable `NOT_SET` is not set, and `demo` needs it",
                ),
                (
                    "${EMPTY}",
                    "the environment variable `EMPTY` is empty, and `demo` needs it",
                ),
                ("${A", "`${` in `demo` is not closed"),
                ("${A:-b}", "`${A:-b}` in `demo` does not name a variable"),
                ("${}", "`${}` in `demo` does not name a variable"),
            ] {
                let fault = path("demo", text, around).expect_err(text);
                assert_eq!(fault.message(), message);
            }
        });
    }

    #[test]
    fn a_missing_home_matters_only_where_it_is_used() {
        Fixture::new().home(None).with(|around| {
            assert_eq!(path("demo", "a/~", around).as_deref(), Ok("/rosters/a/~"));
            let fault = path("demo", "~/a", around).expect_err("no home");
            assert_eq!(
                fault.message(),
                "`~` in `demo` means the home folder, but HOME is not set"
            );
        });
    }

    #[test]
    fn files_of_the_repository_stay_inside_it() {
        around(|around| {
            for (text, expected) in [
                (".env.test", Ok(".env.test")),
                ("./a//b.env", Ok("a/b.env")),
                ("a/~/b", Ok("a/~/b")),
                ("~/proj dir/cache", Ok("cache")),
                ("a/*.env", Err("`a/*.env` is a pattern")),
                ("~/other", Err("`~/other` lies outside the repository")),
                (
                    "/etc/passwd",
                    Err("`/etc/passwd` lies outside the repository"),
                ),
                ("a/../../b", Err("`a/../../b` lies outside the repository")),
                (".", Err("`.` is the whole repository")),
            ] {
                let found = repo_file("copy", text, around);
                let found = found.as_deref().map_err(Fault::message);
                assert_eq!(found, expected, "{text}");
            }
        });
    }

    #[test]
    fn without_a_repository_no_absolute_path_is_inside() {
        Fixture::new().repo(None).with(|around| {
            assert_eq!(repo_file("copy", "a", around).as_deref(), Ok("a"));
            let fault = repo_file("copy", "/repo/a", around).expect_err("no repository");
            assert_eq!(fault.message(), "`/repo/a` lies outside the repository");
        });
    }
}
