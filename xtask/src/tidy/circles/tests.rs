use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Module, code, graph, paths, target};

fn module(text: &str) -> Module {
    text.split("::").map(str::to_owned).collect()
}

#[test]
fn files_that_reach_each_other_are_a_circle_and_others_are_not() {
    let edge = |from: &str, to: &[&str]| {
        (
            from.to_owned(),
            to.iter().map(|t| (*t).to_owned()).collect(),
        )
    };
    let graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::from([
        edge("a", &["b"]),
        edge("b", &["c", "d"]),
        edge("c", &["a"]),
        edge("d", &["e"]),
        edge("e", &[]),
    ]);
    let found = graph::circles(&graph);
    assert_eq!(found, [BTreeSet::from(["a", "b", "c"].map(str::to_owned))]);
}

#[test]
fn imports_are_found_in_lists_and_in_paths_and_not_in_comments() {
    let text = "use crate::b::{self, Thing, inner::{X, Y}};\n// crate::never\nfn f() { super::c::call() }\n#[cfg(test)]\nmod tests { use crate::not; }";
    let found = paths(&code(text));
    assert!(
        found.contains(&module("crate::b::Thing")) && found.contains(&module("super::c::call"))
    );
    assert!(
        !found
            .iter()
            .any(|path| path.contains(&"never".to_owned()) || path.contains(&"not".to_owned()))
    );
}

#[test]
fn a_module_may_use_its_own_parts() {
    let known = |names: &[&str]| -> BTreeMap<Module, PathBuf> {
        names
            .iter()
            .map(|name| (module(name), PathBuf::new()))
            .collect()
    };
    let modules = known(&["a", "a::part", "b"]);
    assert_eq!(
        target(&module("a"), &module("self::part::X"), &modules),
        None
    );
    assert_eq!(
        target(&module("a::part"), &module("super::Y"), &modules),
        Some(module("a"))
    );
    assert_eq!(
        target(&module("a"), &module("crate::b::Z"), &modules),
        Some(module("b"))
    );
}
