//! What the built-ins do, against what the catalog's functions did; and functions that run outside of this process.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where it cannot go on"
)]

#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/known.rs"]
mod known;
#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/functions.rs"]
mod vectors;

mod container;
mod programs;
mod remote;
#[cfg(feature = "wasm")]
mod wasm;

use std::path::PathBuf;

/// The recorded cases: those beside this checkout, else the project's own copies.
fn recorded() -> Vec<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("OFFSHOOT_VECTORS").map(PathBuf::from);
    let root = named
        .unwrap_or_else(|| here.join("../../../shared/vectors"))
        .join("functions");
    let Ok(folders) = std::fs::read_dir(root) else {
        return vec![here.join("../../testdata/vectors/functions.jsonl")];
    };
    let folders = folders.map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).collect()
}

#[test]
fn built_ins_agree_with_the_catalog() {
    let cases = recorded()
        .into_iter()
        .flat_map(|place| vectors::read(&place).unwrap());
    let checked: Vec<known::Checked> = cases
        .filter(|case| functions::find(&case.function).is_some())
        .map(|case| vectors::run(&case))
        .collect();
    assert!(checked.len() > 300, "{} cases were found", checked.len());
    let failures = known::failures("functions", &checked);
    assert!(
        failures.is_empty(),
        "{} of {}\n{}",
        failures.len(),
        checked.len(),
        failures.join("\n")
    );
}
