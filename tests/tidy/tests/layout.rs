//! What lies where, and what no file may hold.

use std::collections::BTreeSet;
use std::path::Path;
use tidy::finding::{Finding, complaint};
use tidy::tree::TREE;

/// The visible entries of the root.
const TOP_LEVEL: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "docs",
    "engine",
    "fleet",
    "ledger-tools",
    "roster",
    "tests",
    "workflows",
];

/// Beginnings of paths that exist on one machine only, taken apart so that this file does not hold them.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/tar", "get"),
];

/// Home of a person who exists in tests only.
const INVENTED_HOME: &str = concat!("/ho", "me/me");

/// Hosts that packages come from.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npm", "js"),
    concat!("pypi", ".org"),
    concat!("deb.deb", "ian"),
    concat!("static.rust-", "lang"),
];

/// Where the lock file says that every package came from.
const LOCKED_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[track_caller]
fn refuse(findings: Vec<Finding>, remedy: &str) {
    if let Some(complaint) = complaint(findings, remedy) {
        panic!("{complaint}");
    }
}

/// Places of texts for which `what` finds something wrong in a line.
fn lines_that(what: impl Fn(&str, &str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in TREE.texts() {
        for (number, line) in text.lines().enumerate() {
            findings.extend(what(path, line).map(|what| Finding {
                file: path.to_owned(),
                line: number + 1,
                what,
            }));
        }
    }
    findings
}

#[test]
fn the_root_shows_the_agreed_entries_only() {
    let entries: BTreeSet<&str> = TREE
        .files
        .iter()
        .filter_map(|path| path.split('/').next())
        .filter(|entry| !entry.starts_with('.'))
        .collect();
    assert_eq!(
        entries,
        BTreeSet::from(TOP_LEVEL),
        "put it into the room it belongs to; the root is a table of contents"
    );
}

#[test]
fn no_file_names_a_machine() {
    let root = TREE.root.to_string_lossy();
    let findings = lines_that(|_, line| {
        let line = &line.replace(INVENTED_HOME, "");
        let known = MACHINE_PATHS.into_iter().chain([root.as_ref()]);
        let named = known
            .filter(|path| begins_a_path(line, path))
            .max_by_key(|path| path.len())?;
        Some(format!("names `{named}`"))
    });
    refuse(
        findings,
        "make the path relative, or take a temporary folder.",
    );
}

/// True when the text holds the path, not as the middle of a longer one.
fn begins_a_path(line: &str, path: &str) -> bool {
    let mut before = line
        .match_indices(path)
        .map(|(at, _)| line[..at].chars().next_back());
    before.any(|char| char.is_none_or(|c| !c.is_alphanumeric() && !"._-~}$>".contains(c)))
}

#[test]
fn paths_are_found_at_their_beginning_only() {
    let home = MACHINE_PATHS[2];
    for (line, expected) in [
        (format!("\"{home}them\""), true),
        (home.to_owned(), true),
        (format!("a{home}"), false),
        (format!("${{NAME}}{home}"), false),
    ] {
        assert_eq!(begins_a_path(&line, home), expected, "{line}");
    }
}

#[test]
fn no_file_names_a_registry_host() {
    let findings = lines_that(|path, line| {
        let named = REGISTRY_HOSTS.into_iter().find(|host| line.contains(host));
        let elsewhere = path == "Cargo.lock"
            && line.starts_with("source = ")
            && line != format!("source = \"{LOCKED_SOURCE}\"");
        named
            .map(|host| format!("names `{host}`"))
            .or_else(|| elsewhere.then(|| format!("locks a package from elsewhere: {line}")))
    });
    refuse(
        findings,
        "where packages come from is the machine's matter.",
    );
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut findings = Vec::new();
    for (path, text) in TREE.texts().filter(|(path, _)| path.ends_with(".md")) {
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        for (number, line) in text.lines().enumerate() {
            let dead = targets(line).filter(|target| !TREE.root.join(folder).join(target).exists());
            findings.extend(dead.map(|target| Finding {
                file: path.to_owned(),
                line: number + 1,
                what: format!("links to `{target}`"),
            }));
        }
    }
    refuse(findings, "mend the link or write what it promises.");
}

/// Targets of the links of a line that lie in the tree, without their anchors.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://"))
        .filter_map(|target| target.split('#').next())
        .filter(|target| !target.is_empty())
}

#[test]
fn targets_are_what_stands_in_round_brackets() {
    let found: Vec<_> = targets("[a](b.md#c) [d](#e) [f](https://g) (h) [i](../j)").collect();
    assert_eq!(found, ["b.md", "../j"]);
}
