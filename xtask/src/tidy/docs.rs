//! Documents: the ones that every visitor looks for, links that lead somewhere, a line for every
//! dependency, no path of a machine.

use std::path::Path;

use super::{shown, walk};
use crate::finding::Finding;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "LICENSE",
    "deny.toml",
    "docs/decisions.md",
    "docs/dependencies.md",
    "docs/merge.md",
    "docs/performance.md",
];

/// Everything that is wrong with documents.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in DOCUMENTS.iter().filter(|name| !root.join(name).is_file()) {
        findings.push(Finding::new(*name, "is missing"));
    }
    for path in walk(root, &|path| path.extension().is_some_and(|e| e == "md")) {
        let place = shown(root, &path);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        findings.extend(links(&path, &place, &text));
    }
    findings.extend(dependencies(root));
    findings
}

/// Relative links must lead to a file.
fn links(path: &Path, place: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for part in line.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            let exists = path
                .parent()
                .is_some_and(|directory| directory.join(file).exists());
            if !exists {
                findings.push(Finding::new(
                    format!("{place}:{}", number + 1),
                    format!("{target} leads nowhere"),
                ));
            }
        }
    }
    findings
}

/// Each library of the workspace has its line in docs/dependencies.md.
fn dependencies(root: &Path) -> Vec<Finding> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap_or_default();
    let told = read("docs/dependencies.md");
    let names = manifest
        .get("workspace")
        .and_then(|w| w.get("dependencies"))
        .and_then(|d| d.as_table())
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.get("path").is_none());
    names
        .filter(|(name, _)| !told.contains(&format!("| {name} |")))
        .map(|(name, _)| Finding::new("docs/dependencies.md", format!("has no line for {name}")))
        .collect()
}
