//! Who may depend on whom, and what every manifest says.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use tidy::tree::TREE;

/// A room: its crate, and the crates of this house that it may use. Arrows point down: no crate
/// stands above one that it uses.
struct Room {
    name: &'static str,
    uses: &'static [&'static str],
}

/// Cores first, then adapters, runtimes and views, the binary, and what only tests use.
const ROOMS: &[Room] = &[
    Room {
        name: "engine-core",
        uses: &[],
    },
    Room {
        name: "workflow-core",
        uses: &[],
    },
    Room {
        name: "fleet-core",
        uses: &["engine-core"],
    },
    Room {
        name: "ledger",
        uses: &[],
    },
    Room {
        name: "ledger-inspect",
        uses: &["ledger"],
    },
    Room {
        name: "roster",
        uses: &["engine-core", "fleet-core"],
    },
    Room {
        name: "engine-llm",
        uses: &["engine-core"],
    },
    Room {
        name: "engine-tools",
        uses: &["engine-core"],
    },
    Room {
        name: "fleet-git",
        uses: &["engine-core", "fleet-core"],
    },
    Room {
        name: "engine-runtime",
        uses: &["engine-core", "engine-llm", "engine-tools"],
    },
    Room {
        name: "fleet-runtime",
        uses: &[
            "engine-core",
            "engine-llm",
            "engine-runtime",
            "engine-tools",
            "fleet-core",
            "fleet-git",
            "ledger",
        ],
    },
    Room {
        name: "fleet-tui",
        uses: &["engine-core", "fleet-core"],
    },
    Room {
        name: "codewhale",
        uses: &[
            "engine-core",
            "engine-llm",
            "engine-runtime",
            "engine-tools",
            "fleet-core",
            "fleet-git",
            "fleet-runtime",
            "fleet-tui",
            "ledger",
            "ledger-inspect",
            "roster",
        ],
    },
    Room {
        name: "testkit",
        uses: &[],
    },
    Room {
        name: "simulation",
        uses: &["engine-core", "fleet-core"],
    },
    Room {
        name: "fuzz",
        uses: &[
            "engine-core",
            "engine-llm",
            "engine-tools",
            "ledger",
            "ledger-inspect",
            "roster",
        ],
    },
    Room {
        name: "tidy",
        uses: &[],
    },
];

/// What tests of any room may use besides what their room uses.
const TEST_ROOMS: &[&str] = &["testkit"];

/// The crates that only decide.
const CORES: [&str; 3] = ["engine-core", "workflow-core", "fleet-core"];

/// What a core may use from outside: values, their text, hashes, and how alike texts are.
const CORE_CRATES: [&str; 6] = [
    "chrono",
    "serde",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
];

/// A second runtime, or a second TLS stack.
const REFUSED_CRATES: [&str; 4] = ["async-std", "aws-lc-sys", "native-tls", "openssl-sys"];

static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
    MetadataCommand::new()
        .current_dir(&TREE.root)
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata reads the workspace")
});

fn members() -> impl Iterator<Item = &'static Package> {
    METADATA.workspace_packages().into_iter()
}

fn is_member(name: &str) -> bool {
    ROOMS.iter().any(|room| room.name == name)
}

/// Names of what a package depends on, by kind.
fn uses(package: &Package, kind: DependencyKind) -> impl Iterator<Item = &str> {
    let dependencies = package.dependencies.iter();
    dependencies
        .filter(move |d| d.kind == kind)
        .map(|d| d.name.as_str())
}

/// Manifest of a member, relative to the root, and what it says.
fn manifests() -> impl Iterator<Item = (String, toml::Table)> {
    let paths = TREE.files.iter();
    let paths = paths.filter(|path| path.ends_with("/Cargo.toml"));
    paths.map(|path| {
        let text = std::fs::read_to_string(TREE.root.join(path)).expect("a manifest can be read");
        let table = text.parse().expect("a manifest is TOML");
        (path.clone(), table)
    })
}

#[test]
fn every_crate_is_a_known_room_and_every_room_a_crate() {
    let crates: BTreeSet<&str> = members().map(|package| package.name.as_str()).collect();
    let rooms: BTreeSet<&str> = ROOMS.iter().map(|room| room.name).collect();
    assert_eq!(crates, rooms, "say in ROOMS what the new crate may use");
}

#[test]
fn the_table_of_rooms_points_down() {
    for (index, room) in ROOMS.iter().enumerate() {
        for used in room.uses {
            let below = ROOMS[..index].iter().any(|lower| lower.name == *used);
            assert!(below, "{} may not use {used}: it stands above", room.name);
        }
    }
}

#[test]
fn arrows_point_down() {
    for package in members() {
        let room = ROOMS.iter().find(|room| room.name == package.name.as_str());
        let allowed = room.map_or(&[][..], |room| room.uses);
        for used in uses(package, DependencyKind::Normal).filter(|name| is_member(name)) {
            assert!(
                allowed.contains(&used),
                "{}: {} uses {used}; turn the arrow round with a port, or move the code",
                package.manifest_path,
                package.name
            );
        }
        for used in uses(package, DependencyKind::Development).filter(|name| is_member(name)) {
            assert!(
                allowed.contains(&used) || TEST_ROOMS.contains(&used),
                "{}: tests of {} use {used}; test it one level up",
                package.manifest_path,
                package.name
            );
        }
    }
}

#[test]
fn an_engine_never_knows_a_fleet() {
    for package in members().filter(|package| package.name.starts_with("engine-")) {
        let fleet = package
            .dependencies
            .iter()
            .find(|d| d.name.starts_with("fleet-"));
        let fleet = fleet.map(|d| d.name.as_str());
        assert_eq!(fleet, None, "{} must work without a fleet", package.name);
    }
}

#[test]
fn cores_use_nothing_that_acts() {
    for package in members().filter(|package| CORES.contains(&package.name.as_str())) {
        for used in uses(package, DependencyKind::Normal).filter(|name| !is_member(name)) {
            assert!(
                CORE_CRATES.contains(&used),
                "{}: {} uses {used}; a core decides, an adapter acts",
                package.manifest_path,
                package.name
            );
        }
    }
}

#[test]
fn there_is_one_way_to_do_a_thing() {
    let lock = std::fs::read_to_string(TREE.root.join("Cargo.lock")).expect("the lock can be read");
    for refused in REFUSED_CRATES {
        let line = format!("name = \"{refused}\"");
        let at = lock.lines().position(|l| l == line);
        assert_eq!(
            at, None,
            "Cargo.lock holds {refused}: `cargo tree -i {refused}` tells who wants it"
        );
    }
}

#[test]
fn every_crate_inherits_its_lints_and_licence() {
    for (path, manifest) in manifests() {
        for (table, key) in [
            ("lints", "workspace"),
            ("package.license", "workspace"),
            ("package.edition", "workspace"),
            ("package.rust-version", "workspace"),
            ("package.publish", "workspace"),
        ] {
            let found = table
                .split('.')
                .try_fold(&manifest, |at, key| at.get(key)?.as_table());
            let inherits = found
                .and_then(|at| at.get(key))
                .and_then(toml::Value::as_bool);
            assert_eq!(inherits, Some(true), "{path}: write `{table}.{key} = true`");
        }
    }
}

#[test]
fn every_crate_lies_in_a_folder_of_its_name_with_a_description() {
    for package in members() {
        let folder = package
            .manifest_path
            .parent()
            .and_then(|folder| folder.file_name());
        assert_eq!(
            folder,
            Some(package.name.as_str()),
            "{}",
            package.manifest_path
        );
        let described = package
            .description
            .as_deref()
            .is_some_and(|text| !text.is_empty());
        assert!(
            described,
            "{}: say in `description` what it is",
            package.manifest_path
        );
    }
}

#[test]
fn versions_stand_in_the_root_manifest_only() {
    for (path, manifest) in manifests() {
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let entries = manifest.get(table).and_then(toml::Value::as_table);
            for (name, entry) in entries.into_iter().flatten() {
                let inherits = entry.get("workspace").and_then(toml::Value::as_bool);
                assert_eq!(
                    inherits,
                    Some(true),
                    "{path}: write `{name}.workspace = true`"
                );
            }
        }
    }
}
