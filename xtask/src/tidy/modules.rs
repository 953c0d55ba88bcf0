//! The modules of a crate, and which of them import which: what `circles` and `order` look at.
//!
//! A name counts where it stands and not where it is handed on: an import of `crate::merge::identity` leads to the file that
//! holds it, through every `pub use` on the way. A module may use its own children, as its parts, without that counting; what
//! a child takes of its parent counts. `use` lines and paths count alike. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::walk;

/// A module by the segments of its path; the root of the crate has none.
pub(super) type Module = Vec<String>;

/// A declaration `use`, whether others may use it, and what it names.
static USES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").ok());

/// A path in code that begins at the crate, here or above.
static PATHS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").ok());

/// An item at the left margin that is for everybody, and its kind.
static ITEMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let kinds = "fn|struct|enum|union|trait|type|const|static|mod";
    Regex::new(&format!(
        r"(?m)^pub\s+(?:(?:async|unsafe|const|auto)\s+)*({kinds})\s+(\w+)"
    ))
    .ok()
});

/// Who may see an item: its path is no import.
static SEEN_BY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"pub\(in [^)]*\)").ok());

/// How many `pub use` lead from one to the next at most.
const HANDED_ON: usize = 8;

/// One path that a `use` names, and what it is called from there on.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    path: Module,
    name: String,
}

/// What is asked about one module.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The paths that it names, each beginning with `crate`, `super` or `self`.
    paths: BTreeSet<Module>,
    /// What it hands on under which name.
    exports: BTreeMap<String, Module>,
    /// What anybody may use of it: its own items by name, the modules in it, and the paths that it hands on.
    pub(super) shown: Shown,
}

/// What of a module is for everybody who may use the module.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) items: BTreeSet<String>,
    pub(super) modules: BTreeSet<String>,
    pub(super) handed: Vec<Module>,
}

/// The modules of a source directory.
pub(super) fn sources(source: &Path) -> BTreeMap<Module, Source> {
    let library = source.join("lib.rs").is_file();
    let files = walk(source, &|path| {
        // A program beside the library is no module of it.
        let program = library && *path == source.join("main.rs");
        path.extension().is_some_and(|e| e == "rs") && !program
    });
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        Some((module(source, &path)?, read(&text)))
    };
    files.into_iter().filter_map(read).collect()
}

/// What each module of a source directory imports of the others.
pub(super) fn imports(source: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let modules = sources(source);
    modules
        .iter()
        .map(|(module, source)| {
            let used = source
                .paths
                .iter()
                .filter_map(|path| target(module, path, &modules));
            let used = used.filter(|other| !other.starts_with(module) && !other.is_empty());
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
    let root = ["lib", "main"].map(|name| vec![name.to_owned()]);
    if root.contains(&parts) {
        parts.clear();
    }
    (!parts.iter().any(|part| part == "tests")).then_some(parts)
}

/// What a file names and hands on.
pub(super) fn read(text: &str) -> Source {
    let code = code(text);
    let mut source = Source::default();
    for captures in USES
        .as_ref()
        .into_iter()
        .flat_map(|u| u.captures_iter(&code))
    {
        for Named { path, name } in named(&[], captures.get(2).map_or("", |m| m.as_str())) {
            let seen_by = captures.get(1).map(|who| who.as_str().trim());
            if seen_by == Some("pub") {
                source.shown.handed.push(path.clone());
            }
            if seen_by.is_some() {
                source.exports.insert(name, path.clone());
            }
            if path.first().is_some_and(|first| is_anchor(first)) {
                source.paths.insert(path);
            }
        }
    }
    for captures in ITEMS.iter().flat_map(|items| items.captures_iter(&code)) {
        let (Some(kind), Some(name)) = (captures.get(1), captures.get(2)) else {
            continue;
        };
        let named = match kind.as_str() {
            "mod" => &mut source.shown.modules,
            _ => &mut source.shown.items,
        };
        named.insert(name.as_str().to_owned());
    }
    let rest = USES.as_ref().map(|uses| uses.replace_all(&code, "\n"));
    let rest = rest.unwrap_or_default();
    let found = PATHS.as_ref().into_iter().flat_map(|p| p.find_iter(&rest));
    source
        .paths
        .extend(found.map(|path| segments(path.as_str())));
    source
}

/// The text without comments, without its tests, and without who may see what.
fn code(text: &str) -> String {
    // Tests in a file of their own may be named anywhere; those that stand here stand last.
    let text = text.replace("#[cfg(test)]\nmod tests;", "");
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    match SEEN_BY.as_ref() {
        Some(seen_by) => seen_by.replace_all(&code, "pub").into_owned(),
        None => code,
    }
}

fn is_anchor(segment: &str) -> bool {
    ["crate", "super", "self"].contains(&segment)
}

fn segments(path: &str) -> Module {
    let parts = path.split("::").map(str::trim);
    parts.filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

/// All that a tree of a `use` names, each below `base`.
fn named(base: &[String], tree: &str) -> Vec<Named> {
    let mut all = Vec::new();
    for item in items(tree) {
        let (head, inner) = item.split_once('{').unwrap_or((item, ""));
        let (path, alias) = head.split_once(" as ").unwrap_or((head, ""));
        let mut path = [base, &segments(path)].concat();
        if !inner.is_empty() {
            let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
            all.extend(named(&path, inner));
            continue;
        }
        // `a::{self}` names `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let own = path.last().cloned().unwrap_or_default();
        let name = Some(alias.trim()).filter(|alias| !alias.is_empty());
        let name = name.map_or(own, str::to_owned);
        all.push(Named { path, name });
    }
    all
}

/// The items of a list, those in braces left together.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0_usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.extend(list.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    all.extend(list.get(start..));
    let all = all.into_iter().map(str::trim);
    all.filter(|item| !item.is_empty()).collect()
}

/// The module that holds what a path names from another one.
pub(super) fn target(
    from: &Module,
    path: &Module,
    modules: &BTreeMap<Module, Source>,
) -> Option<Module> {
    let (mut from, mut path) = (from.clone(), path.clone());
    for _ in 0..HANDED_ON {
        let (at, left) = place(&from, &path, modules)?;
        let handed = left.split_first().and_then(|(name, rest)| {
            let handed = modules.get(&at)?.exports.get(name)?;
            Some([handed.as_slice(), rest].concat())
        });
        let Some(next) = handed else { return Some(at) };
        // What begins with no anchor is a child's, or another crate's.
        let child = [at.as_slice(), next.get(..1)?].concat();
        let own = next.first().is_some_and(|first| is_anchor(first));
        if !own && !modules.contains_key(&child) {
            return Some(at);
        }
        (from, path) = (at, next);
    }
    Some(from)
}

/// The module that a path leads to, and what of the path is in it.
fn place(
    from: &Module,
    path: &Module,
    modules: &BTreeMap<Module, Source>,
) -> Option<(Module, Module)> {
    let mut at = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => from.clone(),
    };
    let mut rest = path.as_slice();
    while let Some((first, others)) = rest.split_first().filter(|(first, _)| is_anchor(first)) {
        if first == "super" {
            at.pop();
        }
        rest = others;
    }
    let mut left = Vec::new();
    at.extend(rest.iter().cloned());
    while !modules.contains_key(&at) {
        left.insert(0, at.pop()?);
    }
    Some((at, left))
}

#[cfg(test)]
mod tests;
