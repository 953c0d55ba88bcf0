//! How many items a crate shows to others (`xtask/public.toml`): what anybody can reach has to be understood, and cannot be changed freely.
//!
//! An item counts once, under however many names it is handed on: functions, types, traits, constants. What belongs to a type, its
//! fields and methods, does not count by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::modules::{Module, Source, sources, target};
use crate::finding::Finding;

/// Where the bounds stand, by crate.
const BOUNDS: &str = "xtask/public.toml";

/// Crates that show more than they may, and those without a bound.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let text = std::fs::read_to_string(root.join(BOUNDS)).unwrap_or_default();
    let bounds: BTreeMap<String, usize> = match toml::from_str(&text) {
        Ok(bounds) => bounds,
        Err(error) => return vec![Finding::new(BOUNDS, error.to_string())],
    };
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten();
    let libraries: BTreeMap<String, usize> = crates
        .flatten()
        .map(|entry| (entry.file_name(), entry.path().join("src")))
        .filter(|(_, source)| source.join("lib.rs").is_file())
        .map(|(name, source)| {
            let shown = shown(&sources(&source)).len();
            (name.to_string_lossy().into_owned(), shown)
        })
        .collect();
    let wrong = objections(&bounds, &libraries);
    let finding = |what| Finding::new(BOUNDS, what);
    wrong.into_iter().map(finding).collect()
}

fn objections(bounds: &BTreeMap<String, usize>, crates: &BTreeMap<String, usize>) -> Vec<String> {
    let gone = bounds.keys().filter(|name| !crates.contains_key(*name));
    let gone = gone.map(|name| format!("{name} is no library of crates"));
    let wrong = crates
        .iter()
        .filter_map(|(name, count)| match bounds.get(name) {
            None => Some(format!(
                "say how many items {name} may show: now it shows {count}"
            )),
            Some(bound) if count > bound => Some(format!(
                "{name} shows {count} items to others, and may show {bound}: make what nobody outside uses pub(crate)"
            )),
            Some(_) => None,
        });
    gone.chain(wrong).collect()
}

/// The items that others can reach, by the module in which they stand.
fn shown(modules: &BTreeMap<Module, Source>) -> BTreeSet<(Module, String)> {
    let mut items = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![Module::new()];
    while let Some(module) = waiting.pop() {
        let Some(source) = modules.get(&module) else {
            continue;
        };
        if !seen.insert(module.clone()) {
            continue;
        }
        let own = source.shown.items.iter();
        items.extend(own.map(|name| (module.clone(), name.clone())));
        let children = source.shown.modules.iter();
        waiting
            .extend(children.map(|name| [module.as_slice(), std::slice::from_ref(name)].concat()));
        for path in &source.shown.handed {
            let Some(name) = path.last().cloned() else {
                continue;
            };
            let whole = absolute(&module, path, modules);
            // Everything of a module, or the module itself.
            let all = whole.strip_suffix(&["*".to_owned()]).unwrap_or(&whole);
            let below = ["crate".to_owned()].into_iter().chain(all.iter().cloned());
            match target(&module, &below.collect(), modules) {
                Some(found) if found == all => waiting.push(found),
                Some(found) => drop(items.insert((found, name))),
                None => drop(items.insert((module.clone(), name))),
            }
        }
    }
    items
}

/// A path that a module hands on, from the root of the crate; of another crate's it stays as it is.
fn absolute(module: &Module, path: &Module, modules: &BTreeMap<Module, Source>) -> Module {
    let mut at = module.clone();
    let mut rest = path.as_slice();
    let child = path
        .first()
        .map(|first| [module.as_slice(), std::slice::from_ref(first)].concat());
    let own = child.is_some_and(|child| modules.contains_key(&child));
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            _ => break,
        }
        rest = others;
    }
    if rest.len() == path.len() && !own {
        return path.clone();
    }
    at.extend(rest.iter().cloned());
    at
}

#[cfg(test)]
mod tests {
    use super::super::modules::read;
    use super::*;

    fn names(all: &[(&str, &str)]) -> Vec<String> {
        let module = |name: &str| -> Module {
            let parts = name.split("::").filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let all = all.iter().map(|(name, text)| (module(name), read(text)));
        let shown = shown(&all.collect());
        shown
            .into_iter()
            .map(|(module, name)| [module.join("::"), name].join("."))
            .collect()
    }

    #[test]
    fn an_item_counts_where_others_can_reach_it_and_once() {
        let found = names(&[
            (
                "",
                "pub mod open;\nmod closed;\npub use closed::Handed;\npub use open::{Twice, part::Deep as Other};\npub use serde::Serialize;",
            ),
            (
                "open",
                "pub mod part;\npub struct Twice;\npub(crate) struct Hidden;\nimpl Twice {\n    pub fn method() {}\n}\npub const fn made() {}",
            ),
            (
                "open::part",
                "pub enum Deep {}\npub use crate::closed::Handed;",
            ),
            ("closed", "pub struct Handed;\npub struct Unreached;"),
        ]);
        assert_eq!(
            found,
            [
                "closed.Handed",
                "open.Twice",
                "open.made",
                "open::part.Deep",
                "serde.Serialize"
            ]
            .map(|name| name.replace("serde.", "."))
            .into_iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_module_that_is_handed_on_shows_what_is_in_it() {
        let found = names(&[
            (
                "",
                "mod closed;\npub use closed::part;\npub use closed::other::*;",
            ),
            ("closed", ""),
            ("closed::part", "pub struct A;"),
            ("closed::other", "pub trait B {}"),
        ]);
        assert_eq!(found, ["closed::other.B", "closed::part.A"]);
    }

    #[test]
    fn a_crate_shows_no_more_than_it_may() {
        let counts = |all: &[(&str, usize)]| -> BTreeMap<String, usize> {
            all.iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect()
        };
        let bounds = counts(&[("a", 3), ("b", 3), ("gone", 1)]);
        let told = objections(&bounds, &counts(&[("a", 3), ("b", 4), ("new", 2)]));
        assert_eq!(told.len(), 3);
        assert!(
            told[0].contains("gone") && told[1].contains("b shows 4") && told[2].contains("new")
        );
    }
}
