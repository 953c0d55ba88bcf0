//! Files of a crate that import each other in a circle: nobody can understand one of them alone. There is none, in any crate.

mod graph;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::modules::{Module, imports};
use super::shown;
use crate::finding::Finding;

/// Every circle of files in a crate.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten();
    let crates = crates.flatten().map(|entry| entry.path());
    let tools = ["xtask", "fuzz"].map(|name| root.join(name));
    let mut all: Vec<PathBuf> = crates.chain(tools).collect();
    all.sort();
    all.iter()
        .flat_map(|directory| of_crate(root, directory))
        .collect()
}

fn of_crate(root: &Path, directory: &Path) -> Vec<Finding> {
    let circles = graph::circles(&imports(&directory.join("src")));
    let finding = |circle: &BTreeSet<Module>| {
        let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
        let what = format!(
            "these files import each other in a circle: {}",
            names.join(" ")
        );
        Finding::new(shown(root, directory), what)
    };
    circles.iter().map(finding).collect()
}

#[cfg(test)]
mod tests;
