//! The order of a crate's modules (`xtask/order.toml`): each imports those on lower levels only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::modules::{Module, imports};
use crate::finding::Finding;

/// Where the order stands: by crate, from the lowest level up.
const ORDER: &str = "xtask/order.toml";

type Order = BTreeMap<String, Vec<Vec<String>>>;

/// Imports that do not lead down, and modules that the order does not know or knows in vain.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let text = std::fs::read_to_string(root.join(ORDER)).unwrap_or_default();
    let order: Order = match toml::from_str(&text) {
        Ok(order) => order,
        Err(error) => return vec![Finding::new(ORDER, error.to_string())],
    };
    let crates = order.iter();
    crates
        .flat_map(|(name, levels)| {
            let source = root.join("crates").join(name).join("src");
            let wrong = objections(levels, &imports(&source));
            let place = format!("crates/{name}");
            wrong
                .into_iter()
                .map(move |what| Finding::new(&place, what))
        })
        .collect()
}

fn objections(levels: &[Vec<String>], imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let mut all = Vec::new();
    let level = |name: &String| levels.iter().position(|level| level.contains(name));
    let there: BTreeSet<&String> = imports.keys().filter_map(|module| module.first()).collect();
    for name in levels.iter().flatten().filter(|name| !there.contains(name)) {
        all.push(format!("{ORDER} lists {name}, and there is no such module"));
    }
    for name in there.iter().filter(|name| level(name).is_none()) {
        all.push(format!("{ORDER} does not say which level {name} is on"));
    }
    for (module, used) in imports {
        for other in used {
            let (Some(own), Some(theirs)) = (module.first(), other.first()) else {
                continue;
            };
            if own != theirs && level(theirs) >= level(own) {
                let (from, to) = (module.join("::"), other.join("::"));
                all.push(format!("{from} imports {to}, which is not below it"));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Module {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn a_module_imports_lower_ones_only_and_each_has_its_level() {
        let levels = |all: &[&[&str]]| -> Vec<Vec<String>> {
            let level = |level: &&[&str]| level.iter().map(|name| (*name).to_owned()).collect();
            all.iter().map(level).collect()
        };
        let imports = BTreeMap::from([
            (module("low"), BTreeSet::new()),
            (module("high"), BTreeSet::new()),
            (
                module("high::part"),
                BTreeSet::from([module("low"), module("high")]),
            ),
        ]);
        assert!(objections(&levels(&[&["low"], &["high"]]), &imports).is_empty());
        let upside_down = objections(&levels(&[&["high"], &["low"]]), &imports);
        assert_eq!(
            upside_down,
            ["high::part imports low, which is not below it"]
        );
        let beside = objections(&levels(&[&["high", "low"]]), &imports);
        assert_eq!(beside, upside_down);
        let listed = objections(&levels(&[&["low", "gone"]]), &imports);
        assert_eq!(
            listed[..2],
            [
                "xtask/order.toml lists gone, and there is no such module",
                "xtask/order.toml does not say which level high is on"
            ]
        );
    }
}
