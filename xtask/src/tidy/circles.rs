//! Files of a crate that import each other in a circle: nobody can understand one of them alone.
//!
//! A module may use its own children, as its parts, without that counting as an import; what it names of others does, in
//! `use` lines and in paths alike. The tests of a crate are left out.

mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::{shown, walk};
use crate::finding::Finding;

/// Crates in which circles stand from before, with the number of files in them: it may only shrink.
const KNOWN: &[(&str, usize)] = &[("package", 19), ("store", 9)];

/// A path of modules, and what it may go on with in braces.
static PATHS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b((?:crate|super|self)(?:::\w+)*)(?:::\{([^;{}]*(?:\{[^{}]*\}[^;{}]*)*)\})?").ok()
});

type Module = Vec<String>;

/// Every crate with more files in circles than there were, or fewer than the list says.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten();
    let mut names: Vec<PathBuf> = crates.flatten().map(|entry| entry.path()).collect();
    names.sort();
    names
        .iter()
        .filter_map(|directory| of_crate(root, directory))
        .collect()
}

fn of_crate(root: &Path, directory: &Path) -> Option<Finding> {
    let name = directory.file_name()?.to_str()?;
    let circles = graph::circles(&imports(&directory.join("src")));
    let found: usize = circles.iter().map(BTreeSet::len).sum();
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    let most = known.map_or(0, |(_, most)| *most);
    let place = shown(root, directory);
    if found > most {
        let told: Vec<String> = circles.iter().map(words).collect();
        let what = format!(
            "{found} files import each other in circles, {most} may: {}",
            told.join("; ")
        );
        return Some(Finding::new(place, what));
    }
    let what = format!(
        "{found} files import each other in circles, {most} are listed: list no more than there are"
    );
    (found < most).then(|| Finding::new(place, what))
}

fn words(circle: &BTreeSet<Module>) -> String {
    let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
    names.join(" ")
}

/// What each module of a source directory imports of the others.
fn imports(source: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = walk(source, &|path| path.extension().is_some_and(|e| e == "rs"));
    let modules: BTreeMap<Module, PathBuf> = files
        .into_iter()
        .filter_map(|path| Some((module(source, &path)?, path)))
        .collect();
    modules
        .iter()
        .map(|(module, path)| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let paths = paths(&code(&text));
            let used = paths
                .iter()
                .filter_map(|path| target(module, path, &modules));
            (module.clone(), used.collect())
        })
        .collect()
}

/// The module that a file is; none for tests.
fn module(source: &Path, path: &Path) -> Option<Module> {
    let relative = path.strip_prefix(source).ok()?.with_extension("");
    let mut parts: Module = relative
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    if parts.len() == 1
        && parts
            .first()
            .is_some_and(|one| one == "lib" || one == "main")
    {
        parts.clear();
    }
    (!parts.iter().any(|part| part == "tests")).then_some(parts)
}

/// The text without comments and without its tests.
fn code(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths that a text names, each beginning with `crate`, `super` or `self`.
fn paths(code: &str) -> BTreeSet<Module> {
    let split = |text: &str| -> Module { text.split("::").map(|s| s.trim().to_owned()).collect() };
    let found = PATHS
        .as_ref()
        .into_iter()
        .flat_map(|p| p.captures_iter(code));
    found
        .flat_map(|captures| {
            let base = captures.get(1).map_or("", |m| m.as_str());
            let inner = captures.get(2).map_or("", |m| m.as_str());
            // Of a nested list the first names say which modules are meant.
            let items = inner
                .split(',')
                .map(|item| item.split(['{', '}', ' ']).find(|s| !s.is_empty()));
            let items: Vec<&str> = items.flatten().collect();
            match items.is_empty() {
                true => vec![split(base)],
                false => items
                    .iter()
                    .map(|item| split(&format!("{base}::{item}")))
                    .collect(),
            }
        })
        .collect()
}

/// The module that a path leads to from another one, if it is neither that one nor a part of it.
fn target(from: &Module, path: &Module, modules: &BTreeMap<Module, PathBuf>) -> Option<Module> {
    let mut at = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => from.clone(),
    };
    let mut rest = path.as_slice();
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "super" => drop(at.pop()),
            "crate" | "self" => {}
            _ => break,
        }
        rest = others;
    }
    at.extend(rest.iter().cloned());
    while !modules.contains_key(&at) {
        at.pop()?;
    }
    (!at.is_empty() && !at.starts_with(from)).then_some(at)
}

#[cfg(test)]
mod tests;
