use std::collections::BTreeMap;

use super::{Module, Source, read, target};

fn module(text: &str) -> Module {
    text.split("::").map(str::to_owned).collect()
}

/// Modules by their names, with their texts.
fn modules(all: &[(&str, &str)]) -> BTreeMap<Module, Source> {
    let all = all.iter().map(|(name, text)| (module(name), read(text)));
    all.collect()
}

fn leads(modules: &BTreeMap<Module, Source>, from: &str, path: &str) -> String {
    let found = target(&module(from), &module(path), modules);
    found.map_or_else(String::new, |found| found.join("::"))
}

#[test]
fn imports_are_found_in_lists_and_in_paths_and_not_in_comments_or_tests() {
    let text = "use crate::b::{self, Thing, inner::{X, Y as Z}};\n// crate::never\npub(in super::d) fn f() { super::c::call() }\n#[cfg(test)]\nmod tests { use crate::not; }";
    let found: Vec<String> = read(text).paths.iter().map(|p| p.join("::")).collect();
    assert_eq!(
        found,
        [
            "crate::b",
            "crate::b::Thing",
            "crate::b::inner::X",
            "crate::b::inner::Y",
            "super::c::call"
        ]
    );
}

#[test]
fn a_path_leads_to_the_deepest_module_that_is_there() {
    let modules = modules(&[("a", ""), ("a::part", ""), ("b", "")]);
    assert_eq!(leads(&modules, "a", "self::part::X"), "a::part");
    assert_eq!(leads(&modules, "a::part", "super::Y"), "a");
    assert_eq!(leads(&modules, "a", "crate::b::Z"), "b");
}

#[test]
fn what_is_handed_on_leads_to_where_it_stands() {
    let modules = modules(&[
        (
            "a",
            "pub use part::Thing;\npub use crate::b::Other as Mine;\npub use serde::Serialize;",
        ),
        ("a::part", ""),
        ("b", "pub(crate) use inner::Other;"),
        ("b::inner", ""),
        ("c", ""),
    ]);
    assert_eq!(leads(&modules, "c", "crate::a::Thing"), "a::part");
    assert_eq!(leads(&modules, "c", "crate::a::Mine"), "b::inner");
    assert_eq!(leads(&modules, "c", "crate::a::Serialize"), "a");
    assert_eq!(leads(&modules, "c", "crate::a::Own"), "a");
}
