use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{graph, of_crate};

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
fn a_circle_through_what_is_handed_on_is_found() -> std::io::Result<()> {
    let root = tempfile::tempdir()?;
    let write = |name: &str, text: &str| {
        let path = root.path().join("src").join(name);
        std::fs::create_dir_all(path.parent().unwrap_or_else(|| Path::new("/")))?;
        std::fs::write(path, text)
    };
    write("lib.rs", "mod a;\nmod b;\npub use a::part::Thing;\n")?;
    write("a/mod.rs", "pub mod part;\n")?;
    write("a/part.rs", "use crate::b::ask;\npub struct Thing;\n")?;
    write("b.rs", "use crate::Thing;\npub fn ask(_: Thing) {}\n")?;
    let found = of_crate(root.path(), root.path());
    let found: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
    let circle = "these files import each other in a circle: a::part b";
    assert_eq!(found, [circle]);
    write("b.rs", "pub fn ask() {}\n")?;
    assert!(of_crate(root.path(), root.path()).is_empty());
    Ok(())
}
