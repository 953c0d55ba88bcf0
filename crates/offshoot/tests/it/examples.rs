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

/// What only functions read is annotated as such: by that, the guide's recipes keep it out of clusters.
#[test]
fn what_functions_are_configured_by_is_for_no_cluster() {
    let mut seen = 0;
    for package in packages() {
        let kptfile = std::fs::read_to_string(package.join("Kptfile")).unwrap();
        let named = kptfile.split("configPath:").skip(1);
        let named = named.filter_map(|rest| rest.split([',', '}', '#', '\n']).next());
        for name in named.chain(["package-context.yaml"]) {
            let path = package.join(name.trim());
            let Ok(text) = std::fs::read_to_string(&path) else {
                assert_eq!(name.trim(), "package-context.yaml", "{}", path.display());
                continue;
            };
            let (resources, local) = (
                text.matches("\nkind:").count(),
                text.matches("config.kubernetes.io/local-config: \"true\"")
                    .count(),
            );
            assert_eq!(resources, local, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 9, "{seen}");
}
