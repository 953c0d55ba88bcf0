//! The example packages are packages that kpt takes, too.

use std::path::{Path, PathBuf};

use crate::local::offshoot;
use crate::process::copy;

/// Every directory below the examples that holds a package of its own.
fn packages() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut waiting = vec![examples];
    let mut found = Vec::new();
    while let Some(place) = waiting.pop() {
        if place.join("Kptfile").is_file() {
            found.push(place);
            continue;
        }
        let below = std::fs::read_dir(&place)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        waiting.extend(below.filter(|path| path.is_dir()));
    }
    found.sort();
    found
}

/// Rendered once, and what came of it once more.
#[test]
fn every_example_renders_where_kpt_is_strict() {
    let all = packages();
    assert!(all.len() >= 9, "{all:?}");
    let mut wrong = Vec::new();
    for package in all {
        let root = tempfile::tempdir().unwrap();
        copy(&package, &root.path().join("package"));
        for turn in ["first", "second"] {
            let answer = offshoot(root.path(), &["pkg", "render", "--strict", "package"], "");
            if answer.code != 0 {
                wrong.push(format!("{} {turn}: {}", package.display(), answer.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
