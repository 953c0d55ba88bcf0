//! Arrows point down only, and pure rooms cannot reach the world (house.md "Rooms and arrows").

use std::path::Path;

use super::Finding;

/// Each room and the rooms that it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("yaml", &[]),
    ("expr", &[]),
    ("model", &[]),
    ("api", &["model", "yaml"]),
    ("package", &["model", "yaml"]),
    ("plan", &["model", "expr"]),
    ("store", &["model"]),
    ("apiserver", &["yaml", "expr"]),
    ("functions", &["model", "yaml"]),
    (
        "engine",
        &["model", "package", "plan", "store", "functions"],
    ),
    (
        "offshoot",
        &[
            "model",
            "yaml",
            "expr",
            "api",
            "apiserver",
            "engine",
            "store",
            "functions",
            "plan",
            "package",
        ],
    ),
    (
        "testkit",
        &[
            "model",
            "yaml",
            "expr",
            "store",
            "engine",
            "plan",
            "package",
            "functions",
            "api",
            "apiserver",
        ],
    ),
];

/// Rooms that have no tokio, no kube client, no git, no clock, no randomness, no file system.
pub(crate) const PURE: &[&str] = &["yaml", "expr", "model", "api", "package", "plan"];

/// What pure rooms may not depend on.
const WORLDLY: &[&str] = &[
    "tokio",
    "async-trait",
    "futures",
    "kube",
    "k8s-openapi",
    "gix",
    "axum",
    "hyper",
    "redb",
    "rand",
    "rustix",
    "tempfile",
    "clap",
    "tracing",
];

/// Libraries that belong to one room.
const OWNED: &[(&str, &[&str])] = &[
    ("gix", &["store"]),
    ("gix-pack", &["store"]),
    ("gix-odb", &["store"]),
    ("redb", &["apiserver"]),
    ("axum", &["apiserver"]),
    ("granit-parser", &["yaml"]),
    ("cel", &["expr"]),
    ("clap", &["offshoot", "xtask"]),
    ("kube", &["offshoot"]),
];

/// Everything that points the wrong way.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (room, allowed) in ROOMS {
        let place = format!("crates/{room}/Cargo.toml");
        let Some(dependencies) = dependencies(&root.join(&place)) else {
            findings.push(Finding::new(
                place,
                "cannot be read: every room of house.md exists",
            ));
            continue;
        };
        for name in dependencies {
            let is_room = ROOMS.iter().any(|(r, _)| *r == name);
            if is_room && !allowed.contains(&name.as_str()) {
                findings.push(Finding::new(
                    &place,
                    format!("{room} must not use {name}: arrows point down only"),
                ));
            }
            if PURE.contains(room) && WORLDLY.contains(&name.as_str()) {
                findings.push(Finding::new(
                    &place,
                    format!("{room} is pure and must not use {name}"),
                ));
            }
            let owner = OWNED.iter().find(|(library, _)| *library == name);
            if owner.is_some_and(|(_, rooms)| !rooms.contains(room)) {
                findings.push(Finding::new(
                    &place,
                    format!("{name} belongs to another room"),
                ));
            }
        }
    }
    findings
}

/// The names under `[dependencies]`.
pub(crate) fn dependencies(manifest: &Path) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(manifest).ok()?;
    let table: toml::Table = toml::from_str(&text).ok()?;
    let names = table.get("dependencies").and_then(|d| d.as_table());
    Some(
        names
            .map(|d| d.keys().cloned().collect())
            .unwrap_or_default(),
    )
}
