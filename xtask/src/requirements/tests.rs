//! What tests say that they show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tidy::{shown, walk};

/// The tests of each requirement, sorted.
pub(super) fn all(root: &Path) -> BTreeMap<u32, Vec<String>> {
    let mut out: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for path in walk(root, &|path| path.extension().is_some_and(|e| e == "rs")) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let place = place(&shown(root, &path));
        for (name, numbers) in tests_of(&text) {
            for number in numbers {
                out.entry(number)
                    .or_default()
                    .insert(format!("{place}::{name}"));
            }
        }
    }
    for (case, line) in cases(root) {
        for number in numbers(&line) {
            out.entry(number).or_default().insert(case.clone());
        }
    }
    out.into_iter()
        .map(|(n, set)| (n, set.into_iter().collect()))
        .collect()
}

/// `crates/plan/tests/it/set.rs` as `plan::set`.
fn place(path: &str) -> String {
    let bare = path.trim_start_matches("crates/").trim_end_matches(".rs");
    let words = bare.split('/');
    let kept: Vec<&str> = words
        .filter(|w| !["src", "tests", "it", "mod"].contains(w))
        .collect();
    kept.join("::")
}

/// The tests of a source, each with its numbers.
fn tests_of(text: &str) -> Vec<(String, BTreeSet<u32>)> {
    let mut out = Vec::new();
    let (mut docs, mut is_test) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push_str(doc);
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("::test(");
        } else {
            let function = line.trim_start_matches("pub ").trim_start_matches("async ");
            if let (true, Some(rest)) = (is_test, function.strip_prefix("fn ")) {
                let name = rest.split('(').next().unwrap_or_default();
                let mut found = numbers(&docs);
                found.extend(at_the_head(name));
                out.push((name.to_owned(), found));
            }
            docs.clear();
            is_test = false;
        }
    }
    out
}

/// The numbers that a name begins with: `r72_r73_…`.
fn at_the_head(name: &str) -> impl Iterator<Item = u32> + '_ {
    let words = name.split('_');
    words
        .map_while(|w| {
            w.strip_prefix(['r', 'v', 'm'])?
                .parse::<u32>()
                .ok()
                .map(|n| (w, n))
        })
        .filter(|(w, _)| w.starts_with('r'))
        .map(|(_, n)| n)
}

/// The R numbers of a text, ranges filled in.
fn numbers(text: &str) -> BTreeSet<u32> {
    let mut out = BTreeSet::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '–');
    for word in words {
        let mut range = word.split(['-', '–']).map(number);
        let (Some(first), second) = (range.next().flatten(), range.next().flatten()) else {
            continue;
        };
        out.extend(first..=second.unwrap_or(first).max(first));
    }
    out
}

fn number(word: &str) -> Option<u32> {
    word.strip_prefix('R')?.parse().ok()
}

/// Case folders with the first line of their worlds.
fn cases(root: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for member in entries(&root.join("crates")) {
        for kind in entries(&member.join("testdata")) {
            for case in entries(&kind) {
                let Ok(text) = std::fs::read_to_string(case.join("world.yaml")) else {
                    continue;
                };
                let name = |path: &Path| {
                    let name = path.file_name().unwrap_or_default();
                    name.to_string_lossy().into_owned()
                };
                let line = text.lines().next().unwrap_or_default();
                let place = format!("{}: {}/{}", name(&member), name(&kind), name(&case));
                out.push((place, line.to_owned()));
            }
        }
    }
    out
}

fn entries(directory: &Path) -> Vec<std::path::PathBuf> {
    let read = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = read.map(|e| e.path()).filter(|p| p.is_dir()).collect();
    paths.sort();
    paths
}
