//! Arrows point down only, and pure crates cannot reach the world (ARCHITECTURE.md, "Crates").

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::finding::Finding;

/// Each crate and the crates that it may use.
const CRATES: &[(&str, &[&str])] = &[
    ("yaml", &[]),
    ("expr", &[]),
    ("model", &[]),
    ("api", &["model", "yaml"]),
    ("package", &["model", "yaml"]),
    ("plan", &["model", "expr"]),
    ("store", &["model"]),
    ("objects", &["expr"]),
    ("objectstore", &[]),
    ("apiserver", &["objects", "objectstore", "yaml", "expr"]),
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
            "objects",
            "objectstore",
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
pub(crate) const PURE: &[&str] = &["yaml", "expr", "model", "api", "package", "plan", "objects"];

/// What pure crates may not depend on.
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

/// Libraries that belong to one crate.
const OWNED: &[(&str, &[&str])] = &[
    ("gix", &["store"]),
    ("gix-pack", &["store"]),
    ("gix-odb", &["store"]),
    ("redb", &["objectstore"]),
    ("axum", &["apiserver", "offshoot"]),
    ("granit-parser", &[]),
    ("cel", &["expr"]),
    ("clap", &["offshoot", "xtask"]),
    ("kube", &["offshoot"]),
];

/// A crate that another one declares, whatever it calls it and for whichever target.
struct Dependency {
    /// The crate's own name, also where the manifest renames it.
    name: String,
    /// Whether it is needed to build the crate itself: tests may use more than the crate.
    shipped: bool,
}

/// Everything that points the wrong way.
///
/// Asks Cargo, not the text of the manifests: a renamed dependency, one for a target, and one of a build script count like any other.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let manifests = match manifests(root) {
        Ok(manifests) => manifests,
        Err(what) => return vec![Finding::new("Cargo.toml", what)],
    };
    let mut findings = Vec::new();
    for (member, allowed) in CRATES {
        let place = format!("crates/{member}/Cargo.toml");
        let Some(dependencies) = manifests.get(*member) else {
            findings.push(Finding::new(
                place,
                "Cargo does not know it: every member of ARCHITECTURE.md exists",
            ));
            continue;
        };
        for dependency in dependencies.iter().filter(|d| d.shipped) {
            let wrong = objection(member, allowed, &dependency.name);
            findings.extend(wrong.map(|what| Finding::new(&place, what)));
        }
    }
    findings.extend(PURE.iter().filter_map(|member| unguarded(root, member)));
    findings
}

/// A pure crate whose lints are not those of `clippy-pure.toml`: they are what keeps it from the world.
fn unguarded(root: &Path, member: &str) -> Option<Finding> {
    let place = format!("crates/{member}/clippy.toml");
    let rules = std::fs::read(root.join("clippy-pure.toml")).ok();
    let held = std::fs::read(root.join(&place)).ok();
    (rules.is_none() || rules != held)
        .then(|| Finding::new(place, "must lead to clippy-pure.toml: the member is pure"))
}

/// Why a crate must not ship with a dependency, if it must not.
fn objection(member: &str, allowed: &[&str], name: &str) -> Option<String> {
    let is_member = CRATES.iter().any(|(r, _)| *r == name);
    if is_member && !allowed.contains(&name) {
        return Some(format!(
            "{member} must not use {name}: arrows point down only"
        ));
    }
    if PURE.contains(&member) && WORLDLY.contains(&name) {
        return Some(format!("{member} is pure and must not use {name}"));
    }
    let owner = OWNED.iter().find(|(library, _)| *library == name);
    owner
        .is_some_and(|(_, crates)| !crates.contains(&member))
        .then(|| format!("{name} belongs to another member"))
}

/// What each crate of the workspace declares, by the crate's name.
fn manifests(root: &Path) -> Result<BTreeMap<String, Vec<Dependency>>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata cannot be started: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("cargo metadata failed: {said}"));
    }
    read(&output.stdout).ok_or_else(|| "what cargo metadata answers cannot be read".to_owned())
}

fn read(metadata: &[u8]) -> Option<BTreeMap<String, Vec<Dependency>>> {
    let metadata: Value = serde_json::from_slice(metadata).ok()?;
    let member = |package: &Value| {
        let declared = package.get("dependencies")?.as_array()?;
        let declared = declared.iter().map(|d| {
            Some(Dependency {
                name: d.get("name")?.as_str()?.to_owned(),
                shipped: d.get("kind")?.as_str() != Some("dev"),
            })
        });
        let name = package.get("name")?.as_str()?.to_owned();
        Some((name, declared.collect::<Option<Vec<_>>>()?))
    };
    let packages = metadata.get("packages")?.as_array()?;
    packages.iter().map(member).collect()
}

#[cfg(test)]
mod tests;
